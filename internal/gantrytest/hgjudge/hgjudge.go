// Package hgjudge says what is true about a Mercurial repository on disk, from hg itself and nothing of ours, and checks
// whole conversions against that. It needs hg, of which it is an extension.
package hgjudge

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/gitnames"
)

//go:embed judge.py
var program string

// Judge knows what one repository shows to others.
type Judge struct {
	Changesets []Changeset // in the order of the repository
	Branches   []Branch
	Bookmarks  map[string]string // nodes
	Tags       map[string]string // nodes
}

// Changeset is what a commit has to say.
type Changeset struct {
	Node        string   `json:"node"`
	Parents     []string `json:"parents"`
	Tree        string   `json:"tree"` // id in Git
	User        string   `json:"user"`
	Seconds     int64    `json:"seconds"`
	West        int      `json:"west"` // seconds west of UTC
	Description string   `json:"description"`
	Branch      string   `json:"branch"`
}

// Branch has the heads of a branch in the order of the repository.
type Branch struct {
	Name   string   `json:"name"`
	Open   []string `json:"open"`
	Closed []string `json:"closed"`
}

// Open is New for a test.
func Open(t testing.TB, repo string) *Judge {
	t.Helper()
	j, err := New(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// New asks hg about the repository in a directory.
func New(ctx context.Context, repo string) (*Judge, error) {
	dir, err := os.MkdirTemp("", "hgjudge-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	extension := filepath.Join(dir, "judge.py")
	if err := os.WriteFile(extension, []byte(gitnames.Program+program), 0o600); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("hg"); err != nil {
		return nil, fmt.Errorf("hgjudge: %w (install mercurial)", err)
	}
	cmd := exec.CommandContext(ctx, "hg", "-R", repo, "--config", "extensions.gantryjudge="+extension, "--config", "extensions.lfs=",
		"--config", "censor.policy=ignore", "--config", "extensions.largefiles=!", "gantryjudge")
	cmd.Env = append(os.Environ(), "HGRCPATH=", "HGPLAIN=1", "HGENCODING=UTF-8")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("hgjudge: %s: %w\n%s", repo, err, stderr.Bytes())
	}
	j := &Judge{}
	lines := strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		var c Changeset
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, fmt.Errorf("hgjudge: %w", err)
		}
		j.Changesets = append(j.Changesets, c)
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), j); err != nil {
		return nil, fmt.Errorf("hgjudge: %w", err)
	}
	return j, nil
}
