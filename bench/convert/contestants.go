package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"gantry/bench/contest"
)

// Inputs, as the table and the goals name them.
const (
	bySVN   = "svn://"
	byHTTP  = "http://"
	byFar   = "http:// far"
	byFiles = "local files"
	byDump  = "local, by dump"

	byRepository = "gantry's result"
)

// Names of contestants.
const (
	gantryName        = "gantry"
	smallName         = "gantry, a quarter"
	allFastExportName = "svn-all-fast-export"
	reposurgeonName   = "reposurgeon"
	gitSVNName        = "git svn"
	svnrdumpName      = "svnrdump"
	repackName        = "git repack -adf"
)

// field is all that contestants are made from.
type field struct {
	gantry      string
	repo        string // the project's, on disk
	svn, apache *contest.Server
	far         string // host and port of apache from a distance
	revisions   int
	first       int // how many of them the slow ones get
	work        string
}

func (f *field) contestants() []contest.Contestant {
	surgeon := f.byDump(contest.Entry(reposurgeonName, byDump), "", "reposurgeon 'read <dump' 'prefer git' 'rebuild %s'")
	surgeon.Needs = append(surgeon.Needs, "reposurgeon")
	return []contest.Contestant{
		f.convert(overSVN, f.svn.URL("project"), f.svn, f.revisions),
		f.convert(contest.Entry(smallName, bySVN), f.svn.URL("quarter"), f.svn, f.revisions/4),
		f.convert(contest.Entry(gantryName, byHTTP), f.apache.URL("project"), f.apache, f.revisions),
		f.byDump(contest.Entry(gantryName, byDump), "--deltas", f.gantry+" convert dump %s"),
		f.svnrdump(bySVN, f.svn.URL("project"), f.svn, f.revisions),
		f.svnrdump(byHTTP, f.apache.URL("project"), f.apache, f.revisions),
		f.convert(contest.Entry(gantryName, byFar), f.apache.URLAt(f.far, "project"), f.apache, f.revisions),
		f.svnrdump(byFar, f.apache.URLAt(f.far, "project"), f.apache, f.first),
		{
			Key:    contest.Entry(allFastExportName, byFiles),
			Args:   []string{"svn-all-fast-export", "--rules", filepath.Join(f.work, "rules"), f.repo},
			Files:  map[string]string{"rules": rules},
			Result: filepath.Join(f.work, "result"), Revisions: f.revisions,
		},
		surgeon,
		{
			Key: contest.Entry(gitSVNName, bySVN), Needs: []string{"/usr/lib/git-core/git-svn"},
			Args: []string{
				"git", "svn", "clone", "--quiet", "--stdlayout", "--revision", "1:" + strconv.Itoa(f.first),
				f.svn.URL("project"), "git-svn",
			},
			Result: filepath.Join(f.work, "git-svn"), Revisions: f.first, Server: f.svn,
		},
		{
			Key:    contest.Entry(repackName, byRepository),
			Args:   []string{"git", "-C", f.result(overSVN), "repack", "-adfq"},
			Result: f.result(overSVN), Revisions: f.revisions,
		},
	}
}

// result is where a contestant puts its repository.
func (f *field) result(k contest.Key) string { return filepath.Join(f.work, k.FileName()) }

func (f *field) mapFile(k contest.Key) string { return f.result(k) + ".map" }

func (f *field) convert(k contest.Key, address string, s *contest.Server, revisions int) contest.Contestant {
	return contest.Contestant{
		Key: k, Args: []string{f.gantry, "convert", address, f.result(k), "--map", f.mapFile(k)},
		Result: f.result(k), Revisions: revisions, Server: s,
	}
}

// byDump is a program that reads a dump, which has to be made first. The program's %s is its result.
func (f *field) byDump(k contest.Key, form, program string) contest.Contestant {
	script := fmt.Sprintf("svnadmin dump --quiet %s '%s' >dump\n%s\nrm dump", form, f.repo, fmt.Sprintf(program, f.result(k)))
	return contest.Contestant{
		Key: k, Needs: []string{"svnadmin"}, Args: []string{"sh", "-ec", script},
		Result: f.result(k), Revisions: f.revisions,
	}
}

func (f *field) svnrdump(input, address string, s *contest.Server, revisions int) contest.Contestant {
	script := fmt.Sprintf("svnrdump dump --quiet --revision 0:%d '%s' >/dev/null", revisions, address)
	return contest.Contestant{
		Key: contest.Entry(svnrdumpName, input), Needs: []string{"svnrdump"}, Args: []string{"sh", "-ec", script},
		Revisions: revisions, Server: s,
	}
}

// rules are what svn-all-fast-export needs to know of the usual layout.
const rules = `create repository result
end repository

match /trunk/
  repository result
  branch master
end match

match /branches/([^/]+)/
  repository result
  branch \1
end match

match /tags/([^/]+)/
  repository result
  branch refs/tags/\1
end match

match /(branches|tags)/$
end match
`
