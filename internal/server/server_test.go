package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"gantry/internal/config"
)

// start runs a server on a free port until the test ends; settings are flags.
func start(t *testing.T, dir string, settings ...string) (s *Server, stop func() error, log *lockedBuffer) {
	t.Helper()
	s, log = open(t, dir, settings...)
	return s, run(t, s), log
}

func open(t *testing.T, dir string, settings ...string) (*Server, *lockedBuffer) {
	t.Helper()
	log := new(lockedBuffer)
	s, err := New(t.Context(), settingsOf(t, dir, settings...), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

func settingsOf(t *testing.T, dir string, settings ...string) *config.Config {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(append([]string{"--data", dir, "--listen", "127.0.0.1:0"}, settings...)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(flags, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// run runs a server until stop is called or the test ends.
func run(t *testing.T, s *Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		err := <-ran
		if closeErr := s.Close(); closeErr != nil {
			t.Errorf("close: %v", closeErr)
		}
		return err
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return stop
}

// lockedBuffer is a log that a test may read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func get(t *testing.T, url string, headers ...string) (status int, body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// A data directory belongs to one site: the second start finds its administrator, its key and its token as they were.
func TestFirstStartHappensOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, stop, log := start(t, dir)
	admin := s.Administrator()
	if admin == nil {
		t.Fatal("the first start made no administrator")
	}
	if status, body, _ := get(t, s.URL()+"/user", "Authorization", "token "+admin.Token); status != http.StatusOK || !strings.Contains(body, `"site_admin":true`) {
		t.Errorf("the administrator's token: %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), admin.Token) {
		t.Error("the token is in the log")
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory: %v, %v; want it closed to others", info.Mode(), err)
	}

	again, _, _ := start(t, dir)
	if again.Administrator() != nil {
		t.Error("the second start made an administrator, too")
	}
	if status, _, _ := get(t, again.URL()+"/user", "Authorization", "token "+admin.Token); status != http.StatusOK {
		t.Errorf("the token of the first start: %d", status)
	}
}

// One bad request takes nothing else down, and its answer names it as the log does.
func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	s, log := open(t, t.TempDir())
	s.api = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })
	run(t, s)
	status, body, header := get(t, s.URL()+"/anything")
	id := header.Get("X-Vendor-Request-Id")
	if status != http.StatusInternalServerError || !strings.Contains(body, `"message":"Server Error"`) || id == "" {
		t.Errorf("answer: %d %s, request %q", status, body, id)
	}
	if strings.Contains(body, "boom") {
		t.Error("the answer tells what went wrong inside")
	}
	for _, want := range []string{"boom", "server_test.go", id} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if status, _, _ := get(t, s.URL()+"/healthz"); status != http.StatusOK {
		t.Errorf("afterwards /healthz answers %d", status)
	}
}

// Metrics are for this machine, unless they have an address of their own; labels are templates, never what callers send.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t, t.TempDir())
	get(t, s.URL()+"/users/somebody")
	get(t, s.URL()+"/secret/name.git/info/refs")
	_, text, _ := get(t, s.URL()+"/metrics")
	for _, want := range []string{
		`gantry_http_requests_total{code="403",method="GET",route="/{owner}/{repo}.git/info/refs"} 1`,
		`route="/users/{user}"`, "gantry_http_request_duration_seconds_bucket", "gantry_build_info", "go_goroutines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "somebody") {
		t.Error("/metrics shows what a caller sent")
	}
	if status, _, _ := get(t, s.URL()+"/metrics", "X-Forwarded-For", "192.0.2.1"); status == http.StatusOK {
		t.Error("a caller behind a proxy on this machine sees the metrics")
	}

	apart, _, _ := start(t, t.TempDir(), "--metrics", "127.0.0.1:0")
	if status, _, _ := get(t, apart.URL()+"/metrics"); status == http.StatusOK {
		t.Error("the main address shows metrics that have an address of their own")
	}
	if status, _, _ := get(t, "http://"+apart.listeners[1].Addr().String()+"/"); status != http.StatusOK {
		t.Errorf("the metrics' own address answers %d", status)
	}
}

// Stopping: not ready at once, what runs is finished, nothing new is begun.
func TestStopFinishesRequests(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	entered, leave := make(chan struct{}), make(chan struct{})
	s.api = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "finished")
	})
	stop := run(t, s)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // the queue takes a moment to start
		status, body, _ := get(t, s.URL()+"/readyz?verbose")
		if status == http.StatusOK && !strings.Contains(body, "failed") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %d %s", status, body)
		}
	}
	answer := make(chan string, 1)
	go func() {
		_, body, _ := get(t, s.URL()+"/slow")
		answer <- body
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for !s.draining.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := s.checkAccepting(); err == nil {
		t.Error("a stopping server says that it is ready")
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped before its request was finished: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	if body := <-answer; body != "finished" {
		t.Errorf("the request at work got %q", body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// What cannot work is said at the start, with the setting's name.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	taken, _, _ := start(t, t.TempDir())
	for name, test := range map[string]struct {
		settings []string
		want     string
	}{
		"address in use":      {[]string{"--listen", taken.Addr().String()}, "cannot listen on"},
		"no such git":         {[]string{"--git", "/nonexistent/git"}, "git"},
		"egress word":         {[]string{"--egress-allow", "not a network"}, "egress_allow"},
		"data is not a place": {[]string{"--data", "/dev/null/data"}, "data directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := settingsOf(t, t.TempDir(), test.settings...)
			if _, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}
