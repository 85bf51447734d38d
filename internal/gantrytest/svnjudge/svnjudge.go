// Package svnjudge says what is true about a Subversion repository on disk, from Subversion's own library and nothing of
// ours: it computes the Git tree id of any path and revision, and checks whole conversions against that. It needs
// /usr/bin/python3 with the Subversion bindings.
package svnjudge

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"gantry/internal/gantrytest/gitnames"
)

//go:embed judge.py
var program string

// EmptyTree is what Tree says of a directory in which there are no files.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Judge answers questions about one repository. It is for one goroutine.
type Judge struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Reader
	stderr  bytes.Buffer
}

// Open is New for a test.
func Open(t testing.TB, repo string) *Judge {
	t.Helper()
	j, err := New(context.Background(), repo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// New starts a judge of the repository in a directory. It ends with ctx or by Close.
func New(ctx context.Context, repo string) (*Judge, error) {
	j := &Judge{cmd: exec.CommandContext(ctx, "/usr/bin/python3", "-c", gitnames.Program+program, repo)}
	j.cmd.Stderr = &j.stderr
	var err error
	if j.stdin, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	j.answers = bufio.NewReaderSize(stdout, 1<<16)
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("svnjudge: %w (install python3-subversion)", err)
	}
	return j, nil
}

// Close ends the judge.
func (j *Judge) Close() error {
	j.stdin.Close()
	return j.cmd.Wait()
}

// Tree is the id of the Git tree of what is at path in a revision: without empty directories, with modes from
// svn:executable and svn:special, and the target alone as the content of a symbolic link. It is "" where there is no directory.
func (j *Judge) Tree(path string, revision int64) (string, error) {
	var tree string // null leaves it as it is
	err := j.ask(&tree, question{Ask: "tree", Path: path, Revision: revision})
	return tree, err
}

// Outside is the id of the Git tree of all files of a revision that are in none of some directories.
func (j *Judge) Outside(dirs []string, revision int64) (string, error) {
	var tree string
	err := j.ask(&tree, question{Ask: "outside", Dirs: dirs, Revision: revision})
	return tree, err
}

// Head is the newest revision.
func (j *Judge) Head() (int64, error) {
	var head int64
	err := j.ask(&head, question{Ask: "head"})
	return head, err
}

// Changes are the paths that a revision changed.
func (j *Judge) Changes(revision int64) ([]string, error) {
	var paths []string
	err := j.ask(&paths, question{Ask: "changes", Revision: revision})
	return paths, err
}

// Directories are the names of the directories in a directory.
func (j *Judge) Directories(path string, revision int64) ([]string, error) {
	var names []string
	err := j.ask(&names, question{Ask: "directories", Path: path, Revision: revision})
	return names, err
}

// Place is a path in a revision.
type Place struct {
	Path     string `json:"path"`
	Revision int64  `json:"revision"`
}

// Source is what the revision copied to path, by itself or with a directory above it; nil when it did not.
func (j *Judge) Source(path string, revision int64) (*Place, error) {
	var source *Place
	err := j.ask(&source, question{Ask: "source", Path: path, Revision: revision})
	return source, err
}

type question struct {
	Ask      string   `json:"ask"`
	Path     string   `json:"path"`
	Revision int64    `json:"revision"`
	Dirs     []string `json:"dirs"`
}

func (j *Judge) ask(answer any, q question) error {
	request, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err = j.stdin.Write(append(request, '\n')); err == nil {
		var line []byte
		if line, err = j.answers.ReadBytes('\n'); err == nil {
			return json.Unmarshal(line, answer)
		}
	}
	j.cmd.Wait() // it has died: stderr is complete after this
	return fmt.Errorf("svnjudge: %s: %w\n%s", request, err, j.stderr.String())
}
