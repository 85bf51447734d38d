package svn

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gantry"
	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/hostile"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// hostileServer is the address of a repository at a server as package hostile has it.
func hostileServer(t *testing.T, says, again string) *url.URL {
	t.Helper()
	return &url.URL{Scheme: "http", Host: hostile.Answer(t, says, again), Path: "/svn/repo"}
}

const subversionHeaders = "HTTP/1.1 200 OK\r\nDAV: http://subversion.tigris.org/xmlns/dav/svn/log-revprops\r\nSVN-Youngest-Rev: 3\r\n" +
	"SVN-Repository-UUID: x\r\nSVN-Repository-Root: /svn/repo\r\nSVN-Rev-Stub: /svn/repo/!svn/rev\r\nSVN-Rev-Root-Stub: /svn/repo/!svn/rvr\r\n"

// A server that keeps to nothing is found out, within bounds and in words.
func TestDAVHostile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says, again string
		want              error // nil: not worth another try
		text              string
	}{
		{"hangs up", "", "", origin.ErrTemporary, "closed"},
		{"another protocol", "( success ( 2 2 ( ) ( ) ) ) ", "", origin.ErrTemporary, "HTTP"},
		{"endless headers", "HTTP/1.1 200 OK\r\n", "X: y\r\n", origin.ErrTemporary, "header"},
		{"endless answers before the answer", "", "HTTP/1.1 103 Early Hints\r\n\r\n", origin.ErrTemporary, ""},
		{"a web page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n", "", origin.ErrNotFound, "text/html"},
		{"revision that is none", strings.Replace(subversionHeaders, "Rev: 3", "Rev: -3", 1) + "Content-Length: 0\r\n\r\n", "", nil, "newest revision"},
		{"root above the address", strings.Replace(subversionHeaders, "Root: /svn/repo", "Root: /other", 1) + "Content-Length: 0\r\n\r\n", "", nil, "not above"},
		{"stub that is no path", strings.Replace(subversionHeaders, "Rev-Stub: /svn", "Rev-Stub: http:", 1) + "Content-Length: 0\r\n\r\n", "", nil, "no path"},
		{"no XML", subversionHeaders + "Content-Length: 5\r\n\r\nhello", "", nil, "XML"},
		{"endless text", subversionHeaders + "\r\n<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>", "/aaaaaaaa", nil, "bytes"},
		{"endless blanks", subversionHeaders + "\r\n<D:multistatus xmlns:D=\"DAV:\">", "    ", nil, "text"},
		{"endless depth", subversionHeaders + "\r\n<D:multistatus xmlns:D=\"DAV:\">", "<D:response>", nil, "nested"},
		{"endless tag", subversionHeaders + "\r\n<D:multistatus", " a", nil, "tag without end"},
		{"endless comment", subversionHeaders + "\r\n<!--", " - ", nil, "comment"},
		{"entities", subversionHeaders + "\r\n<!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>", "", nil, "document type"},
		{"lying length", subversionHeaders + "Content-Length: 500\r\n\r\n<D:multistatus xmlns:D=\"DAV:\">", "", origin.ErrTemporary, "closed"},
		{"early end", subversionHeaders + "Content-Length: 30\r\n\r\n<D:multistatus xmlns:D=\"DAV:\">", "", origin.ErrTemporary, "too early"},
		{"not compressed", subversionHeaders + "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n<D:multistatus     >", "", nil, "compressed"},
		{"asks again and again", "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"a\", stale=true\r\nContent-Length: 0\r\n\r\n", "", origin.ErrAuthFailed, "again and again"},
		{"asks for something else", "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n", "", origin.ErrAuthFailed, "Negotiate, NTLM"},
		{"asks for nothing", "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "", origin.ErrAuthFailed, "what kind"},
		{"gateway", "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", "", origin.ErrTemporary, "504"},
		{"redirects to another host", "HTTP/1.1 301 Moved\r\nLocation: http://other.example/svn\r\nContent-Length: 0\r\n\r\n", "", nil, "http://other.example/svn"},
		{"redirects for ever", "HTTP/1.1 302 Moved\r\nLocation: /svn/repo\r\nContent-Length: 0\r\n\r\n", "", nil, "is at"},
		{"redirects to nothing", "HTTP/1.1 302 Moved\r\nContent-Length: 0\r\n\r\n", "", nil, "where to go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			transport := &http.Transport{MaxResponseHeaderBytes: 256 << 10, DisableKeepAlives: true}
			_, err := Open(context.Background(), Options{
				URL: hostileServer(t, tt.says, tt.again), HTTP: transport, TempDir: t.TempDir(), IdleTimeout: 5 * time.Second,
				Credentials: origin.Credentials{Username: "alice", Password: "sesame"},
			})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v and %q", err, tt.want, tt.text)
			}
			if tt.want == nil && (errors.Is(err, origin.ErrTemporary) || gantry.KindOf(err) != gantry.Invalid) {
				t.Errorf("%v is %v", err, gantry.KindOf(err))
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

// front is a server between the reader and Apache.
func front(t *testing.T, behind *davfixture.Server, change func(http.Handler) http.HandlerFunc) *httptest.Server {
	t.Helper()
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	target.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.ErrorLog = behind.Client.Transport, nil
	server := httptest.NewServer(change(proxy))
	t.Cleanup(server.Close)
	return server
}

func frontOptions(t *testing.T, server *httptest.Server, path string) Options {
	t.Helper()
	u, err := url.Parse(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return Options{URL: u, HTTP: server.Client().Transport, TempDir: t.TempDir(), IdleTimeout: 5 * time.Second}
}

// Answers that are cut anywhere are asked for again, and what comes of it is the same.
func TestDAVCut(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	var requests atomic.Int64
	server := front(t, davfixture.Serve(t, r.Root, davfixture.Config{}), func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if n := requests.Add(1); r.Method == "REPORT" && n%5 == 0 {
				w = &shears{w, int(n * 37 % 1500)}
			}
			next.ServeHTTP(w, r)
		}
	})
	judge(t, r, "", retold(t, openDAV(t, frontOptions(t, server, "/svn/repo"))))
}

// retold replays revision by revision, which asks again for those that failed.
func retold(t *testing.T, s *Source) *model {
	t.Helper()
	m := newModel()
	if err := s.Replay(context.Background(), 1, s.Info().Head, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// shears end the connection after so many bytes.
type shears struct {
	http.ResponseWriter
	left int
}

func (c *shears) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func (c *shears) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// A repository that has moved on its host is read where it is.
func TestDAVMoved(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	for _, status := range []int{301, 302, 307, 308} {
		server := front(t, davfixture.Serve(t, r.Root, davfixture.Config{}), func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if rest, ok := strings.CutPrefix(r.URL.Path, "/old/"); ok {
					http.Redirect(w, r, "/svn/repo/"+rest, status)
					return
				}
				next.ServeHTTP(w, r)
			}
		})
		s := openDAV(t, frontOptions(t, server, "/old/trunk"))
		if got := s.Info(); got.Path != "trunk" || got.Root != server.URL+"/svn/repo" {
			t.Errorf("%d: %+v", status, got)
		}
	}
}

// A server that tells no log, or not all of it, is asked for the properties of each revision; one that sends another
// revision than the one that was asked for is not believed.
func TestDAVLogMissing(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	behind := davfixture.Serve(t, r.Root, davfixture.Config{})
	whole := replay(t, openDAV(t, davOptions(t, behind, "/repo")))
	for name, answer := range map[string]func(w http.ResponseWriter){
		"refused": func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
		"empty":   func(w http.ResponseWriter) { fmt.Fprint(w, `<S:log-report xmlns:S="svn:"></S:log-report>`) },
		"packed": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			fmt.Fprint(z, `<S:log-report xmlns:S="svn:"></S:log-report>`)
		},
	} {
		server := front(t, behind, func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "REPORT" && strings.Contains(r.URL.Path, "!svn") {
					answer(w)
					return
				}
				next.ServeHTTP(w, r)
			}
		})
		m := replay(t, openDAV(t, frontOptions(t, server, "/svn/repo")))
		if got, want := fmt.Sprint(m.revs), fmt.Sprint(whole.revs); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	wrong := front(t, behind, func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err == nil {
				text := strings.Replace(string(body), "<S:revision>5<", "<S:revision>4<", 1)
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
				r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			}
			next.ServeHTTP(w, r)
		}
	})
	err := openDAV(t, frontOptions(t, wrong, "/svn/repo")).Replay(context.Background(), 1, 10, newModel())
	if err == nil || !strings.Contains(err.Error(), "r5") || !strings.Contains(err.Error(), "it sent r4") {
		t.Errorf("got %v", err)
	}
}

func TestDAVSilent(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the connection's end
		<-r.Context().Done()
	}))
	defer server.Close()
	opt := frontOptions(t, server, "/svn/repo")
	opt.IdleTimeout = 100 * time.Millisecond
	if _, err := Open(context.Background(), opt); !errors.Is(err, origin.ErrTemporary) || !strings.Contains(err.Error(), "silent") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	opt.IdleTimeout = time.Minute
	if _, err := Open(ctx, opt); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, origin.ErrTemporary) {
		t.Errorf("got %v", err)
	}
}

// What is wrong with TLS is said in words, with what to do.
func TestDAVCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	later := func() time.Time { return server.Certificate().NotAfter.Add(time.Hour) }
	for _, tt := range []struct {
		name, address string
		config        *tls.Config
		text          string
	}{
		{"signed by nobody known", server.URL, &tls.Config{}, "SSL_CERT_FILE"},
		{"out of date", server.URL, &tls.Config{RootCAs: trusted, Time: later}, "renew"},
		{"another host", server.URL, &tls.Config{RootCAs: trusted, ServerName: "other.test"}, "another host"},
		{"no TLS", strings.Replace(plain.URL, "http", "https", 1), &tls.Config{}, "http instead of https"},
	} {
		u, err := url.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(context.Background(), Options{URL: u, HTTP: &http.Transport{TLSClientConfig: tt.config, DisableKeepAlives: true}, TempDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), tt.text) || gantry.KindOf(err) != gantry.Invalid {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
