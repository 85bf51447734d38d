package hg

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/gantrytest/sshfixture"
	"gantry/internal/origin"
)

// serve runs hg serve over the repository until the test ends, and returns its address.
func (r *repo) serve(t testing.TB, config ...string) string {
	t.Helper()
	return hgfixture.Existing(r.dir, r.rc).Serve(t, config...)
}

// serveSSH is an ssh server at which the user alice runs hg in the folder of the repository.
func (r *repo) serveSSH(t testing.TB, noise string, config ...string) *sshfixture.Server {
	t.Helper()
	return hgfixture.Existing(r.dir, r.rc).ServeSSH(t, noise, config...)
}

// reading are the options with which a test reads an address.
func reading(t testing.TB, address string) Options {
	t.Helper()
	a, creds, err := origin.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxResponseHeaderBytes: 256 << 10}
	t.Cleanup(transport.CloseIdleConnections)
	return Options{Address: a, Credentials: creds, HTTP: transport, Dial: dialTCP, TempDir: t.TempDir(), IdleTimeout: 20 * time.Second}
}

// openSource opens an address.
func openSource(t testing.TB, opt Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// front is a server between the reader and hg, which notes the commands that it is asked.
type front struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newFront(t testing.TB, behind string, change func(http.Handler) http.HandlerFunc) *front {
	t.Helper()
	target, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	f := &front{}
	handler := change(proxy)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		what := r.URL.Query().Get("cmd")
		if r.Header.Get("X-HgArg-1") != "" && strings.Contains(r.Header.Get("X-HgArg-1")+r.Header.Get("X-HgArg-2"), "stream=1") {
			what += " stream"
		}
		f.asked = append(f.asked, what)
		f.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// questions are the commands that were asked since the last call.
func (f *front) questions() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := strings.Join(f.asked, ", ")
	f.asked = nil
	return asked
}

func unchanged(h http.Handler) http.HandlerFunc { return h.ServeHTTP }
