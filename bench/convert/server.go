package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// server is a Subversion server over the repositories in a directory.
type server struct {
	cmd  *exec.Cmd
	base url.URL
}

// url is the address of a repository.
func (s *server) url(repo string) string { return s.urlAt(s.base.Host, repo) }

// urlAt is the address of a repository where the server is reached at another host and port.
func (s *server) urlAt(host, repo string) string {
	u := s.base
	u.Host = host
	return u.JoinPath(repo).String()
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) stop() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait()
}

// startSVNServe starts svnserve.
func startSVNServe(ctx context.Context, root string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(address)
	cmd := exec.CommandContext(ctx, "svnserve", "--daemon", "--foreground", "--threads",
		"--listen-host", host, "--listen-port", port, "--root", root)
	return start(ctx, cmd, url.URL{Scheme: "svn", Host: address})
}

// startApache starts Apache with mod_dav_svn. Compression is left out: all is on one machine.
func startApache(ctx context.Context, root, work string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	settings := fmt.Sprintf(`ServerName localhost
ServerRoot %[1]q
Listen %[2]s
PidFile %[1]s/pid
ErrorLog %[1]s/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dav_module /usr/lib/apache2/modules/mod_dav.so
LoadModule dav_svn_module /usr/lib/apache2/modules/mod_dav_svn.so
MaxKeepAliveRequests 0
KeepAliveTimeout 60
<Location /svn/>
	DAV svn
	SVNParentPath %[3]q
	SVNAllowBulkUpdates On
	Require all granted
</Location>
`, work, address, root)
	file := filepath.Join(work, "apache.conf")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "apache2", "-f", file, "-DFOREGROUND")
	return start(ctx, cmd, url.URL{Scheme: "http", Host: address, Path: "/svn"})
}

func freeAddress() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer free.Close()
	return free.Addr().String(), nil
}

// start runs a server in a process group of its own and waits until it can be reached.
func start(ctx context.Context, cmd *exec.Cmd, base url.URL) (*server, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, base: base}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", base.Host)
		if err == nil {
			conn.Close()
			return s, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			s.stop()
			return nil, fmt.Errorf("%s does not answer: %w", cmd.Path, err)
		}
	}
}
