package corpus

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"gantry/bench/synth"
	"gantry/bench/synth/svndump"
)

// svnVersion is to grow whenever synth or svndump tell the same parameters differently.
const svnVersion = 2

// Subversion is an invented project in a Subversion repository.
type Subversion struct {
	Repo  string // the repository's directory
	Facts *svndump.Facts
}

// BuildSubversion returns the repository of p, which it makes below dir when it is not there yet.
func BuildSubversion(ctx context.Context, dir string, p synth.Params) (*Subversion, error) {
	name := fmt.Sprintf("svn-%d-%d-v%d", p.Revisions, p.Seed, svnVersion)
	dir, facts, err := keep(dir, name, func(dir string) (*svndump.Facts, error) {
		return load(ctx, filepath.Join(dir, "repo"), p)
	})
	return &Subversion{filepath.Join(dir, "repo"), facts}, err
}

// load pipes the history into svnadmin.
func load(ctx context.Context, repo string, p synth.Params) (*svndump.Facts, error) {
	if out, err := exec.CommandContext(ctx, "svnadmin", "create", repo).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("svnadmin create: %w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, "svnadmin", "load", "--quiet", "--no-flush-to-disk", "-M", "256", repo)
	uuid := fmt.Sprintf("67616e74-7279-4000-8000-%012x", p.Seed&0xffffffffffff)
	return pipe(cmd, func(w io.Writer) (*svndump.Facts, error) { return svndump.Write(w, uuid, synth.Revisions(p)) })
}
