package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Main runs a package's tests, stops the PostgreSQL server that they may have started and calls the functions that clean
// up what else they left. TestMain of a package that calls Postgres is this and nothing else.
func Main(m *testing.M, clean ...func()) {
	shared.allowed.Store(true)
	code := m.Run()
	shared.stop()
	for _, f := range clean {
		f()
	}
	os.Exit(code)
}

// Postgres returns the address of a new, empty PostgreSQL database. The first call of a test process starts a server
// that listens on a socket in a directory of its own. A machine without PostgreSQL fails the test.
func Postgres(t testing.TB) (dsn string) {
	t.Helper()
	if !shared.allowed.Load() {
		t.Fatal("storetest: a package that uses PostgreSQL calls storetest.Main in its TestMain")
	}
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatalf("storetest: start PostgreSQL (the Debian package is postgresql): %v", shared.err)
	}
	name := fmt.Sprintf("test%d", shared.databases.Add(1))
	conn, err := pgx.Connect(t.Context(), shared.dsn("postgres"))
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("storetest: %v", err)
	}
	return shared.dsn(name)
}

// shared is the one PostgreSQL server of a test process.
var shared server

type server struct {
	allowed   atomic.Bool // Main runs
	once      sync.Once
	err       error
	databases atomic.Int64
	dir       string        // data, and the socket
	quit      chan struct{} // closed to stop the server
	ended     chan struct{} // closed when it has
}

func (s *server) dsn(database string) string {
	return "postgres://postgres@/" + database + "?host=" + s.dir
}

// binary finds a program of the newest PostgreSQL that is installed.
func binary(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return exec.LookPath(name)
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

func (s *server) start() (err error) {
	if s.dir, err = os.MkdirTemp("", "gantry-pg-"); err != nil {
		return err
	}
	owner, err := unprivileged()
	if err != nil {
		return err
	}
	if owner != nil {
		if err := os.Chown(s.dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	// The server dies with the tests, however they die.
	attr := &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	data := filepath.Join(s.dir, "data")
	if err := s.command(attr, "initdb", "--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync").run(); err != nil {
		return err
	}
	postgres := s.command(attr, "postgres", "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=500",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB")
	s.quit, s.ended = make(chan struct{}), make(chan struct{})
	started := make(chan error)
	go s.supervise(postgres, started)
	if err := <-started; err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), s.dsn("postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-s.ended:
			return fmt.Errorf("postgres ended: %s", postgres.output.Bytes())
		default:
		}
		if time.Now().After(deadline) {
			return errors.Join(err, errors.New("postgres does not answer"))
		}
	}
}

// supervise owns the server's process. The kernel signals a parent's death when the starting thread ends, so it keeps that thread.
func (s *server) supervise(postgres *command, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := postgres.Start()
	started <- err
	if err != nil {
		return
	}
	go func() {
		_ = postgres.Wait() // it is stopped by a signal
		close(s.ended)
	}()
	select {
	case <-s.quit:
		_ = postgres.Process.Signal(syscall.SIGQUIT) // immediate shutdown: nothing is worth keeping
		<-s.ended
	case <-s.ended:
	}
}

func (s *server) stop() {
	if s.quit != nil {
		close(s.quit)
		<-s.ended
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// command is a program of PostgreSQL with what it prints.
type command struct {
	*exec.Cmd
	output bytes.Buffer
	err    error
}

func (s *server) command(attr *syscall.SysProcAttr, name string, args ...string) *command {
	path, err := binary(name)
	c := &command{Cmd: exec.Command(path, args...), err: err}
	c.Dir, c.Env, c.SysProcAttr = s.dir, []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}, attr
	c.Stdout, c.Stderr = &c.output, &c.output
	return c
}

func (c *command) run() error {
	if c.err != nil {
		return c.err
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(c.Path), err, c.output.Bytes())
	}
	return nil
}

// unprivileged is the user postgres when the tests run as root, whom PostgreSQL refuses to serve; else nil.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
