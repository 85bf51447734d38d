// Command convert compares converters of Subversion repositories: what each costs on the same invented project. It
// builds the repository on first use, serves it with svnserve, runs gantry and the other converters that the machine
// has, one after the other, and prints a table. See ../README.md.
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
	"strings"

	"gantry/bench/corpus"
	"gantry/bench/synth"
	"gantry/internal/gantrytest/svnjudge"
)

type options struct {
	revisions int
	seed      uint64
	gantry    string
	out       string
	gitSVN    int
	verify    bool
	only      string
}

func main() {
	var opt options
	flag.IntVar(&opt.revisions, "revisions", 5000, "size of the project")
	flag.Uint64Var(&opt.seed, "seed", 1, "which project")
	flag.StringVar(&opt.gantry, "gantry", "", "the gantry command to measure (default: built from this source)")
	flag.StringVar(&opt.out, "out", "bench/out", "directory for repositories and results")
	flag.IntVar(&opt.gitSVN, "git-svn", 300, "revisions that git svn converts; it would take an hour for all")
	flag.BoolVar(&opt.verify, "verify", false, "let libsvn check every commit of gantry")
	flag.StringVar(&opt.only, "only", "", "the one converter to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "bench/convert:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opt options) error {
	out, err := filepath.Abs(opt.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "a project of %d revisions ...\n", opt.revisions)
	project, err := corpus.BuildSubversion(ctx, out, synth.Params{Seed: opt.seed, Revisions: opt.revisions})
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
	server, err := serve(ctx, project.Repo)
	if err != nil {
		return err
	}
	defer server.stop()

	mapFile := filepath.Join(work, "map")
	report := Report{Project: *project.Facts}
	var gantryDir string
	for _, c := range []contestant{
		gantry(opt.gantry, server.url, work, mapFile, opt.revisions),
		allFastExport(project.Repo, work, opt.revisions),
		gitSVN(server.url, work, min(opt.gitSVN, opt.revisions)),
	} {
		if opt.only != "" && opt.only != c.name {
			continue
		}
		if _, err := exec.LookPath(c.needs); err != nil {
			fmt.Fprintf(os.Stderr, "%s is not installed\n", c.name)
			continue
		}
		fmt.Fprintf(os.Stderr, "%s ...\n", c.name)
		row, err := c.run(ctx, server)
		if err != nil {
			return err
		}
		if c.name == nameGantry {
			gantryDir = c.result
		}
		report.Rows = append(report.Rows, row)
	}
	if len(report.Rows) == 0 {
		return errors.New("there is nothing to run")
	}
	report.print(os.Stdout)
	if err := report.save(filepath.Join(out, "convert.json")); err != nil {
		return err
	}
	if !opt.verify || gantryDir == "" {
		return nil
	}
	judge, err := svnjudge.New(ctx, project.Repo)
	if err != nil {
		return err
	}
	defer judge.Close()
	commits, err := judge.Check(ctx, mapFile, gantryDir)
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

// lastLines are the end of a log, to show in an error.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
