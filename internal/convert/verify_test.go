package convert

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
	"gantry/internal/origin/svn"
)

// The newest revision agrees with the server's listing, odd names, links and empty directories included.
func TestVerify(t *testing.T) {
	t.Parallel()
	for name, dump := range map[string][]byte{"standard": svnfixture.Standard().Bytes(), "traps": traps().Bytes()} {
		repo := svnfixture.NewRepo(t)
		repo.Load(t, dump)
		report := convertFrom(t, dial(t, repo, "")).result.Report
		if report.ComparedEntries == 0 || len(report.Hidden) > 0 {
			t.Errorf("%s: %d entries compared, %q hidden", name, report.ComparedEntries, report.Hidden)
		}
	}
}

// losing is a source that forgets one change of a history.
type losing struct {
	*svn.Source
	path   string
	action origin.Action
}

func (l losing) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	return l.Source.Replay(ctx, first, last, losingSink{sink, l.path, l.action})
}

type losingSink struct {
	origin.Sink
	path   string
	action origin.Action
}

func (l losingSink) Change(c *origin.Change) error {
	if c.Path == l.path && c.Action == l.action {
		return nil
	}
	return l.Sink.Change(c)
}

// What was not read as it is at the origin is found out, again when reading is tried again.
func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	h := svnfixture.NewHistory("0d0c61a6-2bd2-4c1f-9d3e-0a7b86e4d211")
	h.Commit("alice", "Begin", svnfixture.Mkdir("trunk"), svnfixture.Put("trunk/a", "1\n"), svnfixture.Put("trunk/b", "1\n"), svnfixture.Mkdir("trunk/d"))
	h.Commit("alice", "Longer", svnfixture.Edit("trunk/a", "12\n"))
	h.Commit("alice", "Away", svnfixture.Delete("trunk/b"))
	h.Commit("alice", "Another kind", svnfixture.Put("trunk/d", "1\n").Replacing())
	for _, test := range []struct {
		path   string
		action origin.Action
		text   string
	}{
		{"trunk/a", origin.Modify, "has 2 bytes, and the origin shows 3"},
		{"trunk/b", origin.Delete, "does not show it"},
		{"trunk/d", origin.Replace, "another kind"},
	} {
		repo := svnfixture.NewRepo(t)
		repo.Load(t, h.Bytes())
		staging := t.TempDir()
		c, err := Open(t.Context(), Options{Dir: staging, Writer: "a", Journal: OpenFileJournal(filepath.Join(staging, "journal"))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		first := dial(t, repo, "").(*svn.Source)
		for range 2 {
			err := c.Read(t.Context(), losing{first, test.path, test.action})
			if !errors.Is(err, origin.ErrCorrupt) || !strings.Contains(err.Error(), "r4: ") || !strings.Contains(err.Error(), test.path) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: got %v", test.path, err)
			}
			if c.State().Complete {
				t.Error("it counts as complete")
			}
		}
	}
}

// An addition that is lost on the way is found out, wherever it was: it is not taken for something that was hidden.
func TestVerifyFindsLostAdditions(t *testing.T) {
	t.Parallel()
	h := svnfixture.NewHistory("0d0c61a6-2bd2-4c1f-9d3e-0a7b86e4d212")
	deep := "a/b/c/d/trunk/e/f/g"
	var nodes []svnfixture.Node
	for i := range deep {
		if deep[i] == '/' {
			nodes = append(nodes, svnfixture.Mkdir(deep[:i]))
		}
	}
	nodes = append(nodes, svnfixture.Mkdir(deep), svnfixture.Put(deep+"/file", "1"), svnfixture.Mkdir("a/b/c/d/branches"), svnfixture.Mkdir("trunk"),
		svnfixture.Mkdir("trunk/data"), svnfixture.Put("trunk/data/secret", "1"), svnfixture.Put("trunk/f", "1"), svnfixture.Put("a/f", "1"))
	h.Commit("alice", "Begin", nodes...)
	h.Commit("alice", "Branches", svnfixture.CopyDir("trunk", 1, "x"), svnfixture.CopyDir("a/b/c/d/trunk", 1, "a/b/c/d/branches/y"), svnfixture.CopyFile("a/f", 1, "a/copy"))
	h.Commit("alice", "More", svnfixture.Put("x/new", "1"), svnfixture.Put("a/b/c/d/branches/y/e/f/g/new", "1"), svnfixture.Put("x/edited", "1"),
		svnfixture.Mkdir("x/dir"), svnfixture.Put("x/dir/f", "1"), svnfixture.Put("trunk/new", "1"), svnfixture.CopyDir("x/data", 2, "x/more"))
	h.Commit("alice", "Edit", svnfixture.Edit("x/edited", "2"), svnfixture.CopyDir("x", 3, "z"), svnfixture.Mkdir("x/data/dir"))
	h.Commit("alice", "Edit", svnfixture.Edit("a/b/c/d/branches/y/e/f/g/file", "1"))
	repo := svnfixture.NewRepo(t)
	repo.Load(t, h.Bytes())
	const rules = "[/]\n* = r\n[/trunk/data]\n* =\n"
	addr := svnfixture.ServeAuthz(t, repo.Root, rules)
	server := davfixture.Serve(t, repo.Root, davfixture.Config{Authz: rules})
	for path, text := range map[string]string{
		"trunk/new":                    `"trunk/new" was last changed in r3`,
		"a/copy":                       `"a/copy" was last changed in r2`,
		"x/new":                        `"x/new" was last changed in r3`,
		"z":                            `"z" was last changed in r4`,
		"a/b/c/d/branches/y/e/f/g/new": `"a/b/c/d/branches/y/e/f/g/new" was last changed in r3`,
		"x/edited":                     `r4: "x/edited"`,
		"x/dir":                        `r3: "x/dir/f"`,
		"":                             "",
	} {
		for way, src := range map[string]origin.PathSource{"svn": dialAddr(t, addr, ""), "http": dialServer(t, server, "")} {
			staging := t.TempDir()
			c, err := Open(t.Context(), Options{Dir: staging, Writer: "a", Journal: OpenFileJournal(filepath.Join(staging, "journal"))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			err = c.Read(t.Context(), losing{src.(*svn.Source), path, origin.Add})
			if text == "" && err == nil {
				if want := []string{"x/data", "x/more", "z/data", "z/more"}; !slices.Equal(c.State().Hidden, want) {
					t.Errorf("%s: %q are hidden, want %q", way, c.State().Hidden, want)
				}
				continue
			}
			if !errors.Is(err, origin.ErrCorrupt) || !strings.Contains(err.Error(), text) || c.State().Complete {
				t.Errorf("%s without %s: got %v", way, path, err)
			}
		}
	}
}

// Rules that are changed between two runs make no difference to what is in Git already; what comes into sight by that is in
// the report, and what is lost at the same time is not.
func TestRulesChange(t *testing.T) {
	t.Parallel()
	const (
		open   = "[/]\n* = r\n"
		closed = open + "[/trunk/data]\n* =\n"
	)
	begin := func() *svnfixture.History {
		h := svnfixture.NewHistory("0d0c61a6-2bd2-4c1f-9d3e-0a7b86e4d213")
		h.Commit("alice", "Begin", svnfixture.Mkdir("trunk"), svnfixture.Mkdir("trunk/data"), svnfixture.Put("trunk/data/f", "1"), svnfixture.Put("trunk/f", "1"))
		h.Commit("alice", "Edit", svnfixture.Edit("trunk/f", "2"))
		return h
	}
	for name, tt := range map[string]struct {
		before, after string
		nodes         []svnfixture.Node // of r3
		loses         string
		hidden        []string
		text          string // of an error
	}{
		"opened":             {closed, open, []svnfixture.Node{svnfixture.Put("trunk/g", "1")}, "", []string{"trunk/data"}, ""},
		"opened and edited":  {closed, open, []svnfixture.Node{svnfixture.Edit("trunk/data/f", "2"), svnfixture.Put("trunk/data/g", "1")}, "", []string{"trunk/data"}, ""},
		"opened and copied":  {closed, open, []svnfixture.Node{svnfixture.CopyDir("trunk", 2, "x"), svnfixture.CopyDir("trunk/data", 1, "d")}, "", []string{"d", "trunk/data", "x/data"}, ""},
		"opened and deleted": {closed, open, []svnfixture.Node{svnfixture.Delete("trunk/data")}, "", []string{"trunk/data"}, ""},
		"opened and added":   {closed, open, []svnfixture.Node{svnfixture.Mkdir("trunk/data").Replacing(), svnfixture.Put("trunk/data/g", "1")}, "", []string{"trunk/data"}, ""},
		"opened and lost":    {closed, open, []svnfixture.Node{svnfixture.Put("trunk/g", "1")}, "trunk/g", nil, `"trunk/g" was last changed in r3`},
		"closed":             {open, closed, []svnfixture.Node{svnfixture.Edit("trunk/f", "3")}, "", []string{"trunk/data"}, ""},
		"closed and edited":  {open, closed, []svnfixture.Node{svnfixture.Edit("trunk/data/f", "3"), svnfixture.Edit("trunk/f", "3")}, "", []string{"trunk/data"}, ""},
		"closed and copied":  {open, closed, []svnfixture.Node{svnfixture.CopyDir("trunk", 2, "x")}, "", []string{"trunk/data"}, ""},
	} {
		for _, way := range []string{"svn", "http"} {
			t.Run(name+" over "+way, func(t *testing.T) {
				t.Parallel()
				repo := svnfixture.NewRepo(t)
				repo.Load(t, begin().Bytes())
				dial := func(rules string) *svn.Source {
					if way == "svn" {
						return dialAddr(t, svnfixture.ServeAuthz(t, repo.Root, rules), "").(*svn.Source)
					}
					return dialHTTP(t, repo, "", davfixture.Config{Authz: rules}).(*svn.Source)
				}
				c := convertFrom(t, dial(tt.before)).Conversion
				h := begin()
				before := len(h.Bytes())
				h.Commit("bob", "More", tt.nodes...)
				repo.Load(t, append([]byte("SVN-fs-dump-format-version: 2\n\n"), h.Bytes()[before:]...))
				err := c.Read(t.Context(), losing{dial(tt.after), tt.loses, origin.Add})
				if tt.text != "" {
					if !errors.Is(err, origin.ErrCorrupt) || !strings.Contains(err.Error(), tt.text) {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil || !slices.Equal(c.State().Hidden, tt.hidden) {
					t.Errorf("%q are hidden, want %q; %v", c.State().Hidden, tt.hidden, err)
				}
			})
		}
	}
}

// A copy of a directory in which something is hidden from the reader shows it: that is in the report, and nothing aborts.
func TestHiddenPaths(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewStandardRepo(t)
	const rules = "[/]\n* = r\n[/trunk/data]\n* =\n[/tags/v1.0]\n* =\n"
	want := []string{"branches/feature/data", "branches/stable/data", "tags/v1.1/data"}
	for way, src := range map[string]origin.PathSource{
		"svn":  dialAddr(t, svnfixture.ServeAuthz(t, repo.Root, rules), ""),
		"http": dialHTTP(t, repo, "", davfixture.Config{Authz: rules}),
	} {
		report := convertFrom(t, src).result.Report
		if !slices.Equal(report.Hidden, want) || report.ComparedEntries == 0 {
			t.Errorf("%s: %d entries compared, %q hidden", way, report.ComparedEntries, report.Hidden)
		}
	}
}
