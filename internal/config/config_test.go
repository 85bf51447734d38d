package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// load reads settings from arguments, an environment and the text of a file ("" for none).
func load(t *testing.T, args []string, env map[string]string, file string) (*Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if file != "" {
		path := filepath.Join(t.TempDir(), "gantry.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(flags, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
}

// A value comes from the strongest source that has it, and "config print" says from which.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := "listen = \"file:1\"\npreview = \"lenient\"\ngit = \"/file/git\"\n"
	env := map[string]string{"GANTRY_LISTEN": "env:1", "GANTRY_GIT": "/env/git"}
	c, err := load(t, []string{"--listen", "flag:1"}, env, file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, s := range c.Settings() {
		source, _, _ := strings.Cut(s.Source, " ")
		got[s.Name] = [2]string{s.Value, source}
	}
	for name, want := range map[string][2]string{
		"listen":    {"flag:1", "flag"},
		"git":       {"/env/git", "environment"},
		"preview":   {"lenient", "file"},
		"rate_user": {"5000", "default"},
		"database":  {"sqlite:gantry-data/gantry.db", "default"},
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Every kind of value is read from text and from TOML alike.
func TestValues(t *testing.T) {
	t.Parallel()
	fromFile, err := load(t, nil, nil, `
egress_allow = ["10.0.0.0/8", "svn.example.org"]
imports_off = true
import_workers = 7
import_retention = "2d"
import_lease = "1m30s"
push_limit = "3MiB"
body_limit = 4096
log_level = "debug"
`)
	if err != nil {
		t.Fatal(err)
	}
	fromText, err := load(t, []string{"--imports-off", "--egress-allow", "10.0.0.0/8, svn.example.org"}, map[string]string{
		"GANTRY_IMPORT_WORKERS": "7", "GANTRY_IMPORT_RETENTION": "48h", "GANTRY_IMPORT_LEASE": "90s",
		"GANTRY_PUSH_LIMIT": "3MiB", "GANTRY_BODY_LIMIT": "4KiB", "GANTRY_LOG_LEVEL": "DEBUG",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	fromFile.sources, fromText.sources = nil, nil
	if diff := cmp.Diff(fromFile, fromText, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("file and text differ:\n%s", diff)
	}
	if fromFile.ImportRetention != 48*time.Hour || fromFile.PushLimit != 3<<20 || !slices.Equal(fromFile.EgressAllow, []string{"10.0.0.0/8", "svn.example.org"}) {
		t.Errorf("values read wrongly: %+v", fromFile)
	}
}

// An error names the setting and the place to mend it.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		env   map[string]string
		file  string
		wants []string
	}{
		"unknown key":            {file: "lisen = \":1\"", wants: []string{"gantry.toml", "lisen"}},
		"unknown table":          {file: "[server]\nlisten = \":1\"", wants: []string{"gantry.toml", "server"}},
		"syntax":                 {file: "data = \"a\"\nlisten =\n", wants: []string{"gantry.toml", "line 2"}},
		"wrong type":             {file: "import_workers = \"many\"", wants: []string{"import_workers", "gantry.toml", "whole number"}},
		"list for a text":        {file: "listen = [\":1\"]", wants: []string{"listen", "wrong type"}},
		"no file":                {args: []string{"--config", "nowhere.toml"}, wants: []string{"nowhere.toml", "does not exist"}},
		"flag":                   {args: []string{"--preview", "maybe"}, wants: []string{"--preview", "strict", "lenient"}},
		"environment":            {env: map[string]string{"GANTRY_LISTEN": "8080"}, wants: []string{"GANTRY_LISTEN", "HOST:PORT"}},
		"empty data":             {args: []string{"--data", ""}, wants: []string{"--data"}},
		"external url":           {args: []string{"--external-url", "ftp://x"}, wants: []string{"external_url", "http"}},
		"vendor word":            {args: []string{"--vendors", "a b"}, wants: []string{"vendors", "a b"}},
		"size that overflows":    {args: []string{"--push-limit", "9999999999GiB"}, wants: []string{"push_limit", "size"}},
		"duration":               {args: []string{"--import-lease", "-3s"}, wants: []string{"import_lease", "duration"}},
		"other database":         {args: []string{"--database", "mysql://x"}, wants: []string{"database", "postgres://"}},
		"branch":                 {args: []string{"--default-branch", "a..b"}, wants: []string{"default_branch"}},
		"metrics":                {args: []string{"--metrics", "yes"}, wants: []string{"metrics", "local"}},
		"workers":                {args: []string{"--import-workers", "0"}, wants: []string{"import_workers", "above 0"}},
		"neither true nor false": {args: []string{"--imports-off=perhaps"}, wants: []string{"imports_off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, test.args, test.env, test.file)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// What is printed can be shown to anybody.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	c, err := load(t, nil, map[string]string{
		"GANTRY_MASTER_KEY": "canary", "GANTRY_DATABASE": "postgres://gantry:canary@db/gantry?password=canary&sslmode=require",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if strings.Contains(s.Value, "canary") {
			t.Errorf("%s shows a secret: %s", s.Name, s.Value)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if flags.Lookup("master-key") != nil {
		t.Error("the master key has a flag, so it would be seen in the list of processes")
	}
}

// The defaults pass their own checks, and what a setting prints can be read back.
func TestDefaultsRoundTrip(t *testing.T) {
	t.Parallel()
	c, err := load(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys() {
		text := k.text(c)
		if err := k.set(c, text); err != nil {
			t.Errorf("%s: %q is printed but not read: %v", k.Name, text, err)
		}
		if got := k.text(c); got != text {
			t.Errorf("%s: %q is read back as %q", k.Name, text, got)
		}
	}
}

// The operator's manual lists every setting as it is.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys() {
		value := ""
		if k.Default != "" {
			value = "`" + k.Default + "`"
		}
		row := "| `" + k.Name + "` | " + value + " | " + k.Help + " |"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/operating.md has no row\n%s", row)
		}
	}
}
