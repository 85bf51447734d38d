package corpus

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"gantry/bench/synth"
	"gantry/bench/synth/hgbundle"
)

// hgVersion is to grow whenever synth or hgbundle tell the same parameters differently.
const hgVersion = 1

// Mercurial is an invented project in a Mercurial repository.
type Mercurial struct {
	Repo   string // the repository's directory
	Bundle string // a file with all of it, as hg writes it
	Facts  *hgbundle.Facts
}

// BuildMercurial returns the repository of p, which it makes below dir when it is not there yet.
func BuildMercurial(ctx context.Context, dir string, p synth.Params) (*Mercurial, error) {
	name := fmt.Sprintf("hg-%d-%d-v%d", p.Revisions, p.Seed, hgVersion)
	dir, facts, err := keep(dir, name, func(dir string) (*hgbundle.Facts, error) { return unbundle(ctx, dir, p) })
	return &Mercurial{filepath.Join(dir, repoName), filepath.Join(dir, bundleName), facts}, err
}

const (
	repoName   = "repo"
	bundleName = "all.hg"
)

// unbundle pipes the history into hg. Its changesets are public, as those are that a server has.
func unbundle(ctx context.Context, dir string, p synth.Params) (*hgbundle.Facts, error) {
	hg := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "hg", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HGRCPATH=", "HGPLAIN=1")
		return cmd
	}
	if out, err := hg("init", repoName).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("hg init: %w\n%s", err, out)
	}
	facts, err := pipe(hg("-R", repoName, "unbundle", "--quiet", "/dev/stdin"), func(w io.Writer) (*hgbundle.Facts, error) {
		return hgbundle.Write(w, synth.Revisions(p))
	})
	if err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"phase", "--quiet", "--public", "--rev", "all()"},
		{"bundle", "--quiet", "--all", "--type", "zstd-v2", filepath.Join("..", bundleName)},
	} {
		cmd := hg(args...)
		cmd.Dir = filepath.Join(dir, repoName)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return facts, nil
}
