// Package gitfixture gives tests a scripted Git repository, and real servers for it: git http-backend, git daemon, sshd.
package gitfixture

import (
	"bytes"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// history is a git-fast-import(1) stream: branches, merges, annotated and light tags, several authors, odd names.
//
//go:embed history.fi
var history []byte

// Figures of the scripted repository.
const (
	Commits  = 9
	Branches = 4 // main, release/1.0, feature/odd-names, orphan
	Tags     = 3 // v1.0 (annotated), v1.1-light, docs/first (annotated)
	Authors  = 5
)

// Repository makes the scripted repository in a new directory root, as root/name (bare, HEAD on main), and returns root.
func Repository(t testing.TB, name string) (root string) {
	t.Helper()
	root = t.TempDir()
	Fill(t, filepath.Join(root, name), history)
	return root
}

// Fill makes a bare repository at dir from a git-fast-import(1) stream.
func Fill(t testing.TB, dir string, stream []byte) {
	t.Helper()
	Git(t, "", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	cmd := command(dir, "fast-import", "--quiet", "--date-format=raw")
	cmd.Stdin = bytes.NewReader(stream)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// Git runs git in dir with an empty environment and returns what it writes, trimmed.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := command(dir, args...).Output()
	if err != nil {
		var said []byte
		if exit, ok := err.(*exec.ExitError); ok {
			said = exit.Stderr
		}
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(string(out))
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Fixture", "GIT_AUTHOR_EMAIL=fixture@example.org", "GIT_COMMITTER_NAME=Fixture", "GIT_COMMITTER_EMAIL=fixture@example.org",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	return cmd
}
