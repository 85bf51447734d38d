package convert

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gantry/internal/gantrytest/svnfixture"
)

// Merges that svn itself makes, of all kinds and in any order, judged by what svn says of them: what it has no revision
// left of to merge is merged in Git, and nothing else. GANTRY_SEEDS chooses other histories.
func TestMergesOfSubversion(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), uint64(2)
	if os.Getenv("GANTRY_SEEDS") != "" {
		first, last = seeds(t)
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, seed)
			for range setting(t, "GANTRY_REVISIONS", 60) {
				w.step()
			}
			w.judge(convertDump(t, w.repo.Dump(t)))
		})
	}
}

// worker is somebody with a working copy.
type worker struct {
	*rand.Rand
	t      *testing.T
	repo   *svnfixture.Repo
	dir    string
	lines  []string            // paths of the living branches
	alive  map[int64][]string  // by revision
	merges map[int64]string    // target, by revision
	heads  map[string][]int64  // revisions of work, by path
	copies map[string][]copied // that began branches, by path
}

// copied is that a revision began a branch, as a copy of what another one was before it.
type copied struct {
	revision int64
	from     string
}

func newWorker(t *testing.T, seed uint64) *worker {
	w := &worker{
		Rand: rand.New(rand.NewPCG(seed, 4)), t: t, repo: svnfixture.NewRepo(t), dir: filepath.Join(t.TempDir(), "copy"),
		lines: []string{"trunk"}, alive: map[int64][]string{}, merges: map[int64]string{}, heads: map[string][]int64{}, copies: map[string][]copied{},
	}
	w.repo.Commit(t, "a", "begin", "mkdir", "trunk", "mkdir", "trunk/d", "mkdir", "branches")
	w.must("checkout", w.repo.URL(), w.dir)
	w.work("trunk")
	return w
}

// svn runs a command, in the working copy if that is there.
func (w *worker) svn(args ...string) (string, error) {
	cmd := exec.Command("svn", append([]string{"--non-interactive", "--no-auth-cache"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+filepath.Dir(w.dir))
	if _, err := os.Stat(w.dir); err == nil {
		cmd.Dir = w.dir
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *worker) must(args ...string) string {
	w.t.Helper()
	out, err := w.svn(args...)
	if err != nil {
		w.t.Fatalf("svn %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *worker) work(line string) {
	name := fmt.Sprintf("f%d", w.IntN(1<<40))
	if _, err := os.Stat(filepath.Join(w.dir, line, "d")); err == nil && w.IntN(2) == 0 {
		name = "d/" + name
	}
	if err := os.WriteFile(filepath.Join(w.dir, line, name), []byte(name), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.must("add", filepath.Join(line, name))
	w.commit(line)
	w.heads[line] = append(w.heads[line], w.repo.Head(w.t))
}

// commit makes a revision, if there is anything to commit.
func (w *worker) commit(line string) {
	w.must("commit", "-m", "work", line)
	w.must("update")
	w.alive[w.repo.Head(w.t)] = slices.Clone(w.lines)
}

func (w *worker) step() {
	line := w.lines[w.IntN(len(w.lines))]
	from := w.lines[w.IntN(len(w.lines))]
	name := fmt.Sprintf("branches/b%d", w.IntN(5))
	isNew := !slices.Contains(w.lines, name)
	remove := func() { w.lines = slices.DeleteFunc(w.lines, func(l string) bool { return l == line }) }
	switch dice := w.IntN(20); {
	case dice < 3 && isNew:
		w.must("copy", "-m", "branch", "^/"+line, "^/"+name)
		w.began(name, line)
	case dice == 3 && line != "trunk":
		w.must("delete", "-m", "end", "^/"+line)
		remove()
	case dice == 4 && line != "trunk" && isNew:
		w.must("move", "-m", "rename", "^/"+line, "^/"+name)
		remove()
		w.began(name, line)
	case dice < 9 || from == line:
		w.work(line)
		return
	default:
		w.merge(dice, from, line)
		return
	}
	w.must("update")
	w.alive[w.repo.Head(w.t)] = slices.Clone(w.lines)
}

// began takes note of a branch that is a copy.
func (w *worker) began(name, from string) {
	revision := w.repo.Head(w.t)
	w.lines = append(w.lines, name)
	w.copies[name] = append(w.copies[name], copied{revision, from})
}

// merge merges in one of the ways that there are. What svn refuses is not done.
func (w *worker) merge(dice int, from, into string) {
	args := []string{"merge", "-q", "--accept", "working", "^/" + from, into}
	revision := "1"
	if done := w.heads[from]; len(done) > 0 {
		revision = strconv.FormatInt(done[w.IntN(len(done))], 10)
	}
	switch dice {
	case 11:
		args = append(args, "-c", revision)
	case 12:
		args = append(args, "-c", "-"+revision)
	case 13:
		args = append(args, "--record-only")
	case 14:
		args = append(args, "--record-only", "-c", revision)
	case 15:
		args = []string{"merge", "-q", "--accept", "working", "^/" + from + "/d", into + "/d"}
	case 16:
		args = append(args, "-r", "0:"+revision)
	}
	head := w.repo.Head(w.t)
	if _, err := w.svn(args...); err != nil {
		w.must("revert", "-q", "-R", ".")
		w.must("cleanup", "--remove-unversioned")
		return
	}
	w.must("resolve", "-q", "-R", "--accept", "working", ".")
	w.commit(into)
	if now := w.repo.Head(w.t); now > head {
		w.merges[now] = into
		w.heads[into] = append(w.heads[into], now)
	}
}

// eligible are the revisions that may be merged, by svn, of those that are commits.
func (w *worker) eligible(c converted, from string, fromRev int64, into string, intoRev int64) []int64 {
	var left []int64
	out := w.must("mergeinfo", "--show-revs", "eligible", w.repo.At(from, fromRev), w.repo.At(into, intoRev))
	for word := range strings.FieldsSeq(out) {
		revision, err := strconv.ParseInt(strings.Trim(word, "r*"), 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, commit := range c.commits {
			if commit.Revision == revision {
				left = append(left, revision)
			}
		}
	}
	return left
}

// judge compares what was found to be merged with what svn has left to merge.
func (w *worker) judge(c converted) {
	t := w.t
	t.Helper()
	bare, _ := c.install(t)
	for _, m := range c.result.Report.Merges {
		if left := w.eligible(c, m.Source, m.Upto, m.Path, m.Revision); len(left) > 0 {
			t.Errorf("%s is merged up to r%d into %s in r%d, and svn has %v left", m.Source, m.Upto, m.Path, m.Revision, left)
		}
	}
	for revision, into := range w.merges {
		for _, from := range w.alive[revision-1] {
			if from == into || len(w.eligible(c, from, revision-1, into, revision-1)) == 0 || len(w.eligible(c, from, revision-1, into, revision)) > 0 {
				continue
			}
			tip := w.tip(c, from, revision-1)
			if exec.Command("git", "--git-dir", bare, "merge-base", "--is-ancestor", tip, w.tip(c, into, revision)).Run() != nil {
				t.Errorf("svn has nothing left of %s in %s after r%d, and it is no ancestor there", from, into, revision)
			}
		}
	}
	if len(c.result.Report.Merges) == 0 {
		t.Errorf("svn made %d merges, and none is in Git", len(w.merges))
	}
}

// tip is the newest commit of a branch in a revision.
func (w *worker) tip(c converted, line string, revision int64) (id string) {
	var began copied
	for _, b := range w.copies[line] {
		if b.revision <= revision {
			began = b
		}
	}
	for _, commit := range c.commits {
		if commit.Path == line && began.revision <= commit.Revision && commit.Revision <= revision {
			id = commit.ID.String()
		}
	}
	if id == "" {
		return w.tip(c, began.from, began.revision-1)
	}
	return id
}
