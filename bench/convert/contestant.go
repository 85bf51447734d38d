package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gantry/bench/measure"
)

// contestant is one converter with its command line.
type contestant struct {
	name      string
	input     string // what it reads, for the table
	needs     string // program that must be there
	dir       string // working directory
	rules     string // content of a file "rules" in it, if it needs one
	args      []string
	result    string // repository that it makes
	revisions int    // how many it converts
}

const nameGantry = "gantry"

func gantry(program, address, work, mapFile string, revisions int) contestant {
	result := filepath.Join(work, "gantry.git")
	return contestant{
		name: nameGantry, input: "svn://", needs: program, dir: work,
		args:      []string{program, "convert", address, result, "--map", mapFile},
		result:    result,
		revisions: revisions,
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

func allFastExport(repo, work string, revisions int) contestant {
	dir := filepath.Join(work, "all-fast-export")
	return contestant{
		name: "svn-all-fast-export", input: "local files", needs: "svn-all-fast-export", dir: dir,
		rules:     rules,
		args:      []string{"svn-all-fast-export", "--rules", filepath.Join(dir, "rules"), repo},
		result:    filepath.Join(dir, "result"),
		revisions: revisions,
	}
}

func gitSVN(address, work string, revisions int) contestant {
	result := filepath.Join(work, "git-svn")
	return contestant{
		name: "git svn", input: "svn://", needs: "/usr/lib/git-core/git-svn", dir: work,
		args:      []string{"git", "svn", "clone", "--quiet", "--stdlayout", "--revision", "1:" + strconv.Itoa(revisions), address, result},
		result:    result,
		revisions: revisions,
	}
}

// run measures the contestant and looks at what it made.
func (c contestant) run(ctx context.Context, s *server) (Row, error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return Row{}, err
	}
	if c.rules != "" {
		if err := os.WriteFile(filepath.Join(c.dir, "rules"), []byte(c.rules), 0o644); err != nil {
			return Row{}, err
		}
	}
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	before, err := measure.CPU(s.pid())
	if err != nil {
		return Row{}, err
	}
	cost, err := measure.Run(cmd)
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w\n%s", strings.Join(c.args, " "), err, lastLines(log.String()))
	}
	after, err := measure.CPU(s.pid())
	if err != nil {
		return Row{}, err
	}
	row := Row{Name: c.name, Input: c.input, Revisions: c.revisions, Cost: cost, Server: after - before}
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

// server is an svnserve over one repository.
type server struct {
	cmd *exec.Cmd
	url string
}

// serve starts svnserve on a free port. It is one process with threads, so that its processor time can be told.
func serve(ctx context.Context, repo string) (*server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	s := &server{url: (&url.URL{Scheme: "svn", Host: address, Path: "/" + filepath.Base(repo)}).String()}
	s.cmd = exec.CommandContext(ctx, "svnserve", "--daemon", "--foreground", "--threads",
		"--listen-host", host, "--listen-port", port, "--root", filepath.Dir(repo))
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		var conn net.Conn
		if conn, err = net.Dial("tcp", address); err == nil {
			conn.Close()
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("svnserve does not answer: %w", err)
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) stop() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}
