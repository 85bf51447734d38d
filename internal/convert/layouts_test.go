package convert

import (
	"slices"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/gantrytest/davfixture"
	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
	"gantry/internal/history"
	"gantry/internal/origin"
)

// Layouts that history has come to, each judged by libsvn. What was decided, given as rules, leads to the same.
func TestFoundLayouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []layoutCase{
		{"files before there was a trunk", func(h *History) {
			h.Commit("a", "1", Mkdir("src"), Put("src/f", "1"), Put("README", "1"))
			h.Commit("a", "2", Edit("src/f", "2"))
			h.Commit("a", "3", Mkdir("trunk"), Mkdir("branches"), Mkdir("tags"))
			h.Commit("a", "4", CopyDir("src", 3, "trunk/src"), CopyFile("README", 3, "trunk/README"), Delete("src"), Delete("README"))
			h.Commit("a", "5", Edit("trunk/README", "5"), CopyDir("trunk", 4, "branches/b"))
		}, "heads/b heads/main", "main: 1 2 5", "", "", ""},
		{"all moved at once, some left", func(h *History) {
			h.Commit("a", "1", Mkdir("src"), Put("src/f", "1"), Put("a", "1"), Put("b", "1"), Put("left", "1"), Mkdir("doc"), Put("doc/d", "1"))
			h.Commit("a", "2", Mkdir("trunk"), CopyDir("src", 1, "trunk/src"), CopyFile("a", 1, "trunk/a"), CopyFile("b", 1, "trunk/b"),
				Delete("src"), Delete("a"), Delete("b"))
			h.Commit("a", "3", Edit("left", "3"), Edit("doc/d", "3"), Edit("trunk/a", "3"))
		}, "heads/doc heads/main heads/outside", "main: 1 2 3; doc: 1 2 3; outside: 1 2 3", "", "/>heads/outside doc>heads/doc", ""},
		{"trunk moved into a project", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
			h.Commit("a", "2", CopyDir("trunk", 1, "branches/b"), Put("branches/b/g", "2"))
			h.Commit("a", "3", Mkdir("project"), CopyDir("trunk", 2, "project/trunk"), CopyDir("branches", 2, "project/branches"), Delete("trunk"), Delete("branches"))
			h.Commit("a", "4", Edit("project/trunk/f", "4"), Edit("project/branches/b/g", "4"))
		}, "heads/b heads/main", "main: 1 4; b: 1 2 4", "", "", ""},
		{"a project renamed", func(h *History) {
			h.Commit("a", "1", Mkdir("old"), Mkdir("old/trunk"), Put("old/trunk/f", "1"), Mkdir("old/tags"))
			h.Commit("a", "2", CopyDir("old", 1, "new"), Delete("old"))
			h.Commit("a", "3", Edit("new/trunk/f", "3"))
		}, "heads/main", "main: 1 3", "", "", ""},
		{"groups of branches", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"), Mkdir("branches/team"), Mkdir("branches/team/deep"))
			h.Commit("a", "2", CopyDir("trunk", 1, "branches/x"), CopyDir("trunk", 1, "branches/team/x"), Put("branches/team/x/g", "2"))
			h.Commit("a", "3", CopyDir("trunk", 2, "branches/team/deep/y"), Edit("branches/team/deep/y/f", "3"))
		}, "heads/main heads/team/deep/y heads/team/x heads/x", "team/x: 1 2; team/deep/y: 1 3", "", "", ""},
		{"a copy into a branch is none", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("tags"))
			h.Commit("a", "2", CopyDir("trunk", 1, "tags/x"))
			h.Commit("a", "3", CopyDir("trunk", 2, "tags/x/trunk"))
		}, "heads/main tags/x", "tags/x: 1 3", "", "", ""},
		{
			"odd places", func(h *History) {
				h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("sandbox"), Mkdir("sandbox/notes"), Put("sandbox/notes/n", "1"), Put("sandbox/loose", "1"))
				h.Commit("a", "2", CopyDir("trunk", 1, "sandbox/x"), CopyDir("trunk", 1, "wild"))
				h.Commit("a", "3", Edit("sandbox/x/f", "3"), Edit("wild/f", "3"), Edit("sandbox/notes/n", "3"))
			}, "heads/main heads/outside heads/sandbox/notes heads/sandbox/x heads/wild", "sandbox/x: 1 3; wild: 1 3; sandbox/notes: 1 3", "",
			"sandbox/>heads/outside sandbox/notes>heads/sandbox/notes wild>heads/wild", "",
		},
		{"deleted and made again", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
			h.Commit("a", "2", CopyDir("trunk", 1, "branches/b"), Edit("branches/b/f", "2"))
			h.Commit("a", "3", Delete("branches/b"))
			h.Commit("a", "4", CopyDir("trunk", 3, "branches/b"), Edit("branches/b/f", "4"))
			h.Commit("a", "5", CopyDir("branches/b", 2, "branches/b").Replacing(), Edit("branches/b/f", "5"))
		}, "archive/branches/b@4 heads/b heads/main", "b: 1 2 5; refs/archive/branches/b@4: 1 4", "", "", ""},
		{"trunk deleted and restored", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"))
			h.Commit("a", "2", Delete("trunk"))
			h.Commit("a", "3", CopyDir("trunk", 1, "trunk"), Edit("trunk/f", "3"))
		}, "heads/main", "main: 1 3", "", "", ""},
		{"a tag of mixed revisions", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Mkdir("trunk/a"), Mkdir("trunk/b"), Mkdir("trunk/c"), Put("trunk/a/f", "1"), Put("trunk/b/f", "1"), Put("trunk/c/f", "1"), Mkdir("tags"))
			h.Commit("a", "2", Edit("trunk/a/f", "2"))
			h.Commit("a", "3", Edit("trunk/b/f", "3"), Edit("trunk/c/f", "3"))
			h.Commit("a", "4", CopyDir("trunk", 1, "tags/all").With("x", "y"), CopyDir("trunk/a", 3, "tags/all/a").Replacing(),
				CopyDir("trunk/b", 3, "tags/all/b").Replacing(), CopyDir("trunk/c", 3, "tags/all/c").Replacing())
			h.Commit("a", "5", CopyDir("trunk", 1, "tags/some"), CopyDir("trunk/b", 3, "tags/some/b").Replacing())
		}, "heads/main tags/all tags/some", "tags/all: 1 2 3; tags/some: 1 5", "tags/all<trunk@3 tags/some<trunk@1", "", ""},
		{"put together from parts", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Mkdir("trunk/a"), Mkdir("trunk/b"), Put("trunk/a/f", "1"), Put("trunk/b/f", "1"), Put("trunk/g", "1"), Mkdir("branches"))
			h.Commit("a", "2", Mkdir("branches/p"), CopyDir("trunk/a", 1, "branches/p/a"), CopyFile("trunk/g", 1, "branches/p/g"), Put("branches/p/new", "2"))
			h.Commit("a", "3", CopyDir("trunk/a", 1, "branches/q"))
			h.Commit("a", "4", Mkdir("branches/r"), CopyFile("trunk/g", 1, "branches/r/g"), Put("branches/r/1", "4"), Put("branches/r/2", "4"))
		}, "heads/main heads/p heads/q heads/r", "p: 1 2; q: 1 3; r: 4", "", "", ""},
		{"names that refs cannot have", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"), Mkdir("main"), Put("main/f", "1"), Mkdir("a b"), Put("a b/f", "1"))
			h.Commit("a", "2", CopyDir("trunk", 1, "branches/main"), CopyDir("trunk", 1, "branches/HEAD"), CopyDir("trunk", 1, "branches/x.lock"))
		}, "heads/HEAD-2 heads/a_b heads/main heads/main-2 heads/main-3 heads/x_lock", "main: 1", "", "a b>heads/a_b main>heads/main-3", ""},
		{"files in the place of branches", func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"), Put("branches/b", "1"), Put("README", "1"))
			h.Commit("a", "2", CopyDir("trunk", 1, "branches/b").Replacing(), Edit("branches/b/f", "2"))
			h.Commit("a", "3", Put("branches/b", "3").Replacing(), Delete("README"))
		}, "archive/branches/b@2 heads/main heads/outside", "outside: 1 2 3; refs/archive/branches/b@2: 1 2", "", "/>heads/outside branches/>heads/outside", ""},
		{"no trunk by name", func(h *History) {
			h.Commit("a", "1", Mkdir("dev"), Put("dev/f", "1"), Mkdir("tags"))
			h.Commit("a", "2", CopyDir("dev", 1, "tags/1"))
			h.Commit("a", "3", Edit("dev/f", "3"))
		}, "heads/main tags/1", "main: 1 3; tags/1: 1", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.judge(t)
		})
	}
}

// layoutCase is a history, and what it becomes.
type layoutCase struct {
	name    string
	tell    func(h *History)
	refs    string // without refs/, apart from archive
	logs    string // REF: messages, for some
	sources string // path<taken of those that were copied together
	outside string
	root    string // of the project
}

func (tt layoutCase) judge(t *testing.T) {
	t.Helper()
	h := NewHistory(mapUUID)
	tt.tell(h)
	repo := NewRepo(t)
	repo.Load(t, h.Bytes())
	c := convertDump(t, repo.Dump(t))
	c.same(t, "as written", convertDump(t, h.Bytes()))
	if tt.root != "" {
		c = mapped(t, c.Conversion, MapOptions{Root: tt.root})
	}
	if got := strings.ReplaceAll(strings.Join(c.refs(), " "), "refs/", ""); got != tt.refs {
		t.Errorf("refs are %q, want %q; the layout is\n%s", got, tt.refs, c.result.Report.Layout)
	}
	for log := range strings.SplitSeq(tt.logs, "; ") {
		ref, want, given := strings.Cut(log, ": ")
		if !given || !slices.ContainsFunc(c.result.Refs, func(r history.Ref) bool { return strings.HasSuffix(r.Name, "/"+strings.TrimPrefix(ref, "refs/")) }) {
			continue // as the comparison of refs has told
		}
		if got := strings.Join(strings.Fields(c.log(t, "%s", ref)), " "); got != want {
			t.Errorf("log of %s is %q, want %q", ref, got, want)
		}
	}
	var sources, outside []string
	for _, s := range c.result.Report.Sources {
		sources = append(sources, s.Path+"<"+s.Taken)
	}
	for _, o := range c.result.Report.Outside {
		outside = append(outside, o.Path+">"+strings.TrimPrefix(o.Ref, "refs/"))
	}
	if got := strings.Join(sources, " "); got != tt.sources {
		t.Errorf("sources are %q, want %q", got, tt.sources)
	}
	if got := strings.Join(outside, " "); got != tt.outside {
		t.Errorf("outside is %q, want %q", got, tt.outside)
	}
	dir, mapFile := c.install(t)
	if tt.root != "" {
		c.judgeTrees(t, repo, dir, "")
	} else if _, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, dir); err != nil {
		t.Error(err)
	}
	again := mapped(t, c.Conversion, MapOptions{Root: tt.root, Shape: gantry.Shape{Layout: c.result.Report.Layout}})
	if !slices.Equal(again.result.Refs, c.result.Refs) {
		t.Errorf("the layout as rules leads to other refs:\n%s", c.result.Report.Layout)
	}
}

// Rules override what would be found; a revision without changes makes a commit where that is asked for, on no untouched tag.
func TestGivenLayout(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("v1"), Put("v1/f", "1"), Mkdir("junk"), Put("junk/f", "1"), Put("loose", "1"))
	h.Commit("a", "2", CopyDir("trunk", 1, "v2"), CopyDir("trunk", 1, "w2"), TouchDir("trunk").With("svn:ignore", "*.o"))
	h.Commit("a", "3", Edit("junk/f", "3"))
	c := convertDump(t, h.Bytes())
	for _, tt := range []struct {
		shape gantry.Shape
		refs  string
		logs  string
	}{
		{gantry.Shape{Layout: "trunk trunk\ntags v* as *.0\nbranch w2\nignore junk"}, "heads/main heads/outside heads/w2 tags/1.0 tags/2.0", "main: 1; w2: 1; outside: 1"},
		{gantry.Shape{Layout: "trunk trunk\ntags v*\nbranch w2 as dev", KeepEmpty: true}, "heads/dev heads/junk heads/main heads/outside tags/v1 tags/v2", "main: 1 2; dev: 1 2; v2: 1; junk: 1 3"},
		{gantry.Shape{Layout: "trunk /"}, "heads/main", "main: 1 2 3"},
	} {
		got := mapped(t, c.Conversion, MapOptions{Shape: tt.shape})
		if refs := strings.ReplaceAll(strings.Join(got.refs(), " "), "refs/", ""); refs != tt.refs {
			t.Errorf("%q: refs are %q, want %q", tt.shape.Layout, refs, tt.refs)
		}
		for log := range strings.SplitSeq(tt.logs, "; ") {
			ref, want, _ := strings.Cut(log, ": ")
			if messages := strings.Join(strings.Fields(got.log(t, "%s", ref)), " "); messages != want {
				t.Errorf("%q: log of %s is %q, want %q", tt.shape.Layout, ref, messages, want)
			}
		}
	}
	if _, err := c.Map(t.Context(), MapOptions{Shape: gantry.Shape{Layout: "trunk trunk\nnonsense"}}); gantry.KindOf(err) != gantry.Invalid {
		t.Errorf("nonsense: %v", err)
	}
}

// Where it is asked for, a revision that changes nothing that Git holds makes a commit on each branch that it is about,
// whichever way it comes.
func TestKeepEmpty(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("trunk/d"), Mkdir("trunk/d/e"), Mkdir("branches"), Mkdir("tags"))
	h.Commit("a", "2", Touch("trunk/f").With("color", "blue"))
	h.Commit("a", "3", CopyDir("trunk", 2, "branches/b"), CopyDir("trunk", 2, "tags/t"))
	h.Commit("a", "4", TouchDir("trunk/d/e").With("color", "blue"), TouchDir("branches/b").With("svn:needs-lock", "*"))
	h.Commit("a", "5", Edit("branches/b/f", "1"))
	h.Commit("a", "6", TouchDir("trunk").With("svn:ignore", "x"))
	h.Commit("a", "7", TouchDir("").With("color", "red"))
	h.Commit("a", "8")
	h.Commit("a", "9", TouchDir("trunk/d/e").With("color", "blue"), Touch("branches/b/f").WithNone())
	repo := NewRepo(t)
	repo.Load(t, h.Bytes())
	var first converted
	for way, src := range map[string]origin.PathSource{
		"dump": openDumpBytes(t, repo.Dump(t)), "as written": openDumpBytes(t, h.Bytes()), "deltas": openDumpBytes(t, repo.Dump(t, "--deltas")),
		"svn": dial(t, repo, ""), "http": dialHTTP(t, repo, "", davfixture.Config{}),
	} {
		c := convertFrom(t, src)
		if c.result.Commits != 1 {
			t.Errorf("%s: %d commits where none is asked for", way, c.result.Commits)
		}
		kept := mapped(t, c.Conversion, MapOptions{Shape: gantry.Shape{KeepEmpty: true}})
		for ref, want := range map[string]string{"main": "1 2 4 6 9", "b": "1 2 3 4 5 9", "refs/tags/t": "1 2"} {
			if messages := strings.Join(strings.Fields(kept.log(t, "%s", ref)), " "); messages != want {
				t.Errorf("%s: log of %s is %q, want %q", way, ref, messages, want)
			}
		}
		dir, mapFile := kept.install(t)
		if _, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, dir); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if first.result != nil {
			first.same(t, way, kept)
		}
		first = kept
	}
}
