package origin

import (
	"strings"
	"testing"

	"gantry"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		raw, want string
		creds     Credentials
		scheme    string
		hostPort  string
	}{
		{"https://example.org/a/b.git", "https://example.org/a/b.git", Credentials{}, "https", "example.org:443"},
		{" HTTPS://Example.ORG:8443/A?x=y ", "https://example.org:8443/A?x=y", Credentials{}, "https", "example.org:8443"},
		{"http://ada:s%40cret@example.org/a", "http://example.org/a", Credentials{"ada", "s@cret"}, "http", "example.org:80"},
		{"git://example.org/a", "git://example.org/a", Credentials{}, "git", "example.org:9418"},
		{"ssh://git@example.org:2222/~ada/a", "ssh://example.org:2222/~ada/a", Credentials{Username: "git"}, "ssh", "example.org:2222"},
		{"git@example.org:ada/a.git", "example.org:ada/a.git", Credentials{Username: "git"}, "ssh", "example.org:22"},
		{"example.org:ada/a.git", "example.org:ada/a.git", Credentials{}, "ssh", "example.org:22"},
		{"svn://[2001:200::1]/a%20b", "svn://[2001:200::1]/a%20b", Credentials{}, "svn", "[2001:200::1]:3690"},
		{"svn+ssh://ada@example.org/a", "svn+ssh://example.org/a", Credentials{Username: "ada"}, "svn+ssh", "example.org:22"},
	}
	for _, tt := range tests {
		a, creds, err := ParseAddress(tt.raw)
		if err != nil || a.String() != tt.want || creds != tt.creds || a.Scheme != tt.scheme || a.HostPort() != tt.hostPort {
			t.Errorf("%s: %+v, %+v, %s, %v", tt.raw, a, creds.Username, a.HostPort(), err)
			continue
		}
		if again, _, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%s is read again as %+v, %v", a, again, err)
		}
	}
	for _, raw := range []string{
		"", "/srv/git/a", "./a", "file:///srv/a", "ext::sh -c x", "hg::https://example.org/a", "C:\\a", "https://", "https:///a", "-oProxyCommand=x:a",
		"-x@host:a", "git@-host:a", "git@host:-a", "ssh://-oProxyCommand=x/a", "https://a/b#c", "https://a/\nb", "https://a/b c", "https://a/%0ab", "ftp://a/b",
		"git@host::a", "https://a/" + strings.Repeat("x", maxAddress),
	} {
		if a, _, err := ParseAddress(raw); gantry.KindOf(err) != gantry.Invalid {
			t.Errorf("%q: %+v, %v", raw, a, err)
		}
	}
	if _, _, err := ParseAddress("https://ada:c4nary@exa mple/%zz"); err == nil || strings.Contains(err.Error(), "c4nary") {
		t.Errorf("the password shows: %v", err)
	}
}

// What was accepted is shown without credentials, and means the same when it is read again.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"https://u:p@h/x", "u@h:x", "svn+ssh://h:1/x?y", "ssh://[::1]:2/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, _, err := ParseAddress(raw)
		if err != nil {
			return
		}
		again, creds, err := ParseAddress(a.String())
		if err != nil || again != a || !creds.Empty() {
			t.Errorf("%q: %+v becomes %+v, %v", raw, a, again, err)
		}
	})
}
