// Package config reads the settings of the server: flags over GANTRY_* environment variables over a TOML file over
// defaults. The table in keys.go is the one place that names them.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"
)

// Config is every setting in force.
type Config struct {
	Data        string
	Database    string // "" until Load has put the default in: SQLite in Data
	MasterKey   string // "" means the key file in Data
	Git         string
	Listen      string
	APIURL      string // "" means ExternalURL; no slash at the end, as below
	WebURL      string // "" means ExternalURL
	ExternalURL string // "" means derived from the address that is listened on; no slash at the end
	Metrics     string // MetricsLocal, MetricsOff or an address of its own

	LogLevel  slog.Level
	LogFormat string
	AccessLog bool

	Vendors []string
	Preview string

	RateUser      int // requests an hour
	RateAnonymous int // requests an hour
	RateImport    int // started imports a minute
	BodyLimit     Size
	UploadLimit   Size
	PushLimit     Size // 0: none
	GitProcesses  int  // at a time for one repository

	EgressAllow        []string
	ImportsOff         bool
	ImportWorkers      int
	ImportLease        time.Duration
	ImportRetention    time.Duration
	DefaultBranch      string
	LargeFileThreshold Size

	sources map[string]string
}

// Words of settings that know a few only.
const (
	PreviewStrict  = "strict"
	PreviewLenient = "lenient"

	MetricsLocal = "local"
	MetricsOff   = "off"

	LogText = "text"
	LogJSON = "json"
)

// fileKey names the settings file; it is a flag and an environment variable, not a setting itself.
const (
	fileFlag = "config"
	fileEnv  = "GANTRY_CONFIG"
)

// AddFlags defines --config and the flags of the named settings, of all of them when none are named.
func AddFlags(flags *pflag.FlagSet, names ...string) {
	flags.String(fileFlag, "", "TOML file with settings ("+fileEnv+")")
	for _, k := range Keys() {
		if k.Secret || len(names) > 0 && !slices.Contains(names, k.Name) {
			continue
		}
		flags.Var(&flagValue{text: k.Default, kind: k.kind()}, k.Flag(), k.Help+" ("+k.Env()+")")
		if k.kind() == kindBool {
			flags.Lookup(k.Flag()).NoOptDefVal = "true"
		}
	}
}

// flagValue keeps a flag's text until Load reads it like every other source.
type flagValue struct {
	text string
	kind string
}

func (v *flagValue) String() string     { return v.text }
func (v *flagValue) Set(s string) error { v.text = s; return nil }
func (v *flagValue) Type() string       { return v.kind }

// Load gathers the settings. Its errors name the setting, where its value came from and what would be accepted.
func Load(flags *pflag.FlagSet, env func(string) (string, bool)) (*Config, error) {
	c := &Config{sources: map[string]string{}}
	path, _ := env(fileEnv)
	if f := flags.Lookup(fileFlag); f != nil && f.Changed {
		path = f.Value.String()
	}
	file := map[string]any{}
	if path != "" {
		var err error
		if file, err = readFile(path); err != nil {
			return nil, err
		}
	}
	for _, k := range Keys() {
		if err := c.load(k, path, file, flags, env); err != nil {
			return nil, err
		}
	}
	if c.Database == "" {
		c.Database = "sqlite:" + c.Data + "/gantry.db"
	}
	return c, nil
}

// load sets one key from the strongest source that has it.
func (c *Config) load(k Key, path string, file map[string]any, flags *pflag.FlagSet, env func(string) (string, bool)) error {
	source, value := "default", any(k.Default)
	if v, ok := file[k.Name]; ok {
		source, value = "file "+path, v
	}
	if v, ok := env(k.Env()); ok {
		source, value = "environment "+k.Env(), v
	}
	if f := flags.Lookup(k.Flag()); f != nil && f.Changed {
		source, value = "flag --"+k.Flag(), f.Value.String()
	}
	c.sources[k.Name] = source
	err := k.set(c, value)
	if err == nil && k.check != nil {
		err = k.check(c)
	}
	if err != nil {
		return fmt.Errorf("setting %s (%s): %w", k.Name, source, err)
	}
	return nil
}

// readFile reads a settings file; a key that the table does not have is an error, so that a slip cannot go unseen.
func readFile(path string) (map[string]any, error) {
	file := map[string]any{}
	if _, err := toml.DecodeFile(path, &file); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("settings file %s: line %d: %s", path, syntax.Position.Line, syntax.Message)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("settings file %s does not exist: create it, or leave out --%s and %s", path, fileFlag, fileEnv)
		}
		return nil, fmt.Errorf("settings file %s: %w", path, err)
	}
	var unknown []string
	for name := range file {
		if !slices.ContainsFunc(Keys(), func(k Key) bool { return k.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, fmt.Errorf("settings file %s: unknown setting %s: \"gantry config print\" without the file lists all", path, strings.Join(unknown, ", "))
	}
	return file, nil
}

const hidden = "[hidden]"

// Setting is one setting in force, as text.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Settings lists every setting, where its value came from, and never a secret.
func (c *Config) Settings() []Setting {
	var list []Setting
	for _, k := range Keys() {
		value := k.text(c)
		switch {
		case k.Secret && value != "":
			value = hidden
		case k.shown != nil:
			value = k.shown(c)
		}
		list = append(list, Setting{k.Name, value, c.sources[k.Name]})
	}
	return list
}

// Environment is the process's environment as Load takes it.
func Environment(name string) (string, bool) { return os.LookupEnv(name) }
