package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"gantry/bench/contest"
	"gantry/bench/corpus"
)

// Inputs, as the table names them. The same server gives a whole store as it is, or changesets one after the other.
const (
	byStream = "http://, stream"
	byPull   = "http://, pull"
	byBundle = "bundle file"
)

// Contestants.
var (
	overStream    = contest.Entry("gantry", byStream)
	overPull      = contest.Entry("gantry", byPull)
	fromBundle    = contest.Entry("gantry", byBundle)
	quarterStream = contest.Entry("gantry, a quarter", byStream)
	quarterPull   = contest.Entry("gantry, a quarter", byPull)
	cloneStream   = contest.Entry("hg clone", byStream)
	clonePull     = contest.Entry("hg clone", byPull)
	cinnabar      = contest.Entry("git-cinnabar", byPull)
	fastExport    = contest.Entry("hg-fast-export", "its clone, by stream")
	hgGit         = contest.Entry("hg-git", "its clone, by stream")
	repack        = contest.Entry("git repack -adf", "gantry's result")
)

// goals for two cores, which gantry shares with the server.
var goals = []contest.Goal{
	contest.AtLeast(25, "times as fast as hg-fast-export with its clone", contest.Faster, overStream, fastExport),
	contest.AtLeast(25, "times as fast as hg-git with its clone", contest.Faster, overStream, hgGit),
	contest.AtLeast(3, "times as fast as git-cinnabar", contest.Faster, overPull, cinnabar),
	contest.AtMost(6, "times the time of hg clone, by stream", contest.Faster, cloneStream, overStream),
	contest.AtMost(1.3, "times the time of hg clone, by pull", contest.Faster, clonePull, overPull),
	contest.AtMost(5, "seconds of processor time, by stream", contest.CPUSeconds, overStream, overStream),
	contest.AtMost(5, "seconds of processor time, by pull", contest.CPUSeconds, overPull, overPull),
	contest.AtMost(300, "MB of memory, by stream", contest.Megabytes, overStream, overStream),
	contest.AtMost(300, "MB of memory, by pull", contest.Megabytes, overPull, overPull),
	contest.AtMost(1.2, "times the memory for a quarter of the history, by stream", contest.MoreMemory, quarterStream, overStream),
	contest.AtMost(1.2, "times the memory for a quarter of the history, by pull", contest.MoreMemory, quarterPull, overPull),
	contest.AtMost(2.5, "times the size of what git repack -adf makes", contest.Larger, repack, overStream),
}

// field is all that contestants are made from.
type field struct {
	gantry           string
	project, quarter *corpus.Mercurial
	streams, pulls   *contest.Server
	work             string
}

// serve starts a server of both projects, which gives whole stores or does not.
func (f *field) serve(ctx context.Context, stores bool) (*contest.Server, error) {
	address, err := contest.FreeAddress()
	if err != nil {
		return nil, err
	}
	repos := fmt.Sprintf("[paths]\nproject = %s\nquarter = %s\n", f.project.Repo, f.quarter.Repo)
	file := filepath.Join(f.work, "hgweb.conf")
	if err := os.WriteFile(file, []byte(repos), 0o600); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "hg", "serve", "--web-conf", file, "--address", host, "--port", port,
		"--config", fmt.Sprintf("server.uncompressed=%t", stores), "--accesslog", os.DevNull, "--errorlog", os.DevNull)
	cmd.Env = append(os.Environ(), contest.PlainHg...)
	return contest.Start(ctx, cmd, url.URL{Scheme: "http", Host: address})
}

func (f *field) contestants() []contest.Contestant {
	return []contest.Contestant{
		f.convert(overStream, f.streams.URL("project"), f.streams, f.project),
		f.convert(quarterStream, f.streams.URL("quarter"), f.streams, f.quarter),
		f.convert(overPull, f.pulls.URL("project"), f.pulls, f.project),
		f.convert(quarterPull, f.pulls.URL("quarter"), f.pulls, f.quarter),
		f.convert(fromBundle, f.project.Bundle, nil, f.project),
		f.clone(cloneStream, f.streams, "--stream"),
		f.clone(clonePull, f.pulls, "--pull"),
		{
			Key: cinnabar, Needs: []string{"git-remote-hg", "git-cinnabar"},
			Args:   []string{"git", "clone", "--quiet", "--mirror", "hg::" + f.pulls.URL("project"), f.result(cinnabar)},
			Result: f.result(cinnabar), Revisions: f.project.Facts.Changesets, Server: f.pulls,
		},
		f.afterClone(hgGit, "hg -R clone --config extensions.hggit= --quiet gexport\nmv clone/.hg/git %[2]s",
			"/usr/lib/python3/dist-packages/hggit/__init__.py"),
		f.afterClone(fastExport, "git init --quiet --bare %[2]s\ncd %[2]s\nGIT_DIR=. hg-fast-export.sh --quiet -r ../clone --force", "hg-fast-export.sh"),
		{
			Key:    repack,
			Args:   []string{"git", "-C", f.result(overStream), "repack", "-adfq"},
			Result: f.result(overStream), Revisions: f.project.Facts.Changesets,
		},
	}
}

// result is where a contestant puts its repository.
func (f *field) result(k contest.Key) string { return filepath.Join(f.work, k.FileName()) }

func (f *field) convert(k contest.Key, address string, s *contest.Server, project *corpus.Mercurial) contest.Contestant {
	return contest.Contestant{
		Key: k, Args: []string{f.gantry, "convert", address, f.result(k)},
		Result: f.result(k), Revisions: project.Facts.Changesets, Server: s,
	}
}

// clone only reads, by Mercurial's own program.
func (f *field) clone(k contest.Key, s *contest.Server, way string) contest.Contestant {
	return contest.Contestant{
		Key: k, Args: []string{"hg", "clone", "--quiet", "--noupdate", way, s.URL("project"), f.result(k)},
		Revisions: f.project.Facts.Changesets, Server: s,
	}
}

// afterClone is a program that reads a clone, which has to be made first. The program's %[2]s is its result.
func (f *field) afterClone(k contest.Key, program string, needs ...string) contest.Contestant {
	script := fmt.Sprintf("rm -rf clone\nhg clone --quiet --noupdate --stream '%[1]s' clone\n"+program, f.streams.URL("project"), k.FileName())
	return contest.Contestant{
		Key: k, Needs: append(needs, "hg"), Args: []string{"sh", "-ec", script},
		Result: f.result(k), Revisions: f.project.Facts.Changesets, Server: f.streams,
	}
}
