// Package svnfixture makes real Subversion repositories and servers for tests, with the svn tools of the machine. A test
// that needs them fails where they are missing.
package svnfixture

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Repo is a Subversion repository on disk, removed when its test ends.
type Repo struct {
	Dir  string // the repository
	Root string // the directory that holds it, for Serve; its address there is svn://ADDR/repo
}

// NewRepo makes an empty repository.
func NewRepo(t testing.TB) *Repo {
	t.Helper()
	root := t.TempDir()
	r := &Repo{Dir: filepath.Join(root, "repo"), Root: root}
	run(t, nil, "svnadmin", "create", r.Dir)
	return r
}

// NewStandardRepo makes a repository that holds Standard.
func NewStandardRepo(t testing.TB) *Repo {
	t.Helper()
	r := NewRepo(t)
	r.Load(t, Standard().Bytes())
	return r
}

// Load adds the revisions of a dump and takes over its UUID, unless further arguments of svnadmin load say otherwise.
func (r *Repo) Load(t testing.TB, dump []byte, args ...string) {
	t.Helper()
	r.LoadFrom(t, bytes.NewReader(dump), args...)
}

// LoadFrom is Load of a dump that need not be in memory.
func (r *Repo) LoadFrom(t testing.TB, dump io.Reader, args ...string) {
	t.Helper()
	run(t, dump, "svnadmin", append([]string{"load", "-q", "--no-flush-to-disk", "--force-uuid", "--bypass-prop-validation", r.Dir}, args...)...)
}

// Filter is what svndumpfilter makes of a dump.
func Filter(t testing.TB, dump []byte, args ...string) []byte {
	t.Helper()
	return run(t, bytes.NewReader(dump), "svndumpfilter", append([]string{args[0], "--quiet"}, args[1:]...)...)
}

// Mirror makes of an empty repository what svnsync makes of another one, as far as its server shows that.
func (r *Repo) Mirror(t testing.TB, address string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.Dir, "hooks", "pre-revprop-change"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "svnsync", "init", "-q", "--non-interactive", r.URL(), address)
	run(t, nil, "svnsync", "sync", "-q", "--non-interactive", r.URL())
}

// Strip takes a property away from a revision.
func (r *Repo) Strip(t testing.TB, rev int64, name string) {
	t.Helper()
	run(t, nil, "svnadmin", "delrevprop", r.Dir, "-r", strconv.FormatInt(rev, 10), name)
}

// Dump is what svnadmin dump says of the repository: format 2, or format 3 with --deltas among the arguments.
func (r *Repo) Dump(t testing.TB, args ...string) []byte {
	t.Helper()
	return run(t, nil, "svnadmin", append([]string{"dump", "-q", r.Dir}, args...)...)
}

// Commit runs svnmucc with actions whose paths are relative to the repository's root, such as "mkdir", "trunk".
func (r *Repo) Commit(t testing.TB, author, message string, actions ...string) {
	t.Helper()
	args := []string{"--non-interactive", "--no-auth-cache", "-u", author, "-m", message, "-U", r.URL()}
	run(t, nil, "svnmucc", append(args, actions...)...)
}

// Head is the newest revision.
func (r *Repo) Head(t testing.TB) int64 {
	t.Helper()
	head, err := strconv.ParseInt(strings.TrimSpace(string(run(t, nil, "svnlook", "youngest", r.Dir))), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// Export writes the tree of a directory as of a revision into a new directory, the way svn export does: symbolic links
// and the executable bit are made, keywords are not expanded.
func (r *Repo) Export(t testing.TB, path string, rev int64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "export")
	run(t, nil, "svn", "export", "-q", "--non-interactive", "--ignore-externals", "--ignore-keywords", r.At(path, rev), dir)
	return dir
}

// URL is the repository's file address.
func (r *Repo) URL() string { return (&url.URL{Scheme: "file", Path: r.Dir}).String() }

// At is the file address of a path as of a revision, for the svn tools.
func (r *Repo) At(path string, rev int64) string {
	address := (&url.URL{Scheme: "file", Path: r.Dir}).JoinPath(path).String()
	return address + "@" + strconv.FormatInt(rev, 10)
}

// run gives a tool an empty configuration and a UTF-8 locale, which svn needs for names beyond ASCII.
func run(t testing.TB, stdin io.Reader, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is needed: install Debian's subversion", name)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+t.TempDir())
	cmd.Stdin = stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes()))
	}
	return stdout.Bytes()
}
