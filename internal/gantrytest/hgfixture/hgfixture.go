// Package hgfixture makes real Mercurial repositories and servers for tests, with the hg of the machine. A test that needs
// it fails where it is missing.
package hgfixture

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Repo is a Mercurial repository on disk, removed when its test ends.
type Repo struct {
	Dir string

	rc   string // file of settings
	date int    // of the last commit
}

// New makes an empty repository. Settings are of the form section.name=value and hold for all that hg does with it.
func New(t testing.TB, settings ...string) *Repo {
	t.Helper()
	dir := t.TempDir()
	r := &Repo{Dir: filepath.Join(dir, "repo"), rc: filepath.Join(dir, "hgrc"), date: 1e9}
	writeSettings(t, r.rc, append([]string{"ui.username=alice <alice@example.org>", "ui.merge=:other"}, settings...))
	r.run(t, dir, nil, "init", r.Dir)
	return r
}

// Existing is the repository in a directory, whose settings are in a file.
func Existing(dir, settings string) *Repo { return &Repo{Dir: dir, rc: settings, date: 1e9} }

func writeSettings(t testing.TB, file string, settings []string) {
	t.Helper()
	var text strings.Builder
	for _, s := range settings {
		section, setting, _ := strings.Cut(s, ".")
		fmt.Fprintf(&text, "[%s]\n%s\n", section, setting)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Load adds a history. Its changesets are public.
func (r *Repo) Load(t testing.TB, h *History) {
	t.Helper()
	r.run(t, r.Dir, h.Bundle(), "unbundle", "-q", "/dev/stdin")
	r.Run(t, "phase", "-q", "-p", "-r", "all()")
}

// Mark gives the repository these bookmarks, of nodes, and no others.
func (r *Repo) Mark(t testing.TB, bookmarks map[string]string) {
	t.Helper()
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(bookmarks)) {
		fmt.Fprintf(&lines, "%s %s\n", bookmarks[name], name)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, ".hg", "bookmarks"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Run runs hg in the repository and returns what it says.
func (r *Repo) Run(t testing.TB, args ...string) string {
	t.Helper()
	return string(r.run(t, r.Dir, nil, args...))
}

func (r *Repo) run(t testing.TB, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := r.command(t, nil, "hg", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hg %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// command is a program with the repository's settings and some more, which hg takes from a file: who serves takes none
// from the command line.
func (r *Repo) command(t testing.TB, settings []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("hg"); err != nil {
		t.Fatal("hg is needed: install Debian's mercurial")
	}
	more := filepath.Join(t.TempDir(), "hgrc")
	writeSettings(t, more, settings)
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Dir(r.Dir)
	cmd.Env = append(os.Environ(), "HGPLAIN=1", "HGRCPATH="+r.rc+":"+more, "HGENCODING=UTF-8", "PYTHONUNBUFFERED=1")
	return cmd
}

// Write puts a file into the working directory.
func (r *Repo) Write(t testing.TB, path, content string) {
	t.Helper()
	name := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Commit commits the working directory as it is, a minute after the commit before it, and returns the changeset's node.
func (r *Repo) Commit(t testing.TB, message string, args ...string) (node string) {
	t.Helper()
	r.Run(t, append([]string{"commit", "-q", "-A", "-m", message, "-d", r.Date()}, args...)...)
	return r.Node(t, ".")
}

// Date is a minute after the last one, for commands that commit in another way.
func (r *Repo) Date() string {
	r.date += 60
	return strconv.Itoa(r.date) + " -7200"
}

// Node is the node of a revision, hidden or not.
func (r *Repo) Node(t testing.TB, revision string) string {
	t.Helper()
	return r.Run(t, "--hidden", "log", "-r", revision, "-T", "{node}")
}

// Bundle writes all that the repository shows, or what further arguments say, to a bundle of a type that hg knows, or
// "packed1", which is a stream of its files.
func (r *Repo) Bundle(t testing.TB, kind string, args ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "bundle.hg")
	switch {
	case kind == "packed1":
		r.Run(t, "debugcreatestreamclonebundle", file)
		return file
	case len(args) == 0:
		args = []string{"--all"}
	}
	r.Run(t, append([]string{"bundle", "-q", "-t", kind, file}, args...)...)
	return file
}

// Part is a repository with the first changesets of this one.
func (r *Repo) Part(t testing.TB, changesets int) *Repo {
	t.Helper()
	part := &Repo{Dir: filepath.Join(t.TempDir(), "repo"), rc: r.rc}
	args := []string{"clone", "-q", "-U", "--pull", r.Dir, part.Dir}
	for _, head := range strings.Fields(r.Run(t, "log", "-r", fmt.Sprintf("heads(:%d)", changesets-1), "-T", "{node}\n")) {
		args = append(args, "-r", head)
	}
	r.Run(t, args...)
	return part
}

// Changesets is how many the repository shows.
func (r *Repo) Changesets(t testing.TB) int {
	t.Helper()
	return strings.Count(r.Run(t, "log", "-T", "x\n"), "\n")
}
