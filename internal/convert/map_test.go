package convert

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry"
	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/history"
)

func (c converted) log(t *testing.T, format, ref string) string {
	t.Helper()
	dir, _ := c.install(t)
	return git(t, nil, "--git-dir", dir, "log", "--reverse", "--format="+format, ref, "--")
}

const mapUUID = "11112222-3333-4444-5555-666677778888"

func TestAuthorsDatesMessages(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	edit := 0
	commit := func(props map[string]string) {
		edit++
		h.CommitProps(props, Put("f"+strings.Repeat("x", edit), ""))
	}
	commit(map[string]string{"svn:log": "no date yet"})
	commit(map[string]string{"svn:author": "ann", "svn:date": "2001-02-03T04:05:06.999999Z", "svn:log": "plain"})
	commit(map[string]string{"svn:author": "<bob>\n", "svn:log": "no date\r\nbut two lines\r\n\n\n"})
	commit(map[string]string{"svn:author": "caf\xe9", "svn:date": "1960-01-01T00:00:00.000000Z", "svn:log": "caf\xe9 \x00nul"})
	commit(map[string]string{"svn:author": "", "svn:date": "2000-01-01T00:00:00.000000Z", "svn:log": ""})
	c := convertDump(t, h.Bytes())

	const format = "%an|%ae|%cn|%at|%ct|%B|"
	want := strings.ReplaceAll(`(no author)|(no author)@U|(no author)|0|0|no date yet
|
ann|ann@U|ann|981173106|981173106|plain
|
bob|bob@U|bob|981173106|981173106|no date
but two lines
|
café|café@U|café|0|0|café nul
|
(no author)|(no author)@U|(no author)|946684800|946684800||
`, "@U", "@"+mapUUID)
	if diff := cmp.Diff(want, c.log(t, format, "main")); diff != "" {
		t.Error(diff)
	}
	var ids []string
	for _, a := range c.Authors() {
		ids = append(ids, strings.TrimSuffix(a.RemoteID, "@"+mapUUID))
	}
	if want := []string{"(no author)", "ann", "<bob>", "café"}; !slices.Equal(ids, want) {
		t.Errorf("authors are %q, want %q", ids, want)
	}

	mappedTo := mapped(t, c.Conversion, MapOptions{Mapped: func(a history.Author) (history.Identity, bool) {
		return history.Identity{Name: "Ann A.", Email: "ann@example.org"}, a.RemoteID == "ann@"+mapUUID
	}})
	if got := mappedTo.log(t, "%an <%ae> %cn", "main"); !strings.Contains(got, "Ann A. <ann@example.org> Ann A.\n") || strings.Contains(got, "ann@"+mapUUID) {
		t.Errorf("after mapping:\n%s", got)
	}
	if back := mapped(t, c.Conversion, MapOptions{}); !slices.Equal(back.result.Refs, c.result.Refs) {
		t.Error("mapping back gives other ids")
	}
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	flat := NewHistory(mapUUID)
	flat.Commit("a", "1", Mkdir("src"), Put("src/f", "1"))
	flat.Commit("a", "2", Edit("src/f", "2"))

	many := NewHistory(mapUUID)
	many.Commit("a", "1", Mkdir("p"), Mkdir("p/trunk"), Mkdir("p/branches"), Mkdir("q"), Mkdir("q/trunk"))
	many.Commit("a", "2", Put("p/trunk/f", "1"), Put("q/trunk/g", "1"))
	many.Commit("a", "3", CopyDir("p/trunk", 2, "p/branches/b"), Edit("p/branches/b/f", "2"))
	many.Commit("a", "4", CopyDir("p", 3, "r"), Edit("q/trunk/g", "2"))
	many.Commit("a", "5", Edit("r/branches/b/f", "3"))

	late := NewHistory(mapUUID)
	late.Commit("a", "1", Mkdir("branches"), Mkdir("branches/b"), Put("branches/b/f", "1"))
	late.Commit("a", "2", CopyDir("branches/b", 1, "trunk"))
	late.Commit("a", "3", Edit("trunk/f", "2"), Delete("branches/b"))

	gone := NewHistory(mapUUID)
	gone.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
	gone.Commit("a", "2", CopyDir("trunk", 1, "branches/b"), Delete("trunk"))
	gone.Commit("a", "3", Edit("branches/b/f", "2"))

	for _, tt := range []struct {
		name     string
		history  *History
		opt      MapOptions
		projects []string
		refs     []string
		head     string
		log      string // messages on HEAD
	}{
		{"flat", flat, MapOptions{}, nil, []string{"refs/heads/main"}, "refs/heads/main", "1 2"},
		{"named", flat, MapOptions{DefaultBranch: "dev/top"}, nil, []string{"refs/heads/dev/top"}, "refs/heads/dev/top", "1 2"},
		{"all projects", many, MapOptions{}, []string{"p", "q", "r"}, []string{"refs/heads/main"}, "refs/heads/main", "1 2 3 4 5"},
		{"one project", many, MapOptions{Root: "p"}, []string{"p", "q", "r"}, []string{"refs/heads/b", "refs/heads/main"}, "refs/heads/main", "1 2"},
		{"another", many, MapOptions{Root: "/q/"}, []string{"p", "q", "r"}, []string{"refs/heads/main"}, "refs/heads/main", "1 2 4"},
		{"a copied project", many, MapOptions{Root: "r"}, []string{"p", "q", "r"}, []string{"refs/heads/b", "refs/heads/main"}, "refs/heads/main", "4"},
		{"trunk from a branch", late, MapOptions{}, nil, []string{"refs/heads/main"}, "refs/heads/main", "1 3"},
		{"no trunk any more", gone, MapOptions{}, nil, []string{"refs/heads/b"}, "refs/heads/b", "1 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := mapped(t, convertDump(t, tt.history.Bytes()).Conversion, tt.opt)
			projects, err := c.Projects(t.Context())
			if err != nil || !slices.Equal(projects, tt.projects) {
				t.Errorf("projects are %q (%v), want %q", projects, err, tt.projects)
			}
			if got := c.refs(); !slices.Equal(got, tt.refs) || c.result.Head != tt.head {
				t.Errorf("refs are %q with HEAD %s, want %q with %s", got, c.result.Head, tt.refs, tt.head)
			}
			if got := strings.Join(strings.Fields(c.log(t, "%s", c.result.Head)), " "); got != tt.log {
				t.Errorf("log is %q, want %q", got, tt.log)
			}
		})
	}
}

// A branch that is moved out of the layout and back continues; one that is renamed leaves no archive.
func TestMoves(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
	h.Commit("a", "2", CopyDir("trunk", 1, "branches/b"), Edit("branches/b/f", "2"))
	h.Commit("a", "3", CopyDir("branches", 2, "attic"), Delete("branches"))
	h.Commit("a", "4", Edit("attic/b/f", "4"))
	h.Commit("a", "5", CopyDir("attic", 4, "branches"))
	h.Commit("a", "6", CopyDir("branches/b", 5, "branches/c"), Delete("branches/b"), Edit("branches/c/f", "6"))
	c := convertDump(t, h.Bytes())
	if got, want := c.refs(), []string{"refs/heads/attic/b", "refs/heads/c", "refs/heads/main"}; !slices.Equal(got, want) {
		t.Errorf("refs are %q, want %q", got, want)
	}
	if got := strings.Fields(c.log(t, "%s", "c")); !slices.Equal(got, []string{"1", "2", "4", "6"}) {
		t.Errorf("log is %q", got)
	}
}

func TestRenamedRefs(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"), Mkdir("tags"))
	h.Commit("a", "2", CopyDir("trunk", 1, "branches/main"), CopyDir("trunk", 1, "branches/a b"), CopyDir("trunk", 1, "branches/x"),
		CopyDir("trunk", 1, "branches/X"), CopyDir("trunk", 1, "tags/-v"))
	c := convertDump(t, h.Bytes())
	want := []Rename{
		{Path: "branches/a b", Ref: "refs/heads/a_b"},
		{Path: "branches/main", Ref: "refs/heads/main-2"},
		{Path: "branches/x", Ref: "refs/heads/x-2"},
		{Path: "tags/-v", Ref: "refs/tags/_v"},
	}
	if diff := cmp.Diff(want, c.result.Report.Renamed); diff != "" {
		t.Error(diff)
	}
}

func TestLargeFiles(t *testing.T) {
	t.Parallel()
	big := func(c string) string { return strings.Repeat(c, 2000) }
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Mkdir("trunk/d"), Put("trunk/d/big", big("1")), Put("trunk/small", "1"), Put("outside", big("3")))
	h.Commit("a", "2", Edit("trunk/d/big", big("2")), Mkdir("branches"))
	h.Commit("a", "3", CopyDir("trunk", 1, "branches/b"), Put("branches/b/own", big("4")), CopyFile("trunk/d/big", 2, "trunk/copy"))
	h.Commit("a", "4", Edit("trunk/d/big", big("1")))
	staging := t.TempDir()
	var news News
	c, err := Open(t.Context(), Options{
		Dir: staging, Writer: "a", LargeFile: 1999, Journal: keeping{OpenFileJournal(filepath.Join(staging, "journal")), &news},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Read(t.Context(), openDumpBytes(t, h.Bytes())); err != nil {
		t.Fatal(err)
	}
	if s := c.State(); s.LargeFiles != 4 || s.LargeFileSize != 8000 || len(news.LargeFiles) != 4 {
		t.Errorf("%d files of %d bytes, %d of them told", s.LargeFiles, s.LargeFileSize, len(news.LargeFiles))
	}
	var got []gantry.LargeFile
	for _, f := range mapped(t, c, MapOptions{}).result.LargeFiles {
		f.OID = ""
		got = append(got, f)
	}
	want := []gantry.LargeFile{
		{RefName: "refs/heads/main", Path: "d/big", Size: 2000},
		{RefName: "refs/heads/outside", Path: "outside", Size: 2000},
		{RefName: "refs/heads/main", Path: "d/big", Size: 2000},
		{RefName: "refs/heads/b", Path: "own", Size: 2000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A link in the place of .gitmodules is a trap that Git refuses: it stays a file with Subversion's text.
func TestLinkAsGitmodules(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Put(".gitmodules", "link elsewhere").With("svn:special", "*"), Put("link", "link elsewhere").With("svn:special", "*"))
	c := convertDump(t, h.Bytes())
	e, err := history.Walk(c.store, c.applier.roots.newest, ".gitmodules")
	if err != nil || e.Mode != 0o100644 {
		t.Errorf("mode is %o (%v)", e.Mode, err)
	}
	if e, err = history.Walk(c.store, c.applier.roots.newest, "link"); err != nil || e.Mode != 0o120000 {
		t.Errorf("mode of the link is %o (%v)", e.Mode, err)
	}
}
