package hg

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gantry/internal/gantrytest/sshfixture"
	"gantry/internal/origin"
)

var boundTo = regexp.MustCompile(`bound to [^)]*:([0-9]+)\)`)

// hg is a command with the repository's settings and some more, which hg takes from a file: who serves takes none from the
// command line.
func (r *repo) hg(t testing.TB, config []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	var settings strings.Builder
	for _, c := range config {
		section, setting, _ := strings.Cut(c, ".")
		settings.WriteString("[" + section + "]\n" + setting + "\n")
	}
	file := filepath.Join(t.TempDir(), "hgrc")
	if err := os.WriteFile(file, []byte(settings.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Dir(r.dir)
	cmd.Env = append(os.Environ(), "HGPLAIN=1", "HGRCPATH="+r.rc+":"+file, "HGENCODING=UTF-8", "PYTHONUNBUFFERED=1")
	return cmd
}

// serve runs hg serve over the repository until the test ends, and returns its address.
func (r *repo) serve(t testing.TB, config ...string) string {
	t.Helper()
	cmd := r.hg(t, config, "hg", "-R", r.dir, "serve", "-a", "127.0.0.1", "-p", "0", "-v")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := boundTo.FindStringSubmatch(lines.Text()); found != nil {
			return "http://127.0.0.1:" + found[1]
		}
	}
	t.Fatalf("hg serve does not start: %v", lines.Err())
	return ""
}

// serveSSH is an ssh server at which the user alice runs hg serve --stdio in the folder of the repository.
func (r *repo) serveSSH(t testing.TB, noise string, config ...string) *sshfixture.Server {
	t.Helper()
	greeting := filepath.Join(t.TempDir(), "noise")
	if err := os.WriteFile(greeting, []byte(noise), 0o600); err != nil {
		t.Fatal(err)
	}
	return sshfixture.Serve(t, "alice", func(line string, _ []string) *exec.Cmd {
		if !strings.HasPrefix(line, "hg ") {
			return nil
		}
		return r.hg(t, config, "sh", "-c", "cat "+greeting+"; exec "+line)
	})
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
