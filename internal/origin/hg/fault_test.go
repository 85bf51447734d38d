package hg

import (
	"compress/zlib"
	"context"
	"crypto/md5" // Apache's files of Digest passwords are made of it
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gantry"
	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/hostile"
	"gantry/internal/gantrytest/sshfixture"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// behindApache is a server at which hg is read only by who logs in, by Digest or Basic.
func (r *repo) behindApache(t *testing.T, way string) string {
	t.Helper()
	dir := t.TempDir()
	passwords := filepath.Join(dir, "passwords")
	text := fmt.Sprintf("alice:hg:%x\n", md5.Sum([]byte("alice:hg:sesame")))
	if way == "Basic" {
		text = "alice:{SHA}CEo1Ae3vaEXy8eQZjsOiuBz1xrw=\n"
	}
	if err := os.WriteFile(passwords, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	server := davfixture.Serve(t, dir, davfixture.Config{Settings: fmt.Sprintf(
		"LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\nLoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\n"+
			"<Location /hg>\nProxyPass %s/\nAuthType %s\nAuthName hg\nAuth%[2]sProvider file\nAuthUserFile %q\nRequire valid-user\n</Location>",
		r.serve(t), way, passwords)})
	return strings.TrimSuffix(server.URL, "/svn") + "/hg"
}

// Who may read logs in, by Basic or Digest; who gives nothing or the wrong thing is told so.
func TestLogIn(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	whole := r.whole(t)
	for _, way := range []string{"Basic", "Digest"} {
		address := r.behindApache(t, way)
		for _, tt := range []struct {
			creds origin.Credentials
			want  error
		}{
			{origin.Credentials{Username: "alice", Password: "sesame"}, nil},
			{origin.Credentials{Username: "alice", Password: "simsalabim"}, origin.ErrAuthFailed},
			{origin.Credentials{}, origin.ErrAuthRequired},
		} {
			opt := reading(t, address)
			opt.Credentials = tt.creds
			s, err := Open(t.Context(), opt)
			if !errors.Is(err, tt.want) || err != nil && (gantry.KindOf(err) != gantry.Unauthenticated || strings.Contains(err.Error(), "simsalabim")) {
				t.Errorf("%s with %v: %v", way, tt.creds, err)
			}
			if err == nil {
				same(t, whole, pull(t, s))
			}
		}
	}
}

// hostileServer is the address of a repository at a server as package hostile has it.
func hostileServer(t *testing.T, says, again string) string {
	t.Helper()
	return "http://" + hostile.Answer(t, says, again) + "/repo"
}

const mercurialHeaders = "HTTP/1.1 200 Script output follows\r\nContent-Type: application/mercurial-0.1\r\n"

// A server that keeps to nothing is found out, within bounds and in words.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says, again string
		want              error // nil: not worth another try
		text              string
	}{
		{"hangs up", "", "", origin.ErrTemporary, "closed"},
		{"another protocol", "SSH-2.0-x\r\n", "", origin.ErrTemporary, "HTTP"},
		{"endless headers", "HTTP/1.1 200 OK\r\n", "X: y\r\n", origin.ErrTemporary, "header"},
		{"a web page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n", "", origin.ErrNotFound, "web page"},
		{"nothing there", "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n", "", origin.ErrNotFound, "404"},
		{"forbidden", "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "", origin.ErrAuthFailed, "403"},
		{"gateway", "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", "", origin.ErrTemporary, "504"},
		{"too many requests", "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n", "", origin.ErrTemporary, "429"},
		{"teapot", "HTTP/1.1 418 Teapot\r\nContent-Length: 0\r\n\r\n", "", nil, "418"},
		{"an error of its own", "HTTP/1.1 200 OK\r\nContent-Type: application/hg-error\r\nContent-Length: 7\r\n\r\nno luck", "", nil, "no luck"},
		{"an error without end", "HTTP/1.1 200 OK\r\nContent-Type: application/hg-error\r\n\r\n", "no luck ", nil, "no luck"},
		{"capabilities without end", mercurialHeaders + "\r\n", "getbundle ", nil, "more than"},
		{"no capabilities", mercurialHeaders + "Content-Length: 6\r\n\r\nlookup", "", nil, "older than Mercurial 1.9"},
		{"lying length", mercurialHeaders + "Content-Length: 500\r\n\r\nlookup", "", origin.ErrTemporary, "closed"},
		{"asks again and again", "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"a\", stale=true\r\nContent-Length: 0\r\n\r\n", "", origin.ErrAuthFailed, "again and again"},
		{"asks for something else", "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n", "", origin.ErrAuthFailed, "Negotiate"},
		{"redirects to another host", "HTTP/1.1 301 Moved\r\nLocation: http://other.example/hg?cmd=capabilities\r\nContent-Length: 0\r\n\r\n", "", nil, "http://other.example/hg"},
		{"redirects for ever", "HTTP/1.1 302 Moved\r\nLocation: /repo?cmd=capabilities\r\nContent-Length: 0\r\n\r\n", "", nil, "is at"},
		{"redirects to a file", "HTTP/1.1 302 Moved\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", "", nil, "file:///etc/passwd"},
		{"redirects to nothing", "HTTP/1.1 302 Moved\r\nContent-Length: 0\r\n\r\n", "", nil, "where to go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opt := reading(t, hostileServer(t, tt.says, tt.again))
			opt.Credentials = origin.Credentials{Username: "alice", Password: "sesame"}
			opt.HTTP.(*http.Transport).DisableKeepAlives = true
			_, err := Open(t.Context(), opt)
			checkError(t, err, tt.want, tt.text)
		})
	}
}

// Where the repository has moved to is found by who has no credentials; with some, on the same server only, and never in the
// clear where it was not.
func TestMoved(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	whole, address := r.whole(t), r.serve(t)
	moving := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Query().Get("cmd") != "capabilities" {
			t.Errorf("%s is asked of where it was", q.URL)
		}
		http.Redirect(w, q, address+"/?"+q.URL.RawQuery, http.StatusMovedPermanently)
	})
	server, encrypted := httptest.NewServer(moving), httptest.NewTLSServer(moving)
	defer server.Close()
	defer encrypted.Close()
	same(t, whole, pull(t, openSource(t, reading(t, server.URL+"/old"))))
	closed := reading(t, server.URL+"/old")
	closed.Credentials = origin.Credentials{Username: "alice", Password: "sesame"}
	_, err := Open(t.Context(), closed)
	checkError(t, err, nil, address)
	open := reading(t, encrypted.URL)
	open.HTTP = encrypted.Client().Transport
	_, err = Open(t.Context(), open)
	checkError(t, err, nil, address)
	within := newFront(t, address, func(h http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			if strings.HasPrefix(q.URL.Path, "/old") {
				http.Redirect(w, q, "/?"+q.URL.RawQuery, http.StatusFound)
				return
			}
			h.ServeHTTP(w, q)
		}
	})
	closed = reading(t, within.URL+"/old")
	closed.Credentials = origin.Credentials{Username: "alice", Password: "sesame"}
	same(t, whole, pull(t, openSource(t, closed)))
}

// checkError checks what an error means and says.
func checkError(t *testing.T, err, want error, text string) {
	t.Helper()
	if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %v and %q", err, want, text)
	}
	if want == nil && (errors.Is(err, origin.ErrTemporary) || gantry.KindOf(err) != gantry.Invalid) {
		t.Errorf("%v is %v", err, gantry.KindOf(err))
	}
	if err != nil && strings.Contains(err.Error(), "sesame") {
		t.Errorf("the password is told: %v", err)
	}
}

// script is a server that answers each command in a way of its own.
func script(t *testing.T, capabilities string, answers map[string]http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/mercurial-0.1")
		name := r.URL.Query().Get("cmd")
		if answer := answers[name]; answer != nil {
			answer(w, r)
			return
		}
		_, _ = io.WriteString(w, map[string]string{
			"capabilities": capabilities, "heads": strings.Repeat("1", 40) + "\n", "batch": strings.Repeat("1", 40) + "\n;",
		}[name])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func saying(media, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, text)
	}
}

func deflated(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		z := zlib.NewWriter(w)
		defer z.Close()
		_, _ = io.WriteString(z, text)
	}
}

func endless(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, strings.Repeat(text, 1000)); err != nil {
				return
			}
		}
	}
}

// What a server answers to commands is believed as far as it can be, and no further.
func TestHostilePull(t *testing.T) {
	t.Parallel()
	const simple, parts = "getbundle known lookup", "batch pushkey getbundle bundle2=HG20%0Achangegroup%3D01%2C02 httpheader=1024 httpmediatype=0.1rx,0.1tx,0.2tx"
	const media2 = "application/mercurial-0.2"
	for _, tt := range []struct {
		name, capabilities, command string
		answer                      http.HandlerFunc
		want                        error
		text                        string
	}{
		{"heads that are none", simple, "heads", saying("application/mercurial-0.1", "what?"), nil, "what?"},
		{"heads without end", simple, "heads", endless(strings.Repeat("1", 40) + " "), nil, "more than"},
		{"fewer answers", parts, "batch", saying("application/mercurial-0.1", ""), nil, "1 answers to 2"},
		{"bookmarks that are none", parts, "batch", saying("application/mercurial-0.1", ";a"), nil, "bookmark"},
		{"a bookmark without end", parts, "batch", saying("application/mercurial-0.1", ";"+strings.Repeat("a", 1<<20)), nil, "bytes"},
		{"not compressed", simple, "getbundle", saying("application/mercurial-0.1", "what?"), nil, "zlib"},
		{"compressed unlike asked", parts, "getbundle", saying(media2, "\x04lzma"), nil, "lzma"},
		{"cut name", parts, "getbundle", saying(media2, "\x04zs"), origin.ErrTemporary, "too early"},
		{"another version", parts, "getbundle", saying("application/mercurial-0.3", "HG20"), nil, "0.3"},
		{"no bundle", parts, "getbundle", saying(media2, "\x04nonewhat is that?"), nil, "not a Mercurial bundle"},
		{"empty bundle", parts, "getbundle", saying(media2, "\x04noneHG20\x00\x00\x00\x00\x00\x00\x00\x00"), nil, "did not send it"},
		{"cut bundle", parts, "getbundle", saying(media2, "\x04noneHG20\x00\x00\x00\x00\x00\x00"), origin.ErrTemporary, "too early"},
		{"a chunk of no length", simple, "getbundle", deflated("\x80\x00\x00\x00"), nil, "length"},
		{"empty changegroup", simple, "getbundle", deflated(strings.Repeat("\x00", 12)), nil, "did not send it"},
		{"gives up", parts, "getbundle", saying(media2, "\x04noneHG20\x00\x00\x00\x00\x00\x00\x00\x27\x0bERROR:ABORT\x00\x00\x00\x00\x01\x01\x07\x04\x04\x02messagefullhintno\x00\x00\x00\x00"), nil, "full (no)"},
		{"an error", parts, "getbundle", saying("application/hg-error", "not today"), nil, "not today"},
		{"moves away", parts, "getbundle", http.RedirectHandler("http://other.example/", http.StatusFound).ServeHTTP, nil, "other.example"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openSource(t, reading(t, script(t, tt.capabilities, map[string]http.HandlerFunc{tt.command: tt.answer})))
			_, err := s.Pull(t.Context(), nil, newModel())
			checkError(t, err, tt.want, tt.text)
		})
	}
}

// Wherever a server hangs up, that is a fault of the connection, and the sink is not told what did not come.
func TestCut(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	whole := r.whole(t)
	var heard strings.Builder
	behind := r.serve(t, "server.uncompressed=no", "server.compressionengines=none")
	record := newFront(t, behind, func(h http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("cmd") == "getbundle" {
				w = tee{w, &heard}
			}
			h.ServeHTTP(w, r)
		}
	})
	same(t, whole, pull(t, openSource(t, reading(t, record.URL))))
	end := 0
	server := newFront(t, behind, func(h http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("cmd") != "getbundle" {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/mercurial-0.2")
			_, _ = io.WriteString(w, heard.String()[:end])
			if end%2 == 0 {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}
	})
	s := openSource(t, reading(t, server.URL))
	for ; end < heard.Len(); end += 1 + end/9 {
		m := newModel()
		if _, err := s.Pull(t.Context(), nil, m); !errors.Is(err, origin.ErrTemporary) {
			t.Errorf("after %d of %d bytes: %v", end, heard.Len(), err)
		}
		if len(m.order) > len(whole.order) {
			t.Errorf("after %d bytes %d revisions came", end, len(m.order))
		}
	}
}

type tee struct {
	http.ResponseWriter
	to io.Writer
}

func (w tee) Write(p []byte) (int, error) {
	_, _ = w.to.Write(p)
	return w.ResponseWriter.Write(p)
}

// An error of the sink comes back as it is, and ends the reading.
func TestSinkFails(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	full := errors.New("full")
	for _, config := range []string{"server.uncompressed=yes", "server.uncompressed=no"} {
		s := openSource(t, reading(t, r.serve(t, config)))
		if _, err := s.Pull(t.Context(), nil, failing{full}); err != full {
			t.Errorf("%s: got %v", config, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Changeset(*revlog.Revision) error        { return nil }
func (f failing) Manifest(string, *revlog.Revision) error { return nil }
func (f failing) File(string, *revlog.Revision) error     { return f.err }

// A server that says nothing has hung up; a sink that takes its time over something has not.
func TestSilent(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	opt := reading(t, server.URL)
	opt.IdleTimeout = 100 * time.Millisecond
	_, err := Open(t.Context(), opt)
	checkError(t, err, origin.ErrTemporary, "silent")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	opt.IdleTimeout = time.Minute
	if _, err := Open(ctx, opt); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, origin.ErrTemporary) {
		t.Errorf("got %v", err)
	}

	r := newStandardRepo(t)
	ssh := r.serveSSH(t, "", "server.uncompressed=no")
	for address, creds := range map[string]origin.Credentials{
		r.serve(t, "server.uncompressed=no"): {}, "ssh://" + ssh.Address + "/repo": {Username: ssh.User, Password: ssh.Password},
	} {
		t.Run(address[:4], func(t *testing.T) {
			t.Parallel()
			opt := reading(t, address)
			opt.Credentials, opt.IdleTimeout = creds, 5*time.Second
			s := openSource(t, opt)
			if _, err := s.Pull(t.Context(), nil, &slow{model: newModel(), pause: 6 * time.Second}); err != nil {
				t.Error(err)
			}
		})
	}
}

// slow takes its time over the first changeset.
type slow struct {
	*model
	pause time.Duration
}

func (s *slow) Changeset(r *revlog.Revision) error {
	time.Sleep(s.pause)
	s.pause = 0
	return s.model.Changeset(r)
}

// What goes wrong at an ssh host is told in its own words.
func TestSSHFaults(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	server, other := r.serveSSH(t, ""), r.serveSSH(t, "")
	running := func(program string) *sshfixture.Server {
		return sshfixture.Serve(t, "alice", func(string, []string) *exec.Cmd { return exec.Command("sh", "-c", program) })
	}
	greeting := func(then string) *sshfixture.Server {
		return running(`printf '37\ncapabilities: batch getbundle pushkey\n1\n\n'; ` + then)
	}
	for _, tt := range []struct {
		name   string
		server *sshfixture.Server
		change func(*Options)
		want   error
		kind   gantry.Kind
		text   string
	}{
		{"wrong password", server, func(o *Options) { o.Credentials.Password = "x" }, origin.ErrAuthFailed, gantry.Unauthenticated, "alice"},
		{"no password", server, func(o *Options) { o.Credentials = origin.Credentials{} }, origin.ErrAuthRequired, gantry.Unauthenticated, ""},
		{"another key", server, func(o *Options) { o.HostKeys = []string{other.HostKey} }, nil, gantry.Forbidden, "shows the key"},
		{"no repository", server, func(o *Options) { o.Address.Path = "/none" }, origin.ErrNotFound, gantry.NotFound, "repository none not found"},
		{"a path like an option", server, func(o *Options) { o.Address.Path = "/--config=alias.serve=!id" }, nil, gantry.Invalid, "hyphen"},
		{"a path of two words", server, func(o *Options) { o.Address.Path = "/it's%20`id`" }, origin.ErrNotFound, gantry.NotFound, "repository it's `id` not found"},
		{"no hg", running("echo no such thing >&2; exit 127"), func(*Options) {}, origin.ErrNotFound, gantry.NotFound, "no such thing"},
		{"ends", running("exit 0"), func(*Options) {}, origin.ErrTemporary, gantry.Unavailable, "closed"},
		{"never greets", running("yes"), func(*Options) {}, nil, gantry.Invalid, "without greeting"},
		{"a line without end", running("yes | tr -d '\\n'"), func(*Options) {}, nil, gantry.Invalid, "bytes"},
		{"cannot do anything", running(`printf '0\n1\n\n'; cat`), func(*Options) {}, nil, gantry.Invalid, "what it can do"},
		{"silent", running("cat >/dev/null"), func(o *Options) { o.IdleTimeout = 200 * time.Millisecond }, origin.ErrTemporary, gantry.Unavailable, "silent"},
		{"answers by no number", greeting("echo many; cat >/dev/null"), func(*Options) {}, nil, gantry.Invalid, "many"},
		{"answers too long", greeting("echo 99999999999; cat >/dev/null"), func(*Options) {}, nil, gantry.Invalid, "99999999999"},
		{"answers less than it said", greeting("printf '500\\n123'"), func(*Options) {}, origin.ErrTemporary, gantry.Unavailable, "closed"},
		{"refuses", greeting("echo not for you >&2; sleep 0.1; echo; cat >/dev/null"), func(*Options) {}, nil, gantry.Invalid, "not for you"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opt := reading(t, "ssh://"+tt.server.Address+"/repo")
			opt.Credentials = origin.Credentials{Username: tt.server.User, Password: tt.server.Password}
			tt.change(&opt)
			s, err := Open(t.Context(), opt)
			if err == nil {
				defer s.Close()
				_, err = s.Pull(t.Context(), nil, newModel())
			}
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || gantry.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("got %v of kind %v, want %v of kind %v and %q", err, gantry.KindOf(err), tt.want, tt.kind, tt.text)
			}
		})
	}
}

// What is wrong with TLS is said in words, with what to do.
func TestCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	for _, tt := range []struct {
		name, address string
		config        *tls.Config
		text          string
	}{
		{"signed by nobody known", server.URL, &tls.Config{}, "SSL_CERT_FILE"},
		{"another host", server.URL, &tls.Config{RootCAs: trusted, ServerName: "other.test"}, "another host"},
		{"no TLS", strings.Replace(plain.URL, "http", "https", 1), &tls.Config{}, "http instead of https"},
	} {
		opt := reading(t, tt.address)
		opt.HTTP = &http.Transport{TLSClientConfig: tt.config, DisableKeepAlives: true}
		_, err := Open(t.Context(), opt)
		checkError(t, err, nil, tt.text)
	}
}
