package svnfixture

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gantry/internal/gantrytest/sshfixture"
)

// User may log in to a server.
type User struct{ Name, Password string }

// Serve runs svnserve over all repositories below root until the test ends. Without users everybody may read; with
// users only they may, by CRAM-MD5. It returns the server's host and port.
func Serve(t testing.TB, root string, users ...User) (addr string) {
	t.Helper()
	if len(users) == 0 {
		return serve(t, root, "anon-access = read\n", nil)
	}
	return serve(t, root, "anon-access = none\npassword-db = passwd\n", map[string]string{"passwd": passwords(users)})
}

// ServeLogged is Serve for everybody that keeps a log, in which "replay / r5" says that a revision was read.
func ServeLogged(t testing.TB, root string) (addr, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	return serve(t, root, "anon-access = read\n", nil, "--log-file", log), log
}

// ServeSASL is Serve for one user, who logs in by a mechanism of SASL alone.
func ServeSASL(t testing.TB, root, mechanism string, user User) (addr string) {
	t.Helper()
	program, err := exec.LookPath("saslpasswd2")
	if err != nil {
		t.Fatal("saslpasswd2 is needed: install Debian's sasl2-bin and libsasl2-modules")
	}
	passwords := filepath.Join(t.TempDir(), "sasldb")
	cmd := exec.Command(program, "-p", "-c", "-f", passwords, "-u", "fixture", user.Name)
	cmd.Stdin = strings.NewReader(user.Password)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("saslpasswd2: %v\n%s", err, out)
	}
	return serve(t, root, "anon-access = none\n[sasl]\nuse-sasl = true\n", map[string]string{
		"svn.conf": "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: " + passwords + "\nmech_list: " + mechanism + "\n",
	})
}

// ServeAuthz is Serve for users and for everybody else alike, as far as a file of path rules lets them read.
func ServeAuthz(t testing.TB, root, authz string, users ...User) (addr string) {
	t.Helper()
	return serve(t, root, "anon-access = read\npassword-db = passwd\nauthz-db = authz\n",
		map[string]string{"passwd": passwords(users), "authz": authz})
}

// ServeSSH is an ssh server that runs svnserve -t over all repositories below root for the user alice, as far as a file of
// path rules lets her read; without one, all. Noise is said before svnserve says anything, as login scripts do.
func ServeSSH(t testing.TB, root, authz, noise string) *sshfixture.Server {
	t.Helper()
	dir := t.TempDir()
	settings := "[general]\nanon-access = none\nauth-access = read\n"
	if authz != "" {
		settings += "authz-db = authz\n"
	}
	conf := filepath.Join(dir, "svnserve.conf")
	for name, text := range map[string]string{conf: settings, filepath.Join(dir, "authz"): authz, filepath.Join(dir, "noise"): noise} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return sshfixture.Serve(t, "alice", func(line string, _ []string) *exec.Cmd {
		if line != "svnserve -t" {
			return nil
		}
		cmd := exec.Command("sh", "-c", `cat noise && exec svnserve --tunnel --tunnel-user alice --root "$1" --config-file svnserve.conf`, "sh", root)
		cmd.Dir = dir
		return cmd
	})
}

func passwords(users []User) string {
	text := "[users]\n"
	for _, u := range users {
		text += u.Name + " = " + u.Password + "\n"
	}
	return text
}

// serve runs a server with general settings, the files that they name, and further arguments.
func serve(t testing.TB, root, settings string, files map[string]string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("svnserve")
	if err != nil {
		t.Fatal("svnserve is needed: install Debian's subversion")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "svnserve.conf")
	if err := os.WriteFile(conf, []byte("[general]\nauth-access = read\nrealm = fixture\n"+settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// svnserve cannot choose a port itself. Somebody may take the free one before it does: then another is tried.
	for range 5 {
		addr := freeAddr(t)
		host, port, _ := net.SplitHostPort(addr)
		cmd := exec.Command(program, append([]string{
			"--daemon", "--foreground", "--listen-host", host, "--listen-port", port,
			"--root", root, "--config-file", conf,
		}, args...)...)
		cmd.Env = append(os.Environ(), "SASL_CONF_PATH="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it forks for each connection
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(exited)
		}()
		stop := func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-exited
		}
		if greets(addr, exited) {
			t.Cleanup(stop)
			return addr
		}
		stop()
	}
	t.Fatal("svnserve does not start")
	return ""
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// greets waits until an ra_svn server speaks at addr.
func greets(addr string, exited <-chan struct{}) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		select {
		case <-exited:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			continue
		}
		greeting := make([]byte, 9)
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, err = conn.Read(greeting)
		conn.Close()
		if err == nil && bytes.HasPrefix(greeting, []byte("( success")) {
			return true
		}
	}
	return false
}
