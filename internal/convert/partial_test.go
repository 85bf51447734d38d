package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"gantry/internal/gantrytest/davfixture"
	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
	"gantry/internal/origin"
)

// partial is a history of which parts can be taken: no copy in it is from before r5.
func partial() *History {
	h := NewHistory("0d9f2c9e-1111-4222-8333-44445555bbbb")
	h.Commit("a", "Begin", Mkdir("trunk"), Mkdir("trunk/d"), Put("trunk/f", "1\n"), Put("trunk/d/g", "1\n"), Mkdir("branches"), Mkdir("tags"), Mkdir("www"))
	h.Commit("b", "A page", Put("www/index", "1\n"))
	h.Commit("a", "Edit", Edit("trunk/f", "2\n"), Put("trunk/exec", "1\n").With("svn:executable", "*"))
	h.Commit("b", "A longer page", Edit("www/index", "1\n2\n"))
	h.Commit("a", "Edit more", Edit("trunk/d/g", "2\n"), Put("trunk/link", "link f").With("svn:special", "*"))
	h.Commit("b", "Branch", CopyDir("trunk", 5, "branches/b"))
	h.Commit("b", "A page with all", Put("www/more", "1\n"), Edit("branches/b/f", "3\n"))
	h.Commit("c", "A page only", Edit("www/index", "3\n"))
	h.Commit("a", "Merge", Edit("trunk/f", "3\n"), TouchDir("trunk").With("svn:mergeinfo", "/branches/b:6-7"))
	h.Commit("c", "Tag", CopyDir("trunk", 9, "tags/1"))
	h.Commit("c", "Move", CopyDir("branches/b", 8, "branches/c"), Delete("branches/b"), CopyFile("www/index", 8, "trunk/index"))
	h.Commit("c", "The end", Edit("branches/c/d/g", "4\n"), Delete("www"))
	return h
}

// A repository that was loaded from a part of another one, or a part of one, is read as it is; and so is that part itself.
func TestPartialDumps(t *testing.T) {
	t.Parallel()
	source := NewRepo(t)
	source.Load(t, partial().Bytes())
	whole := source.Dump(t)
	for name, tt := range map[string]struct {
		dump []byte
		args []string // of svnadmin load
	}{
		"from a revision on":            {source.Dump(t, "-r5:12"), nil},
		"from a revision on, as deltas": {source.Dump(t, "-r5:HEAD", "--deltas"), nil},
		"up to a revision":              {source.Dump(t, "-r0:8"), nil},
		"one revision":                  {source.Dump(t, "-r9"), nil},
		"in pieces":                     {slices.Concat(source.Dump(t, "-r0:4"), source.Dump(t, "-r5:8", "--incremental"), source.Dump(t, "-r9:12", "--incremental", "--deltas")), nil},
		"a directory left out":          {Filter(t, whole, "exclude", "www", "trunk/index"), nil},
		"without what is empty then":    {Filter(t, whole, "exclude", "--drop-empty-revs", "www", "trunk/index"), nil},
		"and numbered anew":             {Filter(t, whole, "exclude", "--drop-empty-revs", "--renumber-revs", "www", "trunk/index"), nil},
		"without their messages":        {Filter(t, whole, "include", "trunk", "branches", "tags", "www"), nil},
		"nothing is left":               {Filter(t, whole, "include", "nothing"), nil},
		"only a branch":                 {Filter(t, Filter(t, whole, "exclude", "tags", "www", "trunk/index"), "include", "--drop-empty-revs", "trunk", "branches"), nil},
		"below a directory":             {whole, []string{"--parent-dir", "old"}},
		"under another name":            {whole, []string{"--ignore-uuid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := NewRepo(t)
			if slices.Contains(tt.args, "--parent-dir") {
				repo.Commit(t, "z", "A place", "mkdir", "old")
			}
			repo.Load(t, tt.dump, tt.args...)
			loaded := judgeRepo(t, repo)
			if tt.args != nil {
				return // it is another history
			}
			// The numbers of revisions are in no id but those of refs below refs/archive.
			itself := convertDump(t, tt.dump)
			if got, want := itself.ids(), loaded.ids(); !slices.Equal(got, want) {
				t.Errorf("the dump itself leads to commits %q, the repository to %q", got, want)
			}
			itself.install(t)
		})
	}
}

func (c converted) ids() (ids []string) {
	for _, commit := range c.commits {
		ids = append(ids, commit.ID.String())
	}
	return ids
}

// What goes on where a dump ended comes to the same as all at once; alone it cannot be read, as svnadmin load does not.
func TestIncrementalDumps(t *testing.T) {
	t.Parallel()
	source := NewRepo(t)
	source.Load(t, partial().Bytes())
	whole := convertDump(t, source.Dump(t))
	for _, deltas := range [][]string{nil, {"--deltas"}} {
		c := convertDump(t, source.Dump(t, append(deltas, "-r0:5")...)).Conversion
		for first := int64(6); first <= source.Head(t); first += 3 {
			part := source.Dump(t, append(deltas, "--incremental", fmt.Sprintf("-r%d:%d", first, min(first+2, source.Head(t))))...)
			if err := c.Read(t.Context(), openDumpBytes(t, part)); err != nil {
				t.Fatal(err)
			}
		}
		whole.same(t, fmt.Sprint("in parts ", deltas), mapped(t, c, MapOptions{}))
		c = convertDump(t, source.Dump(t, append(deltas, "-r0:5")...)).Conversion
		if err := c.Read(t.Context(), openDumpBytes(t, source.Dump(t, append(deltas, "--incremental", "-r8:12")...))); err == nil || !strings.Contains(err.Error(), "begins at r8, and r6 comes next") {
			t.Errorf("a part is left out: got %v", err)
		}
	}
	alone, err := Open(t.Context(), Options{Dir: t.TempDir(), Writer: "a", Journal: OpenFileJournal(path.Join(t.TempDir(), "journal"))})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	for part, text := range map[string]string{"-r5:8": `r5: "trunk/d/g"`, "-r11:12": "make a dump from r0 on"} {
		if err := alone.Read(t.Context(), openDumpBytes(t, source.Dump(t, "--incremental", part))); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", part, err)
		}
	}
}

// A mirror by svnsync lacks what its source hides: then revisions are empty, and copies are additions.
func TestMirrors(t *testing.T) {
	t.Parallel()
	source := NewRepo(t)
	source.Load(t, partial().Bytes())
	for name, rules := range map[string]string{
		"of all":             "[/]\n* = r\n",
		"without a page":     "[/]\n* = r\n[/www]\n* =\n",
		"without a file":     "[/]\n* = r\n[/www/index]\n* =\n",
		"without a branch":   "[/]\n* = r\n[/branches/b]\n* =\n",
		"without a trunk":    "[/]\n* = r\n[/trunk]\n* =\n",
		"of branches and up": "[/]\n* = r\n[/trunk/d]\n* =\n[/branches/c/d]\n* =\n[/tags]\n* =\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mirror := NewRepo(t)
			mirror.Mirror(t, "svn://"+ServeAuthz(t, source.Root, rules)+"/repo")
			if head := mirror.Head(t); head != source.Head(t) {
				t.Fatalf("the mirror ends at r%d", head)
			}
			judgeRepo(t, mirror)
		})
	}
}

// Revisions from which properties were taken have dates and authors nevertheless, the same ones every way.
func TestStrippedRevisions(t *testing.T) {
	t.Parallel()
	repo := NewRepo(t)
	repo.Load(t, partial().Bytes())
	for _, name := range []string{"svn:date", "svn:author", "svn:log"} {
		repo.Strip(t, 1, name)
	}
	repo.Strip(t, 0, "svn:date")
	repo.Strip(t, 7, "svn:date")
	c := judgeRepo(t, repo)
	log := strings.Fields(c.log(t, "%at", "main"))
	if want := []string{"0", "1262401625"}; !slices.Equal(log[:2], want) {
		t.Errorf("dates are %q, want %q", log[:2], want)
	}
}

// Where the root may not be read, what is below it is read by its own address, and all of that is there.
func TestForbiddenRoot(t *testing.T) {
	t.Parallel()
	h := NewHistory("0d9f2c9e-1111-4222-8333-44445555cccc")
	h.Commit("a", "1", Mkdir("open"), Mkdir("open/trunk"), Put("open/trunk/f", "1"), Mkdir("secret"), Put("secret/f", "1"))
	h.Commit("a", "2", Edit("secret/f", "2"))
	h.Commit("a", "3", CopyDir("secret", 2, "open/trunk/was secret"), CopyFile("secret/f", 1, "open/trunk/g"))
	h.Commit("a", "4", Mkdir("open/branches"), CopyDir("open/trunk", 3, "open/branches/b"), Edit("open/branches/b/was secret/f", "4"))
	h.Commit("a", "5", CopyDir("open", 4, "secret/copy"), Edit("open/trunk/f", "5"))
	h.Commit("a", "6", CopyDir("secret/copy/trunk", 5, "open/branches/c"))
	repo := NewRepo(t)
	repo.Load(t, h.Bytes())
	const rules = "[/]\n* =\n[/open]\n* = r\n"
	judge := svnjudge.Open(t, repo.Dir)
	first := convertFrom(t, dial(t, repo, "/open"))
	for way, src := range map[string]origin.PathSource{
		"svn": dialAddr(t, ServeAuthz(t, repo.Root, rules), "/open"), "http": dialHTTP(t, repo, "/open", davfixture.Config{Authz: rules}),
	} {
		c := convertFrom(t, src)
		dir, _ := c.install(t)
		for _, commit := range c.commits {
			want, err := judge.Tree("open/"+commit.Path, commit.Revision)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(git(t, nil, "--git-dir", dir, "rev-parse", commit.ID.String()+"^{tree}")); got != want {
				t.Errorf("%s: %s in r%d has tree %s, Subversion %s", way, commit.Path, commit.Revision, got, want)
			}
		}
		if r := c.result.Report; len(c.commits) != 5 || r.ComparedEntries == 0 || len(r.Hidden) > 0 {
			t.Errorf("%s: %d commits, %d entries compared, %q hidden", way, len(c.commits), r.ComparedEntries, r.Hidden)
		}
		if len(first.commits) != len(c.commits) {
			t.Errorf("%s: %d commits, and %d where all may be read", way, len(c.commits), len(first.commits))
		}
	}
}

// What is shown in a directory that is hidden stays as hidden as the directory, and is in the report.
func TestShownInHidden(t *testing.T) {
	t.Parallel()
	h := partial()
	h.Commit("a", "Into the dark", Put("trunk/d/new", "1\n"), Mkdir("trunk/d/e"), Put("trunk/d/e/f", "1\n"))
	h.Commit("a", "In the dark", Edit("trunk/d/e/f", "2\n"), CopyFile("trunk/d/e/f", 13, "trunk/copy"), CopyDir("trunk/d/e", 13, "trunk/out"))
	repo := NewRepo(t)
	repo.Load(t, h.Bytes())
	const rules = "[/]\n* = r\n[/trunk/d]\n* =\n[/trunk/d/e]\n* = r\n"
	var first []string
	for way, src := range map[string]origin.PathSource{
		"svn": dialAddr(t, ServeAuthz(t, repo.Root, rules), ""), "http": dialHTTP(t, repo, "", davfixture.Config{Authz: rules}),
	} {
		c := convertFrom(t, src)
		if want := []string{"branches/c/d", "tags/1/d", "trunk/copy", "trunk/d", "trunk/d/e", "trunk/d/e/f", "trunk/out"}; !slices.Equal(c.result.Report.Hidden, want) {
			t.Errorf("%s: %q are hidden, want %q", way, c.result.Report.Hidden, want)
		}
		if first != nil && !slices.Equal(first, c.ids()) {
			t.Errorf("%s: other commits", way)
		}
		first = c.ids()
		c.install(t)
	}
}
