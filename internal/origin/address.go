package origin

import (
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"

	"gantry"
)

// Address is where an origin is: a URL of an allowed scheme, or the short form host:path of an ssh address.
type Address struct {
	Scheme string // http, https, git, ssh, svn or svn+ssh
	Host   string // with a port when one was given
	Path   string // as written: with a slash in front, except for the short form
	Query  string

	Short bool // host:path, whose path is relative to the home directory
}

var (
	schemes   = map[string]bool{"http": true, "https": true, "git": true, "ssh": true, "svn": true, "svn+ssh": true}
	shortForm = regexp.MustCompile(`^(?:([^@/:]+)@)?([A-Za-z0-9_.-]{2,}):([^:].*)$`) // one letter is a disk
)

const maxAddress = 2048

// ParseAddress reads the address of an origin as a user writes it. User information becomes credentials and is not part
// of the address. Anything but a network address of a known scheme is a gantry.Error of kind Invalid.
func ParseAddress(raw string) (Address, Credentials, error) {
	invalid := func(format string, args ...any) (Address, Credentials, error) {
		return Address{}, Credentials{}, gantry.Errorf(gantry.Invalid, "origin.ParseAddress", format, args...)
	}
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "":
		return invalid("the address is empty")
	case len(raw) > maxAddress:
		return invalid("the address is longer than %d characters", maxAddress)
	case strings.HasPrefix(raw, "-"):
		return invalid("an address cannot begin with a hyphen")
	case strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return invalid("an address cannot contain spaces or control characters; a space is written %%20")
	}
	if !strings.Contains(raw, "://") {
		m := shortForm.FindStringSubmatch(raw)
		if m == nil || strings.HasPrefix(m[2], "-") || strings.HasPrefix(m[3], "-") {
			return invalid("this is not the address of a repository: use http, https, git, ssh, svn or svn+ssh, or user@host:path")
		}
		return Address{Scheme: "ssh", Host: strings.ToLower(m[2]), Path: m[3], Short: true}, Credentials{Username: m[1]}, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return invalid("this is not a valid address") // the cause would repeat a password
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case !schemes[u.Scheme]:
		return invalid("addresses of the scheme %q cannot be imported: use http, https, git, ssh, svn or svn+ssh", u.Scheme)
	case u.Hostname() == "" || strings.HasPrefix(u.Host, "-"):
		return invalid("the address names no host")
	case u.Fragment != "":
		return invalid("an address cannot have a fragment (#...)")
	case strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid("an address cannot contain control characters")
	}
	var creds Credentials
	if u.User != nil {
		creds.Username = u.User.Username()
		creds.Password, _ = u.User.Password()
	}
	return Address{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.EscapedPath(), Query: u.RawQuery}, creds, nil
}

// String is the address without credentials, as it is shown and as ParseAddress reads it again.
func (a Address) String() string {
	if a.Short {
		return a.Host + ":" + a.Path
	}
	s := a.Scheme + "://" + a.Host + a.Path
	if a.Query != "" {
		s += "?" + a.Query
	}
	return s
}

// HostPort is the host with the port, given or the scheme's own, as it is dialled.
func (a Address) HostPort() string {
	host := url.URL{Host: a.Host}
	port := host.Port()
	if port == "" {
		port = defaultPorts[a.Scheme]
	}
	return net.JoinHostPort(host.Hostname(), port)
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "git": "9418", "ssh": "22", "svn": "3690", "svn+ssh": "22"}

// Join returns the address of something below a, which must not be of the short form.
func (a Address) Join(elem string) Address {
	a.Path = strings.TrimSuffix(a.Path, "/") + path.Join("/", elem)
	return a
}
