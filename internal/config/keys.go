package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Key is one setting: its name in a file, and from that its environment variable and its flag.
type Key struct {
	Name    string
	Default string // as a flag would have it
	Help    string
	Secret  bool // has no flag, because the arguments of a process are seen by all

	field func(*Config) any
	check func(*Config) error  // nil: every value of the type will do
	shown func(*Config) string // nil: the value is shown as it is
}

// Env is the name of the setting's environment variable.
func (k Key) Env() string { return "GANTRY_" + strings.ToUpper(k.Name) }

// Flag is the name of the setting's flag, without the hyphens before it.
func (k Key) Flag() string { return strings.ReplaceAll(k.Name, "_", "-") }

// Keys is the table of all settings.
func Keys() []Key {
	return []Key{
		{
			Name: "data", Default: "gantry-data", Help: "directory of everything that is kept",
			field: func(c *Config) any { return &c.Data }, check: func(c *Config) error { return notEmpty(c.Data) },
		},
		{
			Name: "database", Default: "", Help: "sqlite:PATH or postgres://..., by default SQLite in the data directory",
			field: func(c *Config) any { return &c.Database }, check: checkDatabase, shown: shownDatabase,
		},
		{
			Name: "master_key", Default: "", Help: "key that seals credentials at rest, by default a file in the data directory",
			field: func(c *Config) any { return &c.MasterKey }, Secret: true,
		},
		{
			Name: "git", Default: "git", Help: "the git program",
			field: func(c *Config) any { return &c.Git }, check: func(c *Config) error { return notEmpty(c.Git) },
		},

		{
			Name: "listen", Default: "127.0.0.1:8080", Help: "address to listen on",
			field: func(c *Config) any { return &c.Listen }, check: func(c *Config) error { return checkAddress(c.Listen) },
		},
		{
			Name: "external_url", Default: "", Help: "address under which clients reach the server, by default the one listened on",
			field: func(c *Config) any { return &c.ExternalURL }, check: func(c *Config) error { return checkURL(&c.ExternalURL) },
		},
		{
			Name: "api_url", Default: "", Help: "address of the API, where it is not that of external_url",
			field: func(c *Config) any { return &c.APIURL }, check: func(c *Config) error { return checkURL(&c.APIURL) },
		},
		{
			Name: "web_url", Default: "", Help: "address of web pages and of repositories to clone, where it is not that of external_url",
			field: func(c *Config) any { return &c.WebURL }, check: func(c *Config) error { return checkURL(&c.WebURL) },
		},
		{
			Name: "metrics", Default: MetricsLocal, Help: "who may read /metrics: local (callers on this machine), off, or an address of its own to listen on",
			field: func(c *Config) any { return &c.Metrics }, check: checkMetrics,
		},
		{
			Name: "log_level", Default: "info", Help: "debug, info, warn or error",
			field: func(c *Config) any { return &c.LogLevel },
		},
		{
			Name: "log_format", Default: LogText, Help: "text or json",
			field: func(c *Config) any { return &c.LogFormat }, check: func(c *Config) error { return oneOf(c.LogFormat, LogText, LogJSON) },
		},
		{
			Name: "access_log", Default: "true", Help: "log a line for every request",
			field: func(c *Config) any { return &c.AccessLog },
		},

		{
			Name: "vendors", Default: "vendor,github", Help: "vendor words of media types and headers, the primary one first",
			field: func(c *Config) any { return &c.Vendors }, check: checkVendors,
		},
		{
			Name: "preview", Default: PreviewStrict, Help: "strict: preview media types must be asked for; lenient: they need not be",
			field: func(c *Config) any { return &c.Preview }, check: func(c *Config) error { return oneOf(c.Preview, PreviewStrict, PreviewLenient) },
		},

		{
			Name: "rate_user", Default: "5000", Help: "API requests an hour of one user",
			field: func(c *Config) any { return &c.RateUser }, check: func(c *Config) error { return positive(c.RateUser) },
		},
		{
			Name: "rate_anonymous", Default: "60", Help: "API requests an hour of one address without credentials",
			field: func(c *Config) any { return &c.RateAnonymous }, check: func(c *Config) error { return positive(c.RateAnonymous) },
		},
		{
			Name: "rate_import", Default: "100", Help: "imports that one user may start in a minute",
			field: func(c *Config) any { return &c.RateImport }, check: func(c *Config) error { return positive(c.RateImport) },
		},
		{
			Name: "body_limit", Default: "1MiB", Help: "size of an API request's body",
			field: func(c *Config) any { return &c.BodyLimit }, check: func(c *Config) error { return positive(c.BodyLimit) },
		},
		{
			Name: "push_limit", Default: "4GiB", Help: "size of one push; 0 for no limit",
			field: func(c *Config) any { return &c.PushLimit },
		},
		{
			Name: "git_processes", Default: "8", Help: "git processes at a time for one repository",
			field: func(c *Config) any { return &c.GitProcesses }, check: func(c *Config) error { return positive(c.GitProcesses) },
		},

		{
			Name: "egress_allow", Default: "", Help: "networks, addresses and hosts that imports may reach besides public ones",
			field: func(c *Config) any { return &c.EgressAllow },
		},
		{
			Name: "imports_off", Default: "false", Help: "switch imports off for maintenance",
			field: func(c *Config) any { return &c.ImportsOff },
		},
		{
			Name: "import_workers", Default: "2", Help: "imports that run at a time",
			field: func(c *Config) any { return &c.ImportWorkers }, check: func(c *Config) error { return positive(c.ImportWorkers) },
		},
		{
			Name: "import_lease", Default: "30s", Help: "time after which the import of a silent server is taken over",
			field: func(c *Config) any { return &c.ImportLease }, check: func(c *Config) error { return positive(c.ImportLease) },
		},
		{
			Name: "import_retention", Default: "30d", Help: "time for which raw data of a complete import is kept",
			field: func(c *Config) any { return &c.ImportRetention },
		},
		{
			Name: "upload_limit", Default: "100GiB", Help: "size of a dump or bundle that is uploaded to be imported",
			field: func(c *Config) any { return &c.UploadLimit }, check: func(c *Config) error { return positive(c.UploadLimit) },
		},
		{
			Name: "default_branch", Default: "main", Help: "name that a trunk is given",
			field: func(c *Config) any { return &c.DefaultBranch }, check: checkBranch,
		},
		{
			Name: "large_file_threshold", Default: "100000000", Help: "size above which a file counts as large",
			field: func(c *Config) any { return &c.LargeFileThreshold }, check: func(c *Config) error { return positive(c.LargeFileThreshold) },
		},
	}
}

func notEmpty(s string) error {
	if s == "" {
		return fmt.Errorf("a value is needed")
	}
	return nil
}

func positive[N ~int | ~int64](n N) error {
	if n <= 0 {
		return fmt.Errorf("a value above 0 is needed")
	}
	return nil
}

func oneOf(word string, words ...string) error {
	if !slices.Contains(words, word) {
		return fmt.Errorf("%q is not one of %s", word, strings.Join(words, ", "))
	}
	return nil
}

func checkAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%q is not an address: use HOST:PORT, or :PORT for all interfaces", address)
	}
	return nil
}

func checkDatabase(c *Config) error {
	for _, prefix := range []string{"sqlite:", "postgres://", "postgresql://"} {
		if strings.HasPrefix(c.Database, prefix) {
			return nil
		}
	}
	if c.Database == "" {
		return nil
	}
	return fmt.Errorf("use sqlite:PATH or postgres://USER@HOST/NAME")
}

// shownDatabase leaves a password out of an address.
func shownDatabase(c *Config) string {
	u, err := url.Parse(c.Database)
	if err != nil {
		return hidden
	}
	query := u.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// checkURL takes the slash off the end of an address.
func checkURL(address *string) error {
	if *address == "" {
		return nil
	}
	u, err := url.Parse(*address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not an address: use http(s)://HOST[:PORT][/PATH]", *address)
	}
	*address = strings.TrimRight(*address, "/")
	return nil
}

func checkMetrics(c *Config) error {
	if c.Metrics == MetricsLocal || c.Metrics == MetricsOff {
		return nil
	}
	if checkAddress(c.Metrics) != nil {
		return fmt.Errorf("%q is none of local, off and HOST:PORT", c.Metrics)
	}
	return nil
}

var vendorPattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

func checkVendors(c *Config) error {
	if len(c.Vendors) == 0 {
		return fmt.Errorf("at least one word is needed")
	}
	for _, word := range c.Vendors {
		if !vendorPattern.MatchString(word) {
			return fmt.Errorf("%q is not a vendor word: use lower-case letters and digits", word)
		}
	}
	return nil
}

var branchPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)

// checkBranch accepts fewer names than git does: none that needs quoting anywhere.
func checkBranch(c *Config) error {
	name := c.DefaultBranch
	if !branchPattern.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, "//") ||
		strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".") || strings.Contains(name, "/.") || name == "HEAD" {
		return fmt.Errorf("%q cannot be the name of a branch", name)
	}
	return nil
}
