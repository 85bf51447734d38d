// Package davfixture serves Subversion repositories over HTTP for tests, by the machine's Apache with mod_dav_svn. A test
// that needs it fails where it is missing.
package davfixture

import (
	"bytes"
	"crypto/md5" // Apache's files of Digest passwords are made of it
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gantry/internal/gantrytest/svnfixture"
)

// Config is what a server is like. The zero value lets everybody read everything, as today's servers do it.
type Config struct {
	Users    []svnfixture.User // only they may read, unless Authz says more
	Digest   bool              // they log in by Digest, not Basic
	Authz    string            // rules of paths, for users and for everybody else alike
	TLS      bool              // by a certificate that Server.Client alone trusts
	Version1 bool              // speak the protocol of servers before Subversion 1.7
	Deflate  bool              // compress answers
	Settings string            // further lines, for the whole server
}

// Server is a running Apache.
type Server struct {
	URL    string       // of what holds the repositories, without a slash at the end
	Client *http.Client // that trusts it
	Trust  string       // with TLS, the file of the certificate that signs for it
}

const (
	program = "/usr/sbin/apache2"
	modules = "/usr/lib/apache2/modules"
	account = "www-data" // what Apache becomes when root starts it
	realm   = "fixture"
	missing = "Apache with mod_dav_svn is needed: install Debian's apache2 and libapache2-mod-svn"
)

// Serve runs a server over all repositories below root until the test ends.
func Serve(t testing.TB, root string, c Config) *Server {
	t.Helper()
	for _, name := range []string{program, filepath.Join(modules, "mod_dav_svn.so")} {
		if _, err := os.Stat(name); err != nil {
			t.Fatal(missing)
		}
	}
	dir := t.TempDir()
	share(t, root)
	share(t, dir)
	s := &Server{Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	t.Cleanup(s.Client.CloseIdleConnections)
	scheme := "http"
	if c.TLS {
		scheme = "https"
		s.Client.Transport.(*http.Transport).TLSClientConfig = certify(t, dir)
		s.Trust = filepath.Join(dir, "cert.pem")
	}

	// Apache cannot choose a port itself. Somebody may take the free one before it does: then another is tried.
	var said bytes.Buffer
	for range 5 {
		addr := freeAddr(t)
		config := filepath.Join(dir, "httpd.conf")
		write(t, config, c.text(t, root, dir, addr))
		cmd := exec.Command(program, "-f", config, "-D", "FOREGROUND")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(exited)
		}()
		if accepts(addr, exited) {
			t.Cleanup(func() {
				stop(cmd, exited)
				if t.Failed() {
					log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
					t.Logf("Apache says: %s", log)
				}
			})
			s.URL = scheme + "://" + addr + "/svn"
			return s
		}
		stop(cmd, exited)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
	t.Fatalf("Apache does not start: %s%s", said.Bytes(), log)
	return nil
}

// stop lets Apache remove its semaphores, and kills it when it does not end.
func stop(cmd *exec.Cmd, exited <-chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(10 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	}
}

// text is the configuration.
func (c Config) text(t testing.TB, root, dir, addr string) string {
	t.Helper()
	var conf strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&conf, format+"\n", args...) }
	line("ServerRoot %q\nServerName 127.0.0.1\nListen %s\nPidFile \"%[1]s/pid\"\nErrorLog \"%[1]s/error.log\"", dir, addr)
	line("DefaultRuntimeDir %q\nMutex file:%s default", dir, dir)
	line("StartServers 1\nServerLimit 2\nThreadsPerChild 32\nMaxRequestWorkers 64\nKeepAlive On\nMaxKeepAliveRequests 0")
	if os.Geteuid() == 0 {
		if _, err := user.Lookup(account); err != nil {
			t.Fatal(missing)
		}
		line("User %s\nGroup %[1]s", account)
	}
	loaded := []string{
		"mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "access_compat", "auth_basic", "auth_digest",
		"filter", "deflate", "dav", "dav_svn", "authz_svn",
	}
	if c.TLS {
		loaded = append(loaded, "ssl")
	}
	for _, name := range loaded {
		line("LoadModule %s_module %s/mod_%[1]s.so", name, modules)
	}
	if c.TLS {
		line("SSLEngine on\nSSLCertificateFile \"%s/cert.pem\"\nSSLCertificateKeyFile \"%[1]s/key.pem\"\nSSLSessionCache none", dir)
	}
	line("%s", c.Settings)
	line("<Location /svn/>\nDAV svn\nSVNParentPath %q", root)
	if c.Version1 {
		line("SVNAdvertiseV2Protocol off")
	}
	if c.Deflate {
		line("SetOutputFilter DEFLATE")
	}
	switch {
	case len(c.Users) > 0:
		c.logIn(t, dir, line)
	default:
		line("Require all granted")
	}
	if c.Authz != "" {
		write(t, filepath.Join(dir, "authz"), c.Authz)
		line("AuthzSVNAccessFile \"%s/authz\"", dir)
	}
	line("</Location>")
	return conf.String()
}

// logIn makes Apache ask for one of the users.
func (c Config) logIn(t testing.TB, dir string, line func(string, ...any)) {
	t.Helper()
	var passwords strings.Builder
	way := "Basic"
	for _, u := range c.Users {
		if c.Digest {
			way = "Digest"
			fmt.Fprintf(&passwords, "%s:%s:%x\n", u.Name, realm, md5.Sum([]byte(u.Name+":"+realm+":"+u.Password)))
			continue
		}
		sum := sha1.Sum([]byte(u.Password))
		fmt.Fprintf(&passwords, "%s:{SHA}%s\n", u.Name, base64.StdEncoding.EncodeToString(sum[:]))
	}
	write(t, filepath.Join(dir, "passwords"), passwords.String())
	line("AuthType %s\nAuthName %s\nAuth%[1]sProvider file\nAuthUserFile \"%[3]s/passwords\"\nRequire valid-user", way, realm, dir)
	if c.Authz != "" {
		line("Satisfy Any") // whoever is nobody gets what the rules give to everybody
	}
}

// share lets Apache's own account reach a directory of a test.
func share(t testing.TB, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for above := dir; above != os.TempDir() && above != "/"; above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// accepts waits until somebody listens at addr.
func accepts(addr string, exited <-chan struct{}) bool {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case <-exited:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return true
		}
	}
	return false
}
