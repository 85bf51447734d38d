// Package gitdir runs the system's git safely and knows a bare repository on disk: refs, pushes into it, installing it
// whole, serving it. Formats and protocols: gitprotocol-pack(5), gitprotocol-http(5), gitrepository-layout(5).
package gitdir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gantry"
)

// minVersion is the oldest git whose options are used here (repack --cruft).
var minVersion = [2]int{2, 37}

// Options say which git to run.
type Options struct {
	GitPath string // the program, "" for the git of PATH
}

// Git runs one installed git. It is safe for concurrent use.
type Git struct {
	path    string
	version string
}

// New finds git and checks that it is new enough.
func New(opt Options) (*Git, error) {
	name := opt.GitPath
	if name == "" {
		name = "git"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, gantry.Errorf(gantry.Unavailable, "gitdir.New", "the program git is needed and was not found (looked for %q): install git %d.%d or newer: %w", name, minVersion[0], minVersion[1], err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	g := &Git{path: path}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := g.Output(ctx, "", "version")
	if err != nil {
		return nil, err
	}
	g.version = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	if !newEnough(g.version) {
		return nil, gantry.Errorf(gantry.Unavailable, "gitdir.New", "%s is git %s: install git %d.%d or newer", path, g.version, minVersion[0], minVersion[1])
	}
	return g, nil
}

var versionPattern = regexp.MustCompile(`^(\d{1,4})\.(\d{1,4})`)

func newEnough(version string) bool {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > minVersion[0] || major == minVersion[0] && minor >= minVersion[1]
}

// Version is what the installed git calls itself, such as "2.39.5".
func (g *Git) Version() string { return g.version }

// Setting is one line of Git configuration for one command.
type Setting struct{ Key, Value string }

// safety holds for every command. Nothing of the machine, of a user or of a repository's content decides what runs.
var safety = []Setting{
	{"core.hooksPath", os.DevNull},
	{"core.attributesFile", os.DevNull},
	{"core.fsmonitor", "false"},
	{"core.fsync", "all"},
	{"core.askPass", ""},
	{"credential.helper", ""}, // the empty value drops helpers named before
	{"protocol.allow", "never"},
	{"transfer.bundleURI", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"submodule.recurse", "false"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"receive.autogc", "false"},
}

// Command prepares a git command in the bare repository dir ("" for none) with an empty environment. Operands that come
// from outside must stand behind "--" or "--end-of-options" in args. When ctx ends, git and all its children are killed.
func (g *Git) Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	return g.CommandWith(ctx, dir, nil, args...)
}

// CommandWith is Command with further configuration, which goes through the environment and so stays out of argument
// lists.
func (g *Git) CommandWith(ctx context.Context, dir string, settings []Setting, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), // git's own programs need a shell
		"HOME=" + os.DevNull,        // no ~/.gitconfig, no ~/.netrc
		"XDG_CONFIG_HOME=" + os.DevNull,
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_PROTOCOL_FROM_USER=0",
		"GIT_NO_REPLACE_OBJECTS=1",
	}
	all := append(safety[:len(safety):len(safety)], settings...)
	if dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "GIT_DIR=.")
		all = append(all, Setting{"safe.directory", dir})
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
	for i, s := range all {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.Value))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Output runs a command and returns what it wrote, which must be small.
func (g *Git) Output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cmd := g.Command(ctx, dir, args...)
	cmd.Stdout = &out
	err := Run(cmd)
	return out.Bytes(), err
}

// ExitError is a git command that failed.
type ExitError struct {
	Command string // its first argument
	Stderr  string // the end of what it said
	Err     error
}

func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Stderr)
}

func (e *ExitError) Unwrap() error { return e.Err }

// Run runs a command made by Command, whose Stdin, when set, is data at hand or a file. Unless the caller has set Stderr, its end goes into the *ExitError.
func Run(cmd *exec.Cmd) error {
	tail, _ := cmd.Stderr.(*Tail)
	if cmd.Stderr == nil {
		tail = new(Tail)
		cmd.Stderr = tail
	}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	failure := &ExitError{Command: cmd.Args[1], Err: err}
	if tail != nil {
		failure.Stderr = tail.String()
	}
	return failure
}

// Tail is a writer that keeps the end of what a command says.
type Tail struct{ buf []byte }

const tailSize = 8 << 10

func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *Tail) String() string { return strings.TrimSpace(string(t.buf)) }
