package hg

import (
	"strings"
	"testing"

	"gantry/internal/revlog"
)

// newUnfinishedRepo has changesets that are secret, obsolete, and obsolete with something built on them.
func newUnfinishedRepo(t *testing.T, config ...string) *repo {
	t.Helper()
	r := newRepo(t, append(config, "experimental.evolution=all", "server.uncompressedallowsecret=yes")...)
	r.commit(t, "0", map[string]string{"a": "0\n"})
	r.commit(t, "1", map[string]string{"a": "1\n"})
	r.run(t, "phase", "-p", "1")
	r.commit(t, "2", map[string]string{"a": "2\n"})
	r.run(t, "commit", "-q", "--amend", "-m", "2, again", "-d", "4 0")
	r.run(t, "update", "-q", "1")
	r.commit(t, "3", map[string]string{"d": "3\n"})
	base := strings.TrimSpace(r.run(t, "log", "-r", ".", "-T", "{node}"))
	r.commit(t, "4", map[string]string{"d": "4\n"})
	r.run(t, "bookmark", "-i", "mark")
	r.run(t, "update", "-q", base)
	r.run(t, "commit", "-q", "--amend", "-m", "3, again")
	return r
}

// Nobody is shown what the repository itself keeps to itself, however it is told.
func TestShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, config, spec string
		secret             bool
	}{
		{"changegroup", "phases.publish=no", "none-v2;obsolescence=yes;phases=yes", true},
		{"stream", "phases.publish=no", "none-v2;stream=v2;obsolescence=yes", true},
		// Its stream does not tell of phases.
		{"stream of what publishes", "phases.publish=yes", "none-v2;stream=v2;obsolescence=yes", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newUnfinishedRepo(t, tt.config)
			if tt.secret {
				r.commit(t, "secret", map[string]string{"s": "s\n"})
				r.run(t, "phase", "-fs", ".")
				r.run(t, "bookmark", "-i", "hidden mark")
			}
			m := pull(t, openBundleFile(t, r.bundle(t, tt.spec, "--all")))
			judge(t, r, m)
		})
	}
}

// What came is shown with the bookmarks that were told of it, but for those on secret changesets and on none.
func TestShownBookmarks(t *testing.T) {
	t.Parallel()
	in := newIntake(t.Context(), newModel(), "")
	one, two := revlog.Node{1}, revlog.Node{2}
	in.graph.add(&revlog.Revision{Node: one})
	in.graph.add(&revlog.Revision{Node: two, P1: one})
	in.told.phaseRoots = []phased{{secret, two}}
	for name, n := range map[string]revlog.Node{"shown": one, "secret": two, "elsewhere": {3}} {
		if err := in.told.bookmark(name, n); err != nil {
			t.Fatal(err)
		}
	}
	got := in.shown()
	if len(got.Heads) != 1 || got.Heads[0] != one {
		t.Errorf("heads are %v", got.Heads)
	}
	if len(got.Bookmarks) != 1 || got.Bookmarks["shown"] != one {
		t.Errorf("bookmarks are %v", got.Bookmarks)
	}
}
