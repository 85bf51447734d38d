package gantrytest_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
)

// A complete import that is restarted, and a command that is run again, read only the revisions that are new, which the
// origin's server counts, and move branches forward only. However many runs it took, the ids are those of a single one.
func TestOnlyNewsAreRead(t *testing.T) {
	t.Parallel()
	whole := svnfixture.NewStandardRepo(t)
	head := whole.Head(t)
	s := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_RATE_USER=1000000"}})
	want := importWhole(s, "whole", "svn://"+svnfixture.Serve(t, whole.Root)+"/repo")

	for name, serve := range map[string]func(t *testing.T, root string) (address, log string){
		"svn": func(t *testing.T, root string) (string, string) {
			addr, log := svnfixture.ServeLogged(t, root)
			return "svn://" + addr + "/repo", log
		},
		"http": func(t *testing.T, root string) (string, string) {
			log := filepath.Join(t.TempDir(), "log")
			server := davfixture.Serve(t, root, davfixture.Config{Settings: fmt.Sprintf("CustomLog %q \"%%{SVN-ACTION}e\"", log)})
			return server.URL + "/repo", log
		},
	} {
		t.Run(name, func(t *testing.T) {
			origin := svnfixture.NewRepo(t)
			origin.Load(t, whole.Dump(t, "-r0:12"))
			address, log := serve(t, origin.Root)
			repo, dir := s.CreateRepository("news-"+name), filepath.Join(t.TempDir(), "news.git")
			read := replays{t: t, log: log}

			s.StartImport(repo, address)
			s.WaitForImport(repo, timeout)
			read.expect("the first import", 1, 12)
			convert(t, address, dir)
			read.expect("the first conversion", 1, 12)
			for first := int64(13); first <= head; first += 8 {
				last := min(first+7, head)
				before, converted := s.Ref(repo, "refs/heads/main"), git(t, dir, "rev-parse", "main")
				origin.Load(t, whole.Dump(t, "--incremental", fmt.Sprintf("-r%d:%d", first, last)))
				s.Call("PATCH", "/repos/"+repo+"/import", nil, http.StatusOK, nil)
				s.WaitForImport(repo, timeout)
				read.expect("the import, restarted", first, last)
				convert(t, address, dir)
				read.expect("the conversion, run again", first, last)
				git(t, cloneOf(t, s, repo), "merge-base", "--is-ancestor", before, "main")
				git(t, dir, "merge-base", "--is-ancestor", strings.TrimSpace(converted), "main")
			}
			s.Call("PATCH", "/repos/"+repo+"/import", nil, http.StatusOK, nil)
			s.WaitForImport(repo, timeout)
			convert(t, address, dir)
			read.expect("a run without news", head+1, head)

			if got := s.Refs(repo); got != want {
				t.Errorf("the refs are\n%s\nthose of a single import\n%s", got, want)
			}
			git(t, dir, "fsck", "--strict", "--full")
			if got := git(t, dir, "for-each-ref", "--format=%(objectname)\t%(refname)"); !sameRefs(got, want) {
				t.Errorf("the command's refs are\n%s\nthose of a single import\n%s", got, want)
			}

			// What somebody else has moved stays.
			git(t, dir, "update-ref", "refs/heads/main", "main~1")
			moved := git(t, dir, "rev-parse", "main")
			convert(t, address, dir)
			if now := git(t, dir, "rev-parse", "main"); now != moved {
				t.Errorf("main was moved by hand to %s, and is at %s now", moved, now)
			}
		})
	}
}

// sameRefs compares the refs of a repository with those that ls-remote tells, which has HEAD and peeled tags beside them.
func sameRefs(refs, remote string) bool {
	var told []string
	for line := range strings.Lines(remote) {
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, "HEAD") && !strings.HasSuffix(line, "^{}") {
			told = append(told, line)
		}
	}
	return strings.TrimSpace(refs) == strings.Join(told, "\n")
}

// convert runs the command line.
func convert(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(gantrytest.Build(t), append([]string{"convert"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("gantry convert %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// replays counts in a server's log which revisions were read.
type replays struct {
	t    *testing.T
	log  string
	seen int // bytes
}

var replayed = regexp.MustCompile(`replay \S* r(\d+)`)

// expect compares what was read since the last time with a range of revisions. A server may write its log later than it
// answers.
func (r *replays) expect(what string, first, last int64) {
	r.t.Helper()
	var want []string
	for n := first; n <= last; n++ {
		want = append(want, fmt.Sprint(n))
	}
	slices.Sort(want)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(r.log)
		must(r.t, err)
		var got []string
		for _, m := range replayed.FindAllSubmatch(text[r.seen:], -1) {
			got = append(got, string(m[1]))
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			r.seen = len(text)
			return
		}
		if len(got) > len(want) || time.Now().After(deadline) {
			r.t.Fatalf("%s read the revisions %v, want r%d to r%d", what, got, first, last)
		}
	}
}
