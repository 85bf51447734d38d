package gantrytest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Options of a server.
type Options struct {
	DataDir  string   // "" for a new one
	Database string   // "" for SQLite in DataDir
	Token    string   // of an administrator, where the data directory or database is not new
	Env      []string // further settings, GANTRY_NAME=value
}

// Server is a gantry process that listens on a free port of 127.0.0.1. Imports may reach 127.0.0.0/8.
type Server struct {
	URL     string
	Token   string // of the administrator of the first start, with all scopes
	DataDir string

	t   testing.TB
	opt Options
	cmd *exec.Cmd
	log string // file with the log of all processes of this server
}

// patience is how long a server may take to come up and to leave; the race detector makes it slow.
const patience = time.Minute

// Start starts a server and waits until it is ready. It is killed when the test ends, and the log shown when that failed.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	if opt.DataDir == "" {
		opt.DataDir = t.TempDir()
	}
	s := &Server{Token: opt.Token, DataDir: opt.DataDir, t: t, opt: opt, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("log of the server with %s:\n%s", s.DataDir, s.Log())
		}
	})
	s.Restart()
	return s
}

// Restart starts the server again after Stop or Kill, and waits until it is ready.
func (s *Server) Restart() {
	s.t.Helper()
	s.start()
	deadline := time.Now().Add(patience)
	for {
		resp, err := http.Get(s.URL + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("gantrytest: the server is not ready after %s", patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// start starts a process and reads what it says of itself.
func (s *Server) start() {
	s.t.Helper()
	s.cmd = exec.Command(Build(s.t), "serve", "--data", s.DataDir, "--listen", "127.0.0.1:0")
	s.cmd.Env = append(os.Environ(), "GANTRY_EGRESS_ALLOW=127.0.0.0/8")
	if s.opt.Database != "" {
		s.cmd.Env = append(s.cmd.Env, "GANTRY_DATABASE="+s.opt.Database)
	}
	s.cmd.Env = append(s.cmd.Env, s.opt.Env...)
	log, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	// Files of our own: Wait must not wait for git processes that a killed server leaves behind for a moment.
	stdout, writer, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer writer.Close()
	s.cmd.Stdout, s.cmd.Stderr = writer, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	announced := make(chan announcement, 1)
	go announce(stdout, announced)
	select {
	case a := <-announced:
		if a.address == "" {
			s.t.Fatal("gantrytest: the server left without saying where it listens")
		}
		s.URL = a.address
		if a.token != "" {
			s.Token = a.token
		}
	case <-time.After(patience):
		s.t.Fatal("gantrytest: the server does not say where it listens")
	}
}

// announcement is what a server prints when it starts; the token on a first start only.
type announcement struct{ address, token string }

// announce reads until the end of what a server prints, so that it never blocks, and tells when the address is known.
func announce(stdout io.ReadCloser, announced chan<- announcement) {
	defer stdout.Close()
	var a announcement
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(name) {
		case "token":
			a.token = strings.TrimSpace(value)
		case "address":
			a.address = strings.TrimSpace(value)
			announced <- a
		}
	}
	close(announced)
}

// Stop asks the server to leave and waits until it has.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	timer := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	defer timer.Stop()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("gantrytest: the server did not leave in order: %v", err)
	}
}

// Kill ends the process without a warning.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}

// Freeze stops the process where it is, as a machine does that is suspended. Thaw lets it go on.
func (s *Server) Freeze() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (s *Server) Thaw() { s.t.Helper(); s.signal(syscall.SIGCONT) }

// Log is what the server has logged so far.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.log) // missing before the first start
	return string(text)
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(fmt.Errorf("gantrytest: %s: %w", sig, err))
	}
}

// Pid is the process that runs now.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
