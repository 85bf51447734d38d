package contest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"gantry/bench/measure"
)

// Key finds a contestant, or its row in the report.
type Key struct {
	Name  string
	Input string // that it reads, and the way
}

// Entry makes a Key.
func Entry(name, input string) Key { return Key{name, input} }

// FileName is a name for what the contestant makes.
func (k Key) FileName() string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == ':' {
			return '-'
		}
		return r
	}, k.Name+" "+k.Input)
}

// Contestant is one program with its command line.
type Contestant struct {
	Key
	Needs     []string // programs that must be there, beside the first of Args, and files, by their whole paths
	Args      []string
	Files     map[string]string // to write before, by name in the working directory
	Result    string            // repository that it makes; "" makes none
	Revisions int               // how many it reads
	Server    *Server           // that it reads from; may be nil
}

// PlainHg is the environment in which hg knows no settings but its own.
var PlainHg = []string{"HGRCPATH=", "HGPLAIN=1"}

// missing returns something that is not installed.
func (c Contestant) missing() (what string, missing bool) {
	for _, what := range append(c.Needs, c.Args[0]) {
		_, err := exec.LookPath(what)
		if filepath.IsAbs(what) {
			_, err = os.Stat(what)
		}
		if err != nil {
			return what, true
		}
	}
	return "", false
}

// run measures the contestant in a directory and looks at what it made.
func (c Contestant) run(ctx context.Context, dir string) (Row, error) {
	for name, content := range c.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return Row{}, err
		}
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	cmd.Env = append(cmd.Env, PlainHg...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	row := Row{Name: c.Name, Input: c.Input, Revisions: c.Revisions}
	if c.Server != nil {
		row.Server -= measure.CPU(c.Server.cmd.Process.Pid)
	}
	var err error
	if row.Cost, err = measure.Run(cmd); err != nil {
		return Row{}, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, lastLines(log.String()))
	}
	if c.Server != nil {
		row.Server += measure.CPU(c.Server.cmd.Process.Pid)
	}
	if c.Result == "" {
		return row, nil
	}
	if row.Commits, err = c.count(ctx); err != nil {
		return Row{}, err
	}
	if row.Merges, err = c.count(ctx, "--merges"); err != nil {
		return Row{}, err
	}
	row.Bytes, err = objectBytes(c.Result)
	return row, err
}

// count is how many commits all refs of the result reach.
func (c Contestant) count(ctx context.Context, args ...string) (int, error) {
	args = append([]string{"-C", c.Result, "rev-list", "--count", "--all"}, args...)
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// objectBytes is the size of a repository's objects, indexes included.
func objectBytes(repo string) (total int64, err error) {
	objects := filepath.Join(repo, "objects")
	if _, err := os.Stat(objects); err != nil {
		objects = filepath.Join(repo, ".git", "objects")
	}
	err = filepath.WalkDir(objects, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// lastLines are the end of a log, to show in an error.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
