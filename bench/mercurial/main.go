// Command mercurial compares converters of Mercurial repositories: what each costs on the same invented project. It
// builds the repository on first use, serves it with hg, runs gantry and the other converters that the machine has, one
// after the other, and prints a table and what it says of gantry's goals. See ../README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"gantry/bench/contest"
	"gantry/bench/corpus"
	"gantry/bench/synth"
)

type options struct {
	revisions int
	seed      uint64
	gantry    string
	out       string
	only      string
}

func main() {
	var opt options
	flag.IntVar(&opt.revisions, "revisions", 20000, "size of the project")
	flag.Uint64Var(&opt.seed, "seed", 1, "which project")
	flag.StringVar(&opt.gantry, "gantry", "", "the gantry command to measure (default: built from this source)")
	flag.StringVar(&opt.out, "out", "bench/out", "directory for repositories and results")
	flag.StringVar(&opt.only, "only", "", "a regular expression: only converters whose names and inputs match")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "bench/mercurial:", err)
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
	f := &field{gantry: opt.gantry}
	if f.project, err = build(ctx, out, opt.seed, opt.revisions); err != nil {
		return err
	}
	if f.quarter, err = build(ctx, out, opt.seed, opt.revisions/4); err != nil {
		return err
	}
	if f.work, err = os.MkdirTemp(out, "mercurial-"); err != nil {
		return err
	}
	defer os.RemoveAll(f.work)
	if f.gantry == "" {
		if f.gantry, err = contest.BuildGantry(ctx, f.work); err != nil {
			return err
		}
	}
	if f.streams, err = f.serve(ctx, true); err != nil {
		return err
	}
	defer f.streams.Stop()
	if f.pulls, err = f.serve(ctx, false); err != nil {
		return err
	}
	defer f.pulls.Stop()

	arena := &contest.Arena{Dir: f.work, Only: only, File: filepath.Join(out, "mercurial.json"), Report: contest.Report{Project: f.project.Facts}}
	for _, c := range f.contestants() {
		arena.Run(ctx, c)
	}
	arena.Print(os.Stdout)
	arena.PrintGoals(os.Stdout, goals)
	return arena.Err()
}

func build(ctx context.Context, out string, seed uint64, revisions int) (*corpus.Mercurial, error) {
	fmt.Fprintf(os.Stderr, "a project of %d revisions ...\n", revisions)
	return corpus.BuildMercurial(ctx, out, synth.Params{Seed: seed, Revisions: revisions})
}
