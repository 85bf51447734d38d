// Command convert compares converters of Subversion repositories: what each costs on the same invented project. It
// builds the repository on first use, serves it with svnserve and Apache, runs gantry and the other converters that the
// machine has, one after the other, and prints a table and what it says of gantry's goals. See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"gantry/bench/contest"
	"gantry/bench/corpus"
	"gantry/bench/synth"
	"gantry/internal/gantrytest/svnjudge"
)

type options struct {
	revisions int
	seed      uint64
	gantry    string
	out       string
	first     int
	roundTrip time.Duration
	verify    bool
	only      string
}

func main() {
	var opt options
	flag.IntVar(&opt.revisions, "revisions", 5000, "size of the project")
	flag.Uint64Var(&opt.seed, "seed", 1, "which project")
	flag.StringVar(&opt.gantry, "gantry", "", "the gantry command to measure (default: built from this source)")
	flag.StringVar(&opt.out, "out", "bench/out", "directory for repositories and results")
	flag.IntVar(&opt.first, "first", 300, "revisions that git svn converts, and svnrdump from far away; all would take an hour")
	flag.DurationVar(&opt.roundTrip, "round-trip", 50*time.Millisecond, "how far away the server is, where it is")
	flag.BoolVar(&opt.verify, "verify", false, "let libsvn check every commit of gantry")
	flag.StringVar(&opt.only, "only", "", "a regular expression: only converters whose names and inputs match")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "bench/convert:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opt options) error {
	only, err := regexp.Compile(opt.only)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(opt.out)
	if err != nil {
		return err
	}
	project, err := build(ctx, out, opt.seed, opt.revisions)
	if err != nil {
		return err
	}
	quarter, err := build(ctx, out, opt.seed, opt.revisions/4)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(out, "convert-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if opt.gantry == "" {
		if opt.gantry, err = contest.BuildGantry(ctx, work); err != nil {
			return err
		}
	}
	served := filepath.Join(work, "served")
	if err := link(served, map[string]string{"project": project.Repo, "quarter": quarter.Repo}); err != nil {
		return err
	}
	f := &field{
		gantry: opt.gantry, repo: project.Repo, revisions: opt.revisions, first: min(opt.first, opt.revisions), work: work,
	}
	if f.svn, err = startSVNServe(ctx, served); err != nil {
		return err
	}
	defer f.svn.Stop()
	if f.apache, err = startApache(ctx, served, work); err != nil {
		return err
	}
	defer f.apache.Stop()
	away, err := newDistance(f.apache.Host(), opt.roundTrip)
	if err != nil {
		return err
	}
	defer away.close()
	f.far = away.address()

	arena := &contest.Arena{Dir: work, Only: only, File: filepath.Join(out, "convert.json"), Report: contest.Report{Project: project.Facts}}
	failed := f.runAll(ctx, arena)
	arena.Print(os.Stdout)
	arena.PrintGoals(os.Stdout, goals)
	if _, ran := arena.Row(overSVN); !ran || !opt.verify {
		return failed
	}
	return errors.Join(failed, f.verify(ctx))
}

func build(ctx context.Context, out string, seed uint64, revisions int) (*corpus.Subversion, error) {
	fmt.Fprintf(os.Stderr, "a project of %d revisions ...\n", revisions)
	return corpus.BuildSubversion(ctx, out, synth.Params{Seed: seed, Revisions: revisions})
}

// link makes a directory for a server of repositories under other names.
func link(dir string, repos map[string]string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, repo := range repos {
		if err := os.Symlink(repo, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// runAll measures one after the other.
func (f *field) runAll(ctx context.Context, arena *contest.Arena) error {
	for _, c := range f.contestants() {
		arena.Run(ctx, c)
	}
	arena.Measure(ctx, contest.Entry(remapName, byStaging), func() (contest.Row, error) {
		return remap(ctx, f.svn.URL("project"), f.work, f.revisions)
	})
	return arena.Err()
}

// verify has libsvn check the commits that gantry made over svn://.
func (f *field) verify(ctx context.Context) error {
	judge, err := svnjudge.New(ctx, f.repo)
	if err != nil {
		return err
	}
	defer judge.Close()
	commits, err := judge.Check(ctx, f.mapFile(overSVN), f.result(overSVN))
	if err != nil {
		return err
	}
	fmt.Printf("\nverified: the trees of all %d commits are those that libsvn has, and none is missing\n", commits)
	return nil
}
