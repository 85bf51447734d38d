package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gitdir"
	"gantry/internal/githelper"
	"gantry/internal/origin"
	"gantry/internal/origin/git"
)

func TestMain(m *testing.M) {
	if handled, code := githelper.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// resolver answers each name with its addresses, one after the other in each further look-up.
type resolver struct {
	answers map[string][]string
	asked   atomic.Int32
}

func (r *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list := r.answers[host]
	if list == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	n := int(r.asked.Add(1)) - 1
	return []netip.Addr{netip.MustParseAddr(list[min(n, len(list)-1)])}, nil
}

func newEgress(t *testing.T, names map[string][]string, allow ...string) *egress.Egress {
	t.Helper()
	policy, err := egress.ParsePolicy(allow)
	if err != nil {
		t.Fatal(err)
	}
	return egress.NewWithResolver(policy, &resolver{answers: names}, slog.New(slog.DiscardHandler))
}

// observer listens on an address that the policy forbids, and fails the test when a connection arrives.
func observer(t *testing.T) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Errorf("a connection has arrived from %s", conn.RemoteAddr())
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

func TestDialRefuses(t *testing.T) {
	t.Parallel()
	port := observer(t)
	e := newEgress(t, map[string][]string{"evil.example": {"127.0.0.2"}, "mapped.example": {"::ffff:127.0.0.2"}}, "127.0.0.1/32", "trusted.example")
	tests := map[string]gantry.Kind{
		"127.0.0.2":          gantry.Forbidden,
		"[::ffff:127.0.0.2]": gantry.Forbidden,
		"evil.example":       gantry.Forbidden,
		"EVIL.example.":      gantry.Forbidden,
		"mapped.example":     gantry.Forbidden,
		"10.0.0.1":           gantry.Forbidden,
		"169.254.169.254":    gantry.Forbidden,
		"0.0.0.0":            gantry.Forbidden,
		"[::]":               gantry.Forbidden,
		"[::1]":              gantry.Forbidden,
		"[fd00::1]":          gantry.Forbidden,
		"[64:ff9b::7f00:2]":  gantry.Forbidden,
		"[2002:7f00:2::]":    gantry.Forbidden,
		"0x7f000002":         gantry.Invalid,
		"2130706434":         gantry.Invalid,
		"0177.0.0.2":         gantry.Invalid,
		"127.2":              gantry.Invalid,
		"127.0.0.0x2":        gantry.Invalid,
		"[fe80::1%lo]":       gantry.Invalid,
		"①②⑦.0.0.2":          gantry.Invalid,
		"evil.example%00.x":  gantry.Invalid,
		"-evil.example":      gantry.Invalid,
		"":                   gantry.Invalid,
	}
	for host, want := range tests {
		conn, err := e.DialContext(t.Context(), "tcp", host+":"+port)
		if conn != nil {
			conn.Close()
		}
		if gantry.KindOf(err) != want || want == gantry.Forbidden != errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: kind %v: %v", host, gantry.KindOf(err), err)
		}
	}
	_, err := e.DialContext(t.Context(), "tcp", "evil.example:"+port)
	if text := gantry.Message(err); !strings.Contains(text, "evil.example (127.0.0.2) is a loopback address") || !strings.Contains(text, "GANTRY_EGRESS_ALLOW") {
		t.Errorf("message: %s", text)
	}
	if _, err := e.DialContext(t.Context(), "unix", "/run/docker.sock"); gantry.KindOf(err) != gantry.Invalid {
		t.Errorf("unix: %v", err)
	}
}

// What the operator allows is reached: by address, by network and port, by name whatever its address.
func TestDialAllows(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	names := map[string][]string{"a.corp.example": {"127.0.0.1"}, "corp.example": {"127.0.0.1"}}
	for _, tt := range []struct {
		allow, host string
		ok          bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.0/8:" + port, "127.0.0.1", true},
		{"127.0.0.0/8:1", "127.0.0.1", false},
		{"[127.0.0.1]:" + port, "a.corp.example", true},
		{"a.corp.example", "A.Corp.Example", true},
		{"a.corp.example:" + port, "a.corp.example", true},
		{"a.corp.example:1", "a.corp.example", false},
		{"*.corp.example", "a.corp.example", true},
		{"*.corp.example", "corp.example", false},
		{"corp.example", "a.corp.example", false},
		{"a.corp.example", "127.0.0.1", false},
		{"::1", "127.0.0.1", false},
	} {
		conn, err := newEgress(t, names, tt.allow).DialContext(t.Context(), "tcp", net.JoinHostPort(tt.host, port))
		if conn != nil {
			conn.Close()
		}
		if (err == nil) != tt.ok {
			t.Errorf("%s allows, %s: %v", tt.allow, tt.host, err)
		}
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "10.0.0.0/33", "10.0.0", "x y", "host:0", "host:99999", "[::1", "[::1]x", "*", "*.", "a..b", "http://x", "10.0.0.0/8:x"} {
		if _, err := egress.ParsePolicy([]string{word}); gantry.KindOf(err) != gantry.Invalid {
			t.Errorf("%q: %v", word, err)
		}
	}
}

// No way of leading a client elsewhere makes it connect to a forbidden address.
func TestNothingLeadsToAForbiddenAddress(t *testing.T) {
	t.Parallel()
	port := observer(t)
	target := "http://127.0.0.2:" + port
	redirect := func(to string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	names := map[string][]string{"rebinding.example": {"127.0.0.1", "127.0.0.2"}}

	t.Run("redirect", func(t *testing.T) {
		e := newEgress(t, names, "127.0.0.1/32")
		response, err := e.HTTPClient().Get(redirect(redirect(target)))
		if err == nil {
			response.Body.Close()
		}
		if !errors.Is(err, egress.ErrRefused) || gantry.KindOf(err) != gantry.Forbidden {
			t.Error(err)
		}
	})
	t.Run("name that resolves differently", func(t *testing.T) {
		e := newEgress(t, names, "127.0.0.1/32")
		var failures int
		for range 3 { // nothing listens at the first answer
			if conn, err := e.DialContext(t.Context(), "tcp", "rebinding.example:"+port); err == nil {
				conn.Close()
			} else if errors.Is(err, egress.ErrRefused) {
				failures++
			}
		}
		if failures != 2 {
			t.Errorf("%d refusals", failures)
		}
	})
	t.Run("CONNECT", func(t *testing.T) {
		proxy := startProxy(t, newEgress(t, names, "127.0.0.1/32"))
		if conn, err := egress.DialProxy(t.Context(), proxy.URL(), "127.0.0.2:"+port); err == nil || !strings.Contains(err.Error(), "403") {
			if conn != nil {
				conn.Close()
			}
			t.Error(err)
		}
		if !errors.Is(proxy.Refusal(), egress.ErrRefused) {
			t.Error(proxy.Refusal())
		}
	})
	t.Run("plain proxying", func(t *testing.T) {
		proxy := startProxy(t, newEgress(t, names, "127.0.0.1/32"))
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy.URL())}}
		t.Cleanup(client.CloseIdleConnections)
		response, err := client.Get(redirect(target))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Error(response.Status)
		}
	})
	// git on its own knows no policy: only the proxy holds it. Its first answer is a repository, everything after leads away.
	t.Run("git", func(t *testing.T) {
		root := gitfixture.Repository(t, "sample.git")
		backend := gitfixture.ServeHTTP(t, root, "", "")
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > 1 {
				http.Redirect(w, r, target+r.URL.Path, http.StatusTemporaryRedirect)
				return
			}
			response, err := http.Get(backend + r.URL.String())
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			defer response.Body.Close()
			w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
			_, _ = io.Copy(w, response.Body)
		}))
		t.Cleanup(server.Close)
		for _, address := range []string{server.URL + "/sample.git", target + "/x.git", "git://127.0.0.2:" + port + "/x", "ssh://127.0.0.2:" + port + "/x"} {
			g, err := gitdir.New(gitdir.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a, _, err := origin.ParseAddress(address)
			if err != nil {
				t.Fatal(err)
			}
			_, err = git.Fetch(t.Context(), git.Options{
				Address: a, Dir: filepath.Join(t.TempDir(), "x.git"), Git: g,
				Egress: newEgress(t, nil, "127.0.0.1/32"), Log: slog.New(slog.DiscardHandler),
			})
			if err == nil {
				t.Errorf("%s: no error", address)
			}
		}
		// And git itself, told to go there.
		g, err := gitdir.New(gitdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"http", "git", "ssh"} {
			proxy := startProxy(t, newEgress(t, nil, "127.0.0.1/32"))
			note := githelper.Note{Proxy: proxy.URL().String(), Scheme: scheme, Host: "127.0.0.2:" + port, Username: "git", Password: "x"}
			cmd, done, err := githelper.Command(t.Context(), g, t.TempDir(), note, nil, "ls-remote", "--", scheme+"://127.0.0.2:"+port+"/x")
			if err != nil {
				t.Fatal(err)
			}
			if err := gitdir.Run(cmd); err == nil || !errors.Is(proxy.Refusal(), egress.ErrRefused) {
				t.Errorf("%s: %v; %v", scheme, err, proxy.Refusal())
			}
			done()
		}
	})
}

func startProxy(t *testing.T, e *egress.Egress) *egress.Proxy {
	t.Helper()
	proxy, err := e.StartProxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	return proxy
}

func TestHTTPClient(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization") + r.Header.Get("Cookie"))
	}))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	first := httptest.NewServer(mux)
	t.Cleanup(first.Close)
	mux.HandleFunc("/same", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/end", http.StatusFound) })
	mux.HandleFunc("/end", func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header.Get("Authorization")) })
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }))
	t.Cleanup(secure.Close)

	client := newEgress(t, nil, "127.0.0.1/32").HTTPClient()
	ask := func(address string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("ada", "secret")
		request.Header.Set("Cookie", "a=b")
		got.Store("nothing")
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	if err := ask(first.URL + "/same"); err != nil || !strings.HasPrefix(got.Load().(string), "Basic ") {
		t.Errorf("same origin: %v, %v", err, got.Load())
	}
	if err := ask(first.URL + "/other"); err != nil || got.Load() != "" {
		t.Errorf("another port is another origin: %v, %q", err, got.Load())
	}
	if err := ask(first.URL + "/loop"); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("loop: %v", err)
	}
	trusting := *client
	transport := client.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	trusting.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	response, err := trusting.Get(secure.URL)
	if err == nil {
		response.Body.Close()
	}
	if gantry.KindOf(err) != gantry.Forbidden {
		t.Errorf("https to http: %v", err)
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %q %q", r.Method, r.Header.Get("Proxy-Authorization"), r.Header.Get("X-Forwarded-For"))
	}))
	t.Cleanup(backend.Close)
	e := newEgress(t, nil, "127.0.0.1/32")
	ctx, cancel := context.WithCancel(t.Context())
	proxy, err := e.StartProxy(ctx)
	if err != nil {
		t.Fatal(err)
	}
	through := func(proxy *url.URL, address string) (int, string) {
		transport := &http.Transport{Proxy: http.ProxyURL(proxy)}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if code, body := through(proxy.URL(), backend.URL); code != http.StatusOK || body != `GET "" ""` {
		t.Errorf("plain: %d %s", code, body)
	}
	stranger := *proxy.URL()
	stranger.User = url.UserPassword("gantry", "guess")
	if code, _ := through(&stranger, backend.URL); code != http.StatusProxyAuthRequired {
		t.Errorf("wrong secret: %d", code)
	}
	stranger.User = nil
	if code, _ := through(&stranger, backend.URL); code != http.StatusProxyAuthRequired {
		t.Errorf("no secret: %d", code)
	}
	if code, _ := through(&url.URL{Scheme: "http", Host: proxy.URL().Host}, "http://"+proxy.URL().Host+"/"); code != http.StatusProxyAuthRequired {
		t.Errorf("asked itself: %d", code)
	}

	// A tunnel whose near side ends first still brings the answer, and one that is open ends with the proxy.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				all, _ := io.ReadAll(conn)
				time.Sleep(50 * time.Millisecond)
				fmt.Fprintf(conn, "got %s", all)
			}()
		}
	}()
	conn, err := egress.DialProxy(ctx, proxy.URL(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "question")
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(conn).ReadString('\n'); answer != "got question" || !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", answer, err)
	}
	conn.Close()
	if conn, err = egress.DialProxy(ctx, proxy.URL(), listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a tunnel outlives its proxy")
	}
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", proxy.URL().Host, time.Second); err == nil {
		t.Error("the proxy still listens")
	}
}
