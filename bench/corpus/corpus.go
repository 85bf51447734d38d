// Package corpus builds the repositories that benchmarks read, and keeps them for the next run.
package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"gantry/bench/synth"
	"gantry/bench/synth/svndump"
)

// version is to grow whenever synth or svndump tell the same parameters differently.
const version = 2

// Subversion is an invented project in a Subversion repository.
type Subversion struct {
	Repo  string // the repository's directory
	Facts *svndump.Facts
}

// BuildSubversion returns the repository of p, which it makes below dir when it is not there yet.
func BuildSubversion(ctx context.Context, dir string, p synth.Params) (*Subversion, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	final := filepath.Join(dir, fmt.Sprintf("svn-%d-%d-v%d", p.Revisions, p.Seed, version))
	if c, err := openSubversion(final); !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	half, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(half)
	facts, err := load(ctx, filepath.Join(half, "repo"), p)
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	data, err := json.MarshalIndent(facts, "", "\t")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(half, "facts.json"), data, 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(half, final); err != nil {
		return nil, err
	}
	return openSubversion(final)
}

func openSubversion(dir string) (*Subversion, error) {
	data, err := os.ReadFile(filepath.Join(dir, "facts.json"))
	if err != nil {
		return nil, err
	}
	c := &Subversion{Repo: filepath.Join(dir, "repo")}
	return c, json.Unmarshal(data, &c.Facts)
}

// load pipes the history into svnadmin.
func load(ctx context.Context, repo string, p synth.Params) (*svndump.Facts, error) {
	if out, err := exec.CommandContext(ctx, "svnadmin", "create", repo).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("svnadmin create: %w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, "svnadmin", "load", "--quiet", "--no-flush-to-disk", "-M", "256", repo)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	uuid := fmt.Sprintf("67616e74-7279-4000-8000-%012x", p.Seed&0xffffffffffff)
	facts, writeErr := svndump.Write(stdin, uuid, synth.Revisions(p))
	if errors.Is(writeErr, io.ErrClosedPipe) {
		writeErr = nil // svnadmin has left: its own error tells why
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("svnadmin load: %w", err)
	}
	return facts, writeErr
}
