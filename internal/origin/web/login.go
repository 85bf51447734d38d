package web

import (
	"crypto/md5" // what RFC 7616 begins with
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"

	"gantry/internal/origin"
)

// Login answers the demands of one HTTP server to log in, by Basic (RFC 7617) or Digest (RFC 7616), whichever keeps the
// password best. It is used by one session: a server may insist that the numbers of requests follow each other.
type Login struct {
	Credentials origin.Credentials
	AsNobody    bool // make the server ask, also where it lets anybody read

	cnonce string
	scheme string     // "", "basic" or "digest": how requests log in
	digest *challenge // with digest
	count  uint32     // requests with the digest's nonce
}

// Refused is a demand of a server to log in that cannot be met. It wraps origin.ErrAuthRequired or origin.ErrAuthFailed.
type Refused struct {
	Meaning error
	Reason  string
}

func (r *Refused) Error() string { return r.Meaning.Error() + ": " + r.Reason }
func (r *Refused) Unwrap() error { return r.Meaning }

// LoggedIn reports whether the server has asked, so that requests carry the credentials.
func (l *Login) LoggedIn() bool { return l.scheme != "" }

// Another is the login of another session at the same server.
func (l *Login) Another() Login {
	if l.scheme == "digest" { // of which each session counts its own requests
		return Login{Credentials: l.Credentials, AsNobody: true}
	}
	return *l
}

// nobody is a log-in without a name. A server that knows users answers it by saying how they log in, before any password is
// sent; from one that lets everybody read no other request would make it say so.
var nobody = "Basic " + base64.StdEncoding.EncodeToString([]byte(":"))

// authorize logs a request in, when the server has asked for it before.
func (l *Login) authorize(r *http.Request) {
	switch {
	case l.scheme == "basic":
		r.SetBasicAuth(l.Credentials.Username, l.Credentials.Password)
	case l.scheme == "digest":
		l.count++
		r.Header.Set("Authorization", l.response(r.Method, r.URL.RequestURI()))
	case l.AsNobody:
		r.Header.Set("Authorization", nobody)
	}
}

// challenged takes a server's demand and makes the next request answer it. It fails where that would be of no use; tried
// tells that the credentials were sent.
func (l *Login) challenged(demand []string, tried bool) error {
	challenges := parseChallenges(strings.Join(demand, ", "))
	var names []string
	var best *challenge
	for i, c := range challenges {
		if !slices.Contains(names, c.shown) {
			names = append(names, c.shown)
		}
		if c.rank() > 0 && (best == nil || c.rank() > best.rank()) {
			best = &challenges[i]
		}
	}
	refuse := func(format string, args ...any) error {
		return &Refused{Meaning: origin.AuthError(l.Credentials), Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case best == nil && len(names) == 0:
		return refuse("the server wants a log-in and does not say of what kind")
	case best == nil:
		return refuse("the server offers %s to log in, and Gantry knows Basic and Digest; have it offer one of them, or import a file of the repository",
			strings.Join(names, ", "))
	case l.Credentials.Empty():
		return refuse("the server lets nobody in without a user name and a password%s", best.realm())
	case tried && !(best.scheme == "digest" && strings.EqualFold(best.params["stale"], "true")):
		return refuse("the server does not accept this user name and password%s", best.realm())
	}
	l.AsNobody = false
	if l.scheme, l.digest, l.count = best.scheme, best, 0; l.cnonce == "" {
		l.cnonce = rand.Text()
	}
	return nil
}

// response is the header of a digest.
func (l *Login) response(method, uri string) string {
	p := l.digest.params
	sum := func(parts ...string) string {
		h := digestHashes[strings.TrimSuffix(l.digest.algorithm(), "-sess")]()
		h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	secret := sum(l.Credentials.Username, p["realm"], l.Credentials.Password)
	if strings.HasSuffix(l.digest.algorithm(), "-sess") {
		secret = sum(secret, p["nonce"], l.cnonce)
	}
	request := sum(method, uri)
	fields := []string{
		"username=" + quote(l.Credentials.Username), "realm=" + quote(p["realm"]), "nonce=" + quote(p["nonce"]), "uri=" + quote(uri),
	}
	if p["algorithm"] != "" {
		fields = append(fields, "algorithm="+p["algorithm"])
	}
	if p["qop"] == "" { // RFC 2069
		fields = append(fields, "response="+quote(sum(secret, p["nonce"], request)))
	} else {
		nc := fmt.Sprintf("%08x", l.count)
		fields = append(fields, "qop=auth", "nc="+nc, "cnonce="+quote(l.cnonce),
			"response="+quote(sum(secret, p["nonce"], nc, l.cnonce, "auth", request)))
	}
	if opaque, given := p["opaque"]; given {
		fields = append(fields, "opaque="+quote(opaque))
	}
	return "Digest " + strings.Join(fields, ", ")
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// digestHashes are the algorithms of a digest, each of which may also be that of a session.
var digestHashes = map[string]func() hash.Hash{"md5": md5.New, "sha-256": sha256.New}

// challenge is one way to log in that a server offers.
type challenge struct {
	scheme string // in lower case
	shown  string // as the server writes it
	params map[string]string
}

// algorithm of a digest, in lower case.
func (c *challenge) algorithm() string {
	if name := strings.ToLower(c.params["algorithm"]); name != "" {
		return name
	}
	return "md5"
}

// rank orders challenges by what they give away of the password; 0 is what Gantry cannot answer.
func (c *challenge) rank() int {
	if c.scheme == "basic" {
		return 1
	}
	qop, given := c.params["qop"]
	offered := strings.FieldsFunc(strings.ToLower(qop), func(r rune) bool { return r == ',' || r == ' ' })
	if c.scheme != "digest" || c.params["nonce"] == "" || given && !slices.Contains(offered, "auth") {
		return 0
	}
	switch strings.TrimSuffix(c.algorithm(), "-sess") {
	case "sha-256":
		return 3
	case "md5":
		return 2
	}
	return 0
}

func (c *challenge) realm() string {
	realm := c.params["realm"]
	if realm == "" {
		return ""
	}
	return fmt.Sprintf(" (it calls itself %.100q)", realm)
}

const maxChallenges = 64

// parseChallenges reads the value of WWW-Authenticate (RFC 9110, section 11.6.1): schemes, each followed by parameters,
// all of them set apart by commas. What it does not understand ends it.
func parseChallenges(header string) []challenge {
	var all []challenge
	rest := header
	for len(all) < maxChallenges {
		rest = strings.TrimLeft(rest, ", \t")
		word, after := cutToken(rest)
		if word == "" {
			return all
		}
		trimmed := strings.TrimLeft(after, " \t")
		if value, found := strings.CutPrefix(trimmed, "="); found && len(all) > 0 && !strings.HasPrefix(value, "=") {
			value, after, ok := cutValue(strings.TrimLeft(value, " \t"))
			if !ok {
				return all
			}
			all[len(all)-1].params[strings.ToLower(word)], rest = value, after
			continue
		}
		all = append(all, challenge{strings.ToLower(word), word, map[string]string{}})
		rest = trimmed
		// In place of parameters there may be one word that ends in equal signs, as Negotiate has it.
		if token, after := cutToken68(rest); token != "" && (after == "" || strings.HasPrefix(strings.TrimLeft(after, " \t"), ",")) {
			rest = after
		}
	}
	return all
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isTokenChar(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func cutToken(s string) (token, rest string) {
	n := 0
	for n < len(s) && isTokenChar(s[n]) {
		n++
	}
	return s[:n], s[n:]
}

func cutToken68(s string) (token, rest string) {
	n := 0
	for n < len(s) && (isTokenChar(s[n]) || s[n] == '/') {
		n++
	}
	for n < len(s) && s[n] == '=' {
		n++
	}
	return s[:n], s[n:]
}

// cutValue takes a parameter's value, in quotes or not.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest = cutToken(s)
		return value, rest, value != ""
	}
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return out.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		out.WriteByte(s[i])
	}
	return "", "", false
}
