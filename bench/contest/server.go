package contest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Server is a server of repositories that contestants read from.
type Server struct {
	cmd  *exec.Cmd
	base url.URL
}

// URL is the address of a repository.
func (s *Server) URL(repo string) string { return s.URLAt(s.base.Host, repo) }

// URLAt is the address of a repository where the server is reached at another host and port.
func (s *Server) URLAt(host, repo string) string {
	u := s.base
	u.Host = host
	return u.JoinPath(repo).String()
}

// Host is the host and port of the server.
func (s *Server) Host() string { return s.base.Host }

// Stop ends the server.
func (s *Server) Stop() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait()
}

// FreeAddress is a host and port where a server can listen.
func FreeAddress() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer free.Close()
	return free.Addr().String(), nil
}

// Start runs a server in a process group of its own and waits until it can be reached.
func Start(ctx context.Context, cmd *exec.Cmd, base url.URL) (*Server, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, base: base}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", base.Host)
		if err == nil {
			conn.Close()
			return s, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			s.Stop()
			return nil, fmt.Errorf("%s does not answer: %w", cmd.Path, err)
		}
	}
}
