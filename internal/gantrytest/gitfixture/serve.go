package gitfixture

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
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

// SSH is an ssh server that runs git-upload-pack for one user.
type SSH struct {
	Address    string // host:port
	User       string
	Password   string
	PrivateKey string // PEM
	HostKey    string // as in authorized_keys
}

// ServeSSH serves the repositories below root, whose paths at the server begin with a slash.
func ServeSSH(t testing.TB, root string) *SSH {
	t.Helper()
	_, hostKey := newKey(t)
	userPEM, userKey := newKey(t)
	s := &SSH{User: "git", Password: "open sesame", PrivateKey: userPEM, HostKey: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(hostKey.PublicKey())))}
	config := &ssh.ServerConfig{
		PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if c.User() != s.User || string(password) != s.Password {
				return nil, fmt.Errorf("wrong password")
			}
			return nil, nil
		},
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if c.User() != s.User || string(key.Marshal()) != string(userKey.PublicKey().Marshal()) {
				return nil, fmt.Errorf("unknown key")
			}
			return nil, nil
		},
	}
	config.AddHostKey(hostKey)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { serveSSH(conn, config, root) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return s
}

func newKey(t testing.TB) (text string, signer ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = ssh.NewSignerFromKey(key); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer
}

func serveSSH(conn net.Conn, config *ssh.ServerConfig, root string) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		protocol := ""
		for request := range requests {
			switch request.Type {
			case "env":
				var variable struct{ Name, Value string }
				_ = ssh.Unmarshal(request.Payload, &variable)
				protocol = variable.Value
				_ = request.Reply(variable.Name == "GIT_PROTOCOL", nil)
			case "exec":
				var command struct{ Line string }
				_ = ssh.Unmarshal(request.Payload, &command)
				_ = request.Reply(true, nil)
				code := uploadPack(channel, root, command.Line, protocol)
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
				channel.Close()
			}
		}
	}
}

func uploadPack(channel ssh.Channel, root, line, protocol string) uint32 {
	path, ok := strings.CutPrefix(line, "git-upload-pack '")
	if !ok {
		fmt.Fprintf(channel.Stderr(), "unknown command %q\n", line)
		return 127
	}
	path = strings.TrimSuffix(path, "'")
	cmd := command(root, "upload-pack", "--strict", filepath.Join(root, path))
	cmd.Env = append(cmd.Env, "GIT_PROTOCOL="+protocol)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	go func() {
		defer in.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := channel.Read(buf)
			if n > 0 {
				if _, err := in.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	if err := cmd.Run(); err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			return uint32(exit.ExitCode())
		}
		return 1
	}
	return 0
}

// Shallow makes a shallow clone of root/name as root/shallow.git.
func Shallow(t testing.TB, root, name string) {
	t.Helper()
	Git(t, "", "clone", "--quiet", "--bare", "--depth=1", "file://"+filepath.Join(root, name), filepath.Join(root, "shallow.git"))
	if _, err := os.Stat(filepath.Join(root, "shallow.git", "shallow")); err != nil {
		t.Fatal(err)
	}
}
