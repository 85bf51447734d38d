package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/bench/synth"
	"gantry/bench/synth/svndump"
	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
	"gantry/internal/history"
)

// The merges of an invented history are known: every one is found, none is invented, and what was picked is listed.
func TestKnownMerges(t *testing.T) {
	t.Parallel()
	var dump bytes.Buffer
	facts, err := svndump.Write(&dump, mapUUID, synth.Revisions(synth.Params{Seed: 1, Revisions: 700}))
	if err != nil {
		t.Fatal(err)
	}
	report := convertDump(t, dump.Bytes()).result.Report
	list := func(merges []svndump.Merge) []string {
		var all []string
		for _, m := range merges {
			all = append(all, fmt.Sprintf("r%d: %s into %s", m.Revision, m.From, m.Into))
		}
		slices.Sort(all)
		return all
	}
	var merges, picks []svndump.Merge
	for _, m := range report.Merges {
		merges = append(merges, svndump.Merge{Revision: int(m.Revision), Into: m.Path, From: m.Source})
	}
	for _, m := range report.CherryPicks {
		picks = append(picks, svndump.Merge{Revision: int(m.Revision), Into: m.Path, From: m.Source})
	}
	if diff := cmp.Diff(list(facts.Merges), list(merges)); diff != "" || len(merges) == 0 {
		t.Errorf("%d merges are found:\n%s", len(merges), diff)
	}
	if diff := cmp.Diff(list(facts.Picks), list(picks)); diff != "" || len(picks) == 0 {
		t.Errorf("%d picks are found:\n%s", len(picks), diff)
	}
}

// mergesOf lists what a conversion merged ("r5 trunk < branches/b@4") and picked ("r5 trunk ? branches/b:4").
func mergesOf(r Report) []string {
	var found []string
	for _, m := range r.Merges {
		found = append(found, fmt.Sprintf("r%d %s < %s@%d", m.Revision, m.Path, m.Source, m.Upto))
	}
	for _, p := range r.CherryPicks {
		found = append(found, fmt.Sprintf("r%d %s ? %s:%s", p.Revision, p.Path, p.Source, p.Revisions))
	}
	return found
}

func TestMerges(t *testing.T) {
	t.Parallel()
	const info = "svn:mergeinfo"
	// begin is trunk with a file in r1, work on it in r2, and in r3 branch b, which has work in r4 and r5.
	begin := func() *History {
		h := NewHistory(mapUUID)
		h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("trunk/sub"), Put("trunk/sub/g", "1"), Mkdir("branches"), Mkdir("tags"))
		h.Commit("a", "2", Edit("trunk/f", "2"))
		h.Commit("a", "3", CopyDir("trunk", 2, "branches/b"))
		h.Commit("a", "4", Put("branches/b/x", "4"))
		h.Commit("a", "5", Put("branches/b/y", "5"))
		return h
	}
	var edits atomic.Int64 // the cases run at the same time
	edit := func(path string) Node { return Edit(path, fmt.Sprint("edit ", edits.Add(1))) }
	for _, tt := range []struct {
		name string
		tell func(h *History)
		want []string
		bad  int64 // malformed
	}{
		{"all of a branch", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5"), Put("trunk/x", "4"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"only the revisions that matter", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:4,5"), Put("trunk/x", "4"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"nothing but the record", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"the first part", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:4"), edit("trunk/f"))
		}, []string{"r6 trunk < branches/b@4"}, 0},
		{"the last part, then the first", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:5"), edit("trunk/f"))
			h.Commit("a", "7", TouchDir("trunk").With(info, "/branches/b:4-5"), edit("trunk/f"))
		}, []string{"r7 trunk < branches/b@5", "r6 trunk ? branches/b:5"}, 0},
		{"a pick without a change", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:5"))
		}, []string{"r6 trunk ? branches/b:5"}, 0},
		{"a pick from outside", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/vendor/x:2-3,9"), edit("trunk/f"))
		}, []string{"r6 trunk ? vendor/x:2-3"}, 0},
		{"there and back", func(h *History) {
			h.Commit("a", "6", edit("trunk/f"))
			h.Commit("a", "7", TouchDir("branches/b").With(info, "/trunk:3-6"), edit("branches/b/f"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/b:3-7"), Put("trunk/x", "4"))
			h.Commit("a", "9", edit("branches/b/f"))
			h.Commit("a", "10", TouchDir("trunk").With(info, "/branches/b:3-9"), edit("trunk/f"))
		}, []string{"r7 branches/b < trunk@6", "r8 trunk < branches/b@7", "r10 trunk < branches/b@9"}, 0},
		{"two at once", func(h *History) {
			h.Commit("a", "6", CopyDir("trunk", 5, "branches/a"), Put("branches/a/z", "6"))
			h.Commit("a", "7", TouchDir("trunk").With(info, "/branches/b:3-5\n/branches/a:6"), edit("trunk/f"))
		}, []string{"r7 trunk < branches/a@6", "r7 trunk < branches/b@5"}, 0},
		{"what was merged into what is merged", func(h *History) {
			h.Commit("a", "6", CopyDir("trunk", 5, "branches/a"), Put("branches/a/z", "6"))
			h.Commit("a", "7", TouchDir("branches/a").With(info, "/branches/b:3-5"), Put("branches/a/x", "4"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/a:6-7\n/branches/b:3-5"), edit("trunk/f"))
		}, []string{"r7 branches/a < branches/b@5", "r8 trunk < branches/a@7"}, 0},
		{"what was picked into what is merged", func(h *History) {
			h.Commit("a", "6", CopyDir("trunk", 5, "branches/a"), Put("branches/a/z", "6"))
			h.Commit("a", "7", TouchDir("branches/a").With(info, "/branches/b:5"), Put("branches/a/x", "4"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/a:6-7\n/branches/b:5"), edit("trunk/f"))
		}, []string{"r8 trunk < branches/a@7", "r7 branches/a ? branches/b:5"}, 0},
		{"a branch of a branch, whose base is missing", func(h *History) {
			h.Commit("a", "6", CopyDir("branches/b", 5, "branches/c"), Put("branches/c/z", "6"))
			h.Commit("a", "7", TouchDir("trunk").With(info, "/branches/c:6"), edit("trunk/f"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/b:4-5\n/branches/c:6"), edit("trunk/f"))
		}, []string{"r8 trunk < branches/c@6", "r7 trunk ? branches/c:6"}, 0},
		{"from the branch that this one began as", func(h *History) {
			h.Commit("a", "6", edit("trunk/f"))
			h.Commit("a", "7", edit("trunk/f"))
			h.Commit("a", "8", TouchDir("branches/b").With(info, "/trunk:7"), edit("branches/b/f"))
			h.Commit("a", "9", TouchDir("branches/b").With(info, "/trunk:1-7"), edit("branches/b/f"))
		}, []string{"r9 branches/b < trunk@7", "r8 branches/b ? trunk:7"}, 0},
		{"by the copy that a branch is", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5"), edit("trunk/f"))
			h.Commit("a", "7", CopyDir("trunk", 6, "branches/c"), Put("branches/c/z", "7"))
			h.Commit("a", "8", edit("branches/c/f"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"with the copy that a branch is", func(h *History) {
			h.Commit("a", "6", CopyDir("trunk", 5, "branches/c").With(info, "/branches/b:3-5"), Put("branches/c/x", "4"))
		}, []string{"r6 branches/c < branches/b@5"}, 0},
		{"taken back, and again", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5"), Put("trunk/x", "4"))
			h.Commit("a", "7", TouchDir("trunk").WithNone(), Delete("trunk/x"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/b:3-5"), Put("trunk/x", "4"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"into itself", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/trunk:1-5"), edit("trunk/f"))
		}, nil, 0},
		{"a branch that was renamed", func(h *History) {
			h.Commit("a", "6", CopyDir("branches/b", 5, "branches/c"), Delete("branches/b"))
			h.Commit("a", "7", edit("branches/c/f"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/b:3-5\n/branches/c:6-7"), edit("trunk/f"))
		}, []string{"r8 trunk < branches/c@7"}, 0},
		{"a branch that was made again", func(h *History) {
			h.Commit("a", "6", Delete("branches/b"))
			h.Commit("a", "7", CopyDir("trunk", 6, "branches/b"), Put("branches/b/z", "7"))
			h.Commit("a", "8", edit("branches/b/z"))
			h.Commit("a", "9", TouchDir("trunk").With(info, "/branches/b:7-8"), edit("trunk/f"))
			h.Commit("a", "10", TouchDir("trunk").With(info, "/branches/b:4-8"), edit("trunk/f"))
		}, []string{"r9 trunk < branches/b@8", "r10 trunk < branches/b@5"}, 0},
		{"not for what is below", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5*"), edit("trunk/f"))
		}, []string{"r6 trunk ? branches/b:4-5"}, 0},
		{"into a part", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk/sub").With(info, "/branches/b/sub:4-5"), Touch("trunk/f").With(info, "/branches/b/f:5"), edit("trunk/f"))
		}, []string{"r6 trunk ? branches/b:4-5"}, 0},
		{"into all and a part", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5"), TouchDir("trunk/sub").With(info, "/branches/b/sub:3-5"), edit("trunk/f"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"with a file that comes from elsewhere", func(h *History) {
			h.Commit("a", "6", CopyDir("trunk/sub", 5, "trunk/sub2").With(info, "/branches/b/sub:4"), Put("trunk/n", "6").With(info, "/branches/b/x:5"))
		}, nil, 0},
		{"revisions that do not exist", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-9000\n/branches/none:1-7"), edit("trunk/f"))
		}, []string{"r6 trunk < branches/b@5"}, 0},
		{"nonsense", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "///\n/branches/b:5-4,4-5,x\n:"), edit("trunk/f"))
			h.Commit("a", "7", TouchDir("trunk").With(info, "///\n/branches/b:5-4,4-5,x\n:\n/tags/x:1"), edit("trunk/f"))
		}, []string{"r6 trunk < branches/b@5"}, 3},
		{"taken back, and once more", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With(info, "/branches/b:3-5"), edit("trunk/f"))
			h.Commit("a", "7", edit("branches/b/f"))
			h.Commit("a", "8", TouchDir("trunk").With(info, "/branches/b:3-4"), edit("trunk/f"))
			h.Commit("a", "9", TouchDir("trunk").With(info, "/branches/b:3-4,7"), edit("trunk/f"))
			h.Commit("a", "10", TouchDir("trunk").With(info, "/branches/b:3-7"), edit("trunk/f"))
		}, []string{"r6 trunk < branches/b@5", "r10 trunk < branches/b@7", "r9 trunk ? branches/b:7"}, 0},
		{"svnmerge.py", func(h *History) {
			h.Commit("a", "6", TouchDir("trunk").With("svnmerge-integrated", "/branches/b:1-3"))
			h.Commit("a", "7", TouchDir("trunk").With("svnmerge-integrated", "/branches/b:1-4").With("svnmerge-blocked", "/branches/b:5"))
		}, []string{"r7 trunk < branches/b@5"}, 0},
		{"on a tag", func(h *History) {
			h.Commit("a", "6", CopyDir("trunk", 5, "tags/t"))
			h.Commit("a", "7", TouchDir("tags/t").With(info, "/branches/b:3-5"))
		}, []string{"r7 tags/t < branches/b@5"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := begin()
			tt.tell(h)
			repo := NewRepo(t)
			repo.Load(t, h.Bytes())
			c := convertDump(t, repo.Dump(t))
			if diff := cmp.Diff(tt.want, mergesOf(c.result.Report)); diff != "" {
				t.Error(diff)
			}
			if got := c.result.Report.Malformed; got != tt.bad {
				t.Errorf("%d parts are malformed, want %d", got, tt.bad)
			}
			dir, mapFile := c.install(t)
			if _, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, dir); err != nil {
				t.Error(err)
			}
			var parents int
			for line := range strings.Lines(git(t, nil, "--git-dir", dir, "log", "--all", "--format=%P")) {
				parents += max(len(strings.Fields(line))-1, 0)
			}
			if parents != len(c.result.Report.Merges) {
				t.Errorf("git sees %d further parents, the report lists %d", parents, len(c.result.Report.Merges))
			}
		})
	}
}

// Mergeinfo names paths from the repository's root, also when only a part of the repository is read or converted.
func TestMergesOfPart(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("p"), Mkdir("p/trunk"), Put("p/trunk/f", "1"), Mkdir("p/branches"), Mkdir("q"), Mkdir("q/trunk"), Put("q/trunk/g", "1"))
	h.Commit("a", "2", CopyDir("p/trunk", 1, "p/branches/b"), Edit("p/branches/b/f", "2"))
	h.Commit("a", "3", TouchDir("p/trunk").With("svn:mergeinfo", "/p/branches/b:2\n/q/trunk:1\n/trunk:1-2"))
	repo := NewRepo(t)
	repo.Load(t, h.Bytes())
	read := convertFrom(t, dial(t, repo, "/p")).result.Report
	if want := []string{"r3 trunk < branches/b@2", "r3 trunk ? /q/trunk:1", "r3 trunk ? /trunk:1-2"}; !slices.Equal(mergesOf(read), want) {
		t.Errorf("reading a part finds %q, want %q", mergesOf(read), want)
	}
	converted := mapped(t, convertDump(t, h.Bytes()).Conversion, MapOptions{Root: "p"}).result.Report
	if want := []string{"r3 p/trunk < p/branches/b@2", "r3 p/trunk ? q/trunk:1", "r3 p/trunk ? trunk:1-2"}; !slices.Equal(mergesOf(converted), want) {
		t.Errorf("converting a part finds %q, want %q", mergesOf(converted), want)
	}
}

// What is listed is bounded in bytes, too: a value may name half of all revisions for each of thousands of paths.
func TestManyPicks(t *testing.T) {
	t.Parallel()
	const revisions, sources = 1500, 4000
	h := NewHistory("0d9f2c9e-1111-4222-8333-44445555bbbb")
	h.Commit("a", "Begin", Mkdir("trunk"), Put("trunk/f", ""))
	var odd strings.Builder
	for i := range revisions {
		h.Commit("a", "Nothing")
		if i%2 == 0 {
			fmt.Fprintf(&odd, "%d,", i+1)
		}
	}
	var info strings.Builder
	for i := range sources {
		fmt.Fprintf(&info, "/elsewhere/%d:%s\n", i, odd.String())
	}
	h.Commit("b", "Too much", TouchDir("trunk").With("svn:mergeinfo", info.String()))
	picks := convertDump(t, h.Bytes()).result.Report.CherryPicks
	size := 0
	for _, pick := range picks {
		size += len(pick.Revisions)
	}
	if len(picks) == 0 || size < history.MaxPicked || size > history.MaxPicked+odd.Len() {
		t.Errorf("%d picks list %d bytes of revisions", len(picks), size)
	}
}
