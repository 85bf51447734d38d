package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"gantry/bench/measure"
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

// contestant is one program with its command line.
type contestant struct {
	key
	needs     []string // programs that must be there, beside the first of args
	args      []string
	files     map[string]string // to write before, by name in the working directory
	result    string            // repository that it makes; "" makes none
	revisions int               // how many it reads
	server    *server           // that it reads from; may be nil
}

// field is all that contestants are made from.
type field struct {
	gantry      string
	repo        string // the project's, on disk
	svn, apache *server
	far         string // host and port of apache from a distance
	revisions   int
	first       int // how many of them the slow ones get
	work        string
}

func (f *field) contestants() []contestant {
	surgeon := f.byDump(key{reposurgeonName, byDump}, "", "reposurgeon 'read <dump' 'prefer git' 'rebuild %s'")
	surgeon.needs = append(surgeon.needs, "reposurgeon")
	return []contestant{
		f.convert(overSVN, f.svn.url("project"), f.svn, f.revisions),
		f.convert(key{smallName, bySVN}, f.svn.url("quarter"), f.svn, f.revisions/4),
		f.convert(key{gantryName, byHTTP}, f.apache.url("project"), f.apache, f.revisions),
		f.byDump(key{gantryName, byDump}, "--deltas", f.gantry+" convert dump %s"),
		f.svnrdump(bySVN, f.svn.url("project"), f.svn, f.revisions),
		f.svnrdump(byHTTP, f.apache.url("project"), f.apache, f.revisions),
		f.convert(key{gantryName, byFar}, f.apache.urlAt(f.far, "project"), f.apache, f.revisions),
		f.svnrdump(byFar, f.apache.urlAt(f.far, "project"), f.apache, f.first),
		{
			key:    key{allFastExportName, byFiles},
			args:   []string{"svn-all-fast-export", "--rules", filepath.Join(f.work, "rules"), f.repo},
			files:  map[string]string{"rules": rules},
			result: filepath.Join(f.work, "result"), revisions: f.revisions,
		},
		surgeon,
		{
			key: key{gitSVNName, bySVN}, needs: []string{"/usr/lib/git-core/git-svn"},
			args: []string{
				"git", "svn", "clone", "--quiet", "--stdlayout", "--revision", "1:" + strconv.Itoa(f.first),
				f.svn.url("project"), "git-svn",
			},
			result: filepath.Join(f.work, "git-svn"), revisions: f.first, server: f.svn,
		},
		{
			key:    key{repackName, byRepository},
			args:   []string{"git", "-C", f.result(overSVN), "repack", "-adfq"},
			result: f.result(overSVN), revisions: f.revisions,
		},
	}
}

// result is where a contestant puts its repository.
func (f *field) result(k key) string {
	return filepath.Join(f.work, strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == ':' {
			return '-'
		}
		return r
	}, k.name+" "+k.input))
}

func (f *field) mapFile(k key) string { return f.result(k) + ".map" }

func (f *field) convert(k key, address string, s *server, revisions int) contestant {
	return contestant{
		key: k, args: []string{f.gantry, "convert", address, f.result(k), "--map", f.mapFile(k)},
		result: f.result(k), revisions: revisions, server: s,
	}
}

// byDump is a program that reads a dump, which has to be made first. The program's %s is its result.
func (f *field) byDump(k key, form, program string) contestant {
	script := fmt.Sprintf("svnadmin dump --quiet %s '%s' >dump\n%s\nrm dump", form, f.repo, fmt.Sprintf(program, f.result(k)))
	return contestant{
		key: k, needs: []string{"svnadmin"}, args: []string{"sh", "-ec", script},
		result: f.result(k), revisions: f.revisions,
	}
}

func (f *field) svnrdump(input, address string, s *server, revisions int) contestant {
	script := fmt.Sprintf("svnrdump dump --quiet --revision 0:%d '%s' >/dev/null", revisions, address)
	return contestant{
		key: key{svnrdumpName, input}, needs: []string{"svnrdump"}, args: []string{"sh", "-ec", script},
		revisions: revisions, server: s,
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

// missing returns a program that is not installed.
func (c contestant) missing() (program string, missing bool) {
	for _, program := range append(c.needs, c.args[0]) {
		if _, err := exec.LookPath(program); err != nil {
			return program, true
		}
	}
	return "", false
}

// run measures the contestant in a directory and looks at what it made.
func (c contestant) run(ctx context.Context, dir string) (Row, error) {
	for name, content := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return Row{}, err
		}
	}
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	row := Row{Name: c.name, Input: c.input, Revisions: c.revisions}
	if c.server != nil {
		row.Server -= measure.CPU(c.server.pid())
	}
	var err error
	if row.Cost, err = measure.Run(cmd); err != nil {
		return Row{}, fmt.Errorf("%s: %w\n%s", strings.Join(c.args, " "), err, lastLines(log.String()))
	}
	if c.server != nil {
		row.Server += measure.CPU(c.server.pid())
	}
	if c.result == "" {
		return row, nil
	}
	if row.Commits, err = c.count(ctx); err != nil {
		return Row{}, err
	}
	if row.Merges, err = c.count(ctx, "--merges"); err != nil {
		return Row{}, err
	}
	row.Bytes, err = objectBytes(c.result)
	return row, err
}

// count is how many commits all refs of the result reach.
func (c contestant) count(ctx context.Context, args ...string) (int, error) {
	args = append([]string{"-C", c.result, "rev-list", "--count", "--all"}, args...)
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// objectBytes is the size of a repository's objects, indexes included.
func objectBytes(repo string) (total int64, err error) {
	objects := filepath.Join(repo, "objects")
	if _, err := os.Stat(objects); err != nil {
		objects = filepath.Join(repo, ".git", "objects")
	}
	err = filepath.WalkDir(objects, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// lastLines are the end of a log, to show in an error.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
