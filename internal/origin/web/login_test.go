package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gantry/internal/origin"
)

// The examples of RFC 7616, section 3.9.1, and of RFC 2069 as corrected by its erratum.
func TestDigest(t *testing.T) {
	t.Parallel()
	const nonce = `realm="http-auth@example.org", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for _, tt := range []struct{ name, demand, cnonce, method, uri, user, password, want string }{
		{
			"MD5", `Digest qop="auth, auth-int", algorithm=MD5, ` + nonce, "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
			"GET", "/dir/index.html", "Mufasa", "Circle of Life", "8ca523f5e9506fed4657c9700eebdbec",
		},
		{
			"SHA-256", `Basic realm="x", Digest qop="auth, auth-int", algorithm=MD5, ` + nonce + `, Digest qop="auth, auth-int", algorithm=SHA-256, ` + nonce,
			"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "GET", "/dir/index.html", "Mufasa", "Circle of Life",
			"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
		},
		{
			"without qop", `Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"`,
			"", "GET", "/dir/index.html", "Mufasa", "CircleOfLife", "1949323746fe6a43ef61f9606e7febea",
		},
	} {
		l := Login{Credentials: origin.Credentials{Username: tt.user, Password: tt.password}, cnonce: tt.cnonce}
		if err := l.challenged([]string{tt.demand}, false); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(tt.method, tt.uri, http.NoBody)
		l.authorize(r)
		if got := r.Header.Get("Authorization"); !strings.Contains(got, `response="`+tt.want+`"`) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestParseChallenges(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`Basic realm="a, \"b\""`: `[{basic Basic map[realm:a, "b"]}]`,
		`Negotiate, NTLM TlRM/+a==, , Basic realm = x , charset="UTF-8"`: `[{negotiate Negotiate map[]} {ntlm NTLM map[]} {basic Basic map[charset:UTF-8 realm:x]}]`,
		`Digest nonce="`: `[{digest Digest map[]}]`,
		`"`:              `[]`,
	} {
		if got := fmt.Sprint(parseChallenges(header)); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
}

// FuzzChallenges answers arbitrary demands to log in; none makes the password travel but by Basic.
func FuzzChallenges(f *testing.F) {
	f.Add(`Digest realm="a", nonce="b", qop="auth", Negotiate`)
	f.Add(`Basic realm="\`)
	f.Fuzz(func(t *testing.T, demand string) {
		l := Login{Credentials: origin.Credentials{Username: "alice", Password: "sesame"}}
		if l.challenged([]string{demand}, false) != nil {
			return
		}
		r := httptest.NewRequest("REPORT", "/svn/repo", http.NoBody)
		l.authorize(r)
		header := r.Header.Get("Authorization")
		if name, _, ok := r.BasicAuth(); !ok && (!strings.HasPrefix(header, "Digest ") || strings.Contains(header, "sesame") && !strings.Contains(demand, "sesame")) || ok && name != "alice" {
			t.Errorf("%q is answered by %q", demand, header)
		}
	})
}
