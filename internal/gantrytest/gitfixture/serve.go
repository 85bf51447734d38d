package gitfixture

import (
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gantry/internal/gantrytest/sshfixture"
)

// ServeHTTP serves the repositories below root with git http-backend and returns the address, such as
// http://127.0.0.1:4711. With a user it asks for that Basic authentication.
func ServeHTTP(t testing.TB, root, user, password string) string {
	t.Helper()
	backend := &cgi.Handler{
		Stderr: io.Discard, // says what it refuses
		Path:   filepath.Join(execPath(t), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		if user != "" && (u != user || p != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="fixture"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func execPath(t testing.TB) string { return Git(t, "", "--exec-path") }

// ServeDaemon serves the repositories below root with git daemon and returns the address, such as git://127.0.0.1:4711.
func ServeDaemon(t testing.TB, root string) string {
	t.Helper()
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	cmd := command(root, "daemon", "--export-all", "--reuseaddr", "--listen="+host, "--port="+port, "--base-path="+root, root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	for range 200 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "git://" + address
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("git daemon does not answer")
	return ""
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// ServeSSH serves the repositories below root, whose paths at the server begin with a slash, by git-upload-pack.
func ServeSSH(t testing.TB, root string) *sshfixture.Server {
	t.Helper()
	return sshfixture.Serve(t, "git", func(line string, env []string) *exec.Cmd {
		path, ok := strings.CutPrefix(line, "git-upload-pack '")
		if !ok {
			return nil
		}
		cmd := command(root, "upload-pack", "--strict", filepath.Join(root, strings.TrimSuffix(path, "'")))
		cmd.Env = append(cmd.Env, env...)
		return cmd
	})
}

// Shallow makes a shallow clone of root/name as root/shallow.git.
func Shallow(t testing.TB, root, name string) {
	t.Helper()
	Git(t, "", "clone", "--quiet", "--bare", "--depth=1", "file://"+filepath.Join(root, name), filepath.Join(root, "shallow.git"))
	if _, err := os.Stat(filepath.Join(root, "shallow.git", "shallow")); err != nil {
		t.Fatal(err)
	}
}
