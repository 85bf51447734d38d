// Command convert compares converters of Subversion repositories: what each costs on the same invented project. It
// builds the repository on first use, serves it with svnserve and Apache, runs gantry and the other converters that the
// machine has, one after the other, and prints a table and what it says of gantry's goals. See ../README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

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
		opt.gantry = filepath.Join(work, "gantry")
		if text, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", opt.gantry, "gantry/cmd/gantry").CombinedOutput(); err != nil {
			return fmt.Errorf("building gantry: %w\n%s", err, text)
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
	defer f.svn.stop()
	if f.apache, err = startApache(ctx, served, work); err != nil {
		return err
	}
	defer f.apache.stop()
	away, err := newDistance(f.apache.base.Host, opt.roundTrip)
	if err != nil {
		return err
	}
	defer away.close()
	f.far = away.address()

	report := &Report{Project: *project.Facts}
	failed := f.runAll(ctx, report, only, filepath.Join(out, "convert.json"))
	if len(report.Rows) == 0 {
		return errors.Join(failed, errors.New("nothing was measured"))
	}
	report.print(os.Stdout)
	if _, ran := report.row(overSVN); !ran || !opt.verify {
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

// runAll measures one after the other, and saves the report after each. One that fails does not keep the others from running.
func (f *field) runAll(ctx context.Context, report *Report, only *regexp.Regexp, file string) error {
	var failed []error
	measured := func(name, input string, run func() (Row, error)) {
		if !only.MatchString(name+" "+input) || ctx.Err() != nil {
			return
		}
		fmt.Fprintf(os.Stderr, "%s, %s ...\n", name, input)
		row, err := run()
		if err == nil {
			report.Rows = append(report.Rows, row)
			err = report.save(file)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	for _, c := range f.contestants() {
		if program, missing := c.missing(); missing {
			fmt.Fprintf(os.Stderr, "%s: %s is not installed\n", c.name, program)
			continue
		}
		measured(c.name, c.input, func() (Row, error) { return c.run(ctx, f.work) })
	}
	measured(remapName, byStaging, func() (Row, error) { return remap(ctx, f.svn.url("project"), f.work, f.revisions) })
	return errors.Join(append(failed, ctx.Err())...)
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

func (r *Report) save(path string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
