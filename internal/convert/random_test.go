package convert

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
	"gantry/internal/gantrytest/svnrandom"
	"gantry/internal/origin"
)

// Histories that nobody would write convert to what libsvn says, whichever way they come, at once or in parts.
// GANTRY_SEEDS (as in 7 or 100-200) and GANTRY_REVISIONS choose others.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	first, last := seeds(t)
	revisions := setting(t, "GANTRY_REVISIONS", 60)
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			if t.Run("whole", func(t *testing.T) { judgeRandom(t, seed, revisions) }) {
				return
			}
			passes, fails := 0, revisions // the search for a short one that fails
			for fails-passes > 1 {
				n := (passes + fails) / 2
				if t.Run(fmt.Sprintf("%d revisions", n), func(t *testing.T) { judgeRandom(t, seed, n) }) {
					passes = n
				} else {
					fails = n
				}
			}
		})
	}
}

// seeds is the range of GANTRY_SEEDS.
func seeds(t *testing.T) (first, last uint64) {
	from, to, isRange := strings.Cut(os.Getenv("GANTRY_SEEDS"), "-")
	if from == "" {
		return 1, 12
	}
	first, err := strconv.ParseUint(from, 10, 32)
	if last = first; err == nil && isRange {
		last, err = strconv.ParseUint(to, 10, 32)
	}
	if err != nil {
		t.Fatal("GANTRY_SEEDS is a number or a range, such as 100-200")
	}
	return first, last
}

func setting(t *testing.T, name string, otherwise int) int {
	value := os.Getenv(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatalf("%s is %q, not a number", name, value)
	}
	return n
}

// judgeRandom judges a history as it comes every way, and in parts.
func judgeRandom(t *testing.T, seed uint64, revisions int) {
	h := svnrandom.New(seed, revisions)
	repo, whole := judgeEveryWay(t, h)
	chance := rand.New(rand.NewPCG(seed, 1))
	half := int64(chance.IntN(int(h.Head())) + 1)
	grown := convertDump(t, repo.Dump(t, fmt.Sprintf("-r0:%d", half)))
	if err := grown.Read(t.Context(), dial(t, repo, "")); err != nil {
		t.Fatal(err)
	}
	whole.same(t, fmt.Sprintf("first r%d", half), mapped(t, grown.Conversion, MapOptions{}))
	whole.same(t, "stopped", convertInParts(t, openDumpBytes(t, repo.Dump(t)), chance))
	judgeBelow(t, repo, chance)
}

// judgeBelow reads one directory of a repository's root alone.
func judgeBelow(t *testing.T, repo *svnfixture.Repo, chance *rand.Rand) {
	t.Helper()
	judge := svnjudge.Open(t, repo.Dir)
	dirs, err := judge.Directories("", repo.Head(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) == 0 {
		return
	}
	dir := dirs[chance.IntN(len(dirs))]
	address, _, _ := strings.Cut(repo.At(dir, 0), "@0")
	if exec.Command("svnrdump", "dump", "--quiet", address).Run() != nil {
		return // Subversion itself cannot tell the history of some directories whose files came from outside
	}
	c := convertFrom(t, dial(t, repo, "/"+dir))
	bare, _ := c.install(t)
	c.judgeTrees(t, repo, bare, dir)
	c.same(t, "below the root over http", convertFrom(t, dialHTTP(t, repo, "/"+dir, davfixture.Config{})))
}

// judgeTrees compares the tree of each commit in a bare repository with that of its path, below the root that was read.
func (c converted) judgeTrees(t *testing.T, repo *svnfixture.Repo, bare, root string) {
	t.Helper()
	judge := svnjudge.Open(t, repo.Dir)
	var names strings.Builder
	for _, commit := range c.commits {
		names.WriteString(commit.ID.String() + "^{tree}\n")
	}
	trees := strings.Fields(git(t, []byte(names.String()), "--git-dir", bare, "cat-file", "--batch-check=%(objectname)"))
	for i, commit := range c.commits {
		if commit.Path == "(outside)" {
			continue // Check judges these
		}
		want, err := judge.Tree(path.Join(root, commit.Path), commit.Revision)
		if err != nil {
			t.Fatal(err)
		}
		if trees[i] != cmp.Or(want, svnjudge.EmptyTree) { // the root is there also when the directory is not
			t.Errorf("%s: %q in r%d has tree %s, Subversion %s", root, commit.Path, commit.Revision, trees[i], want)
		}
	}
}

// judgeEveryWay converts a history from dumps and servers. libsvn judges one of the results, to which the others are equal.
func judgeEveryWay(t *testing.T, h *svnfixture.History) (*svnfixture.Repo, converted) {
	t.Helper()
	repo := svnfixture.NewRepo(t)
	repo.Load(t, h.Bytes())
	whole := judgeRepo(t, repo)
	whole.same(t, "as written", convertDump(t, h.Bytes()))
	return repo, whole
}

// judgeRepo is judgeEveryWay of a repository.
func judgeRepo(t *testing.T, repo *svnfixture.Repo) converted {
	t.Helper()
	whole := convertFrom(t, openDumpBytes(t, repo.Dump(t)))
	dir, mapFile := whole.install(t)
	if _, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, dir); err != nil {
		t.Error(err)
	}
	whole.same(t, "deltas", convertDump(t, repo.Dump(t, "--deltas")))
	whole.same(t, "svn", convertFrom(t, dial(t, repo, "")))
	whole.same(t, "http", convertFrom(t, dialHTTP(t, repo, "", davfixture.Config{})))
	return whole
}

// same reports a conversion that made something else of the same history.
func (c converted) same(t *testing.T, way string, other converted) {
	t.Helper()
	if !slices.Equal(c.commits, other.commits) || !slices.Equal(c.result.Refs, other.result.Refs) || c.result.Head != other.result.Head {
		t.Errorf("%s: other commits than from a dump of whole texts", way)
	}
}

// convertInParts reads until the origin fails or the process dies, again and again.
func convertInParts(t *testing.T, src origin.PathSource, chance *rand.Rand) converted {
	t.Helper()
	staging := t.TempDir()
	for owner := 0; ; owner++ {
		c, err := Open(t.Context(), Options{
			Dir: staging, Writer: fmt.Sprintf("w%d", owner), Journal: OpenFileJournal(filepath.Join(staging, "journal")),
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := &stopping{PathSource: src, after: 1 + owner*20 + chance.IntN(100)}
		if owner%2 == 1 {
			c.opt.Journal = dead{c.opt.Journal, stop}
		}
		err = c.Read(t.Context(), stop)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return mapped(t, c, MapOptions{})
		}
		if !stop.reached {
			t.Fatal(err)
		}
		c.Close()
	}
}
