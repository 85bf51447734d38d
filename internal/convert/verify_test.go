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
