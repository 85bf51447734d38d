package gitdir_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// Everything that git lists is in the set, with and without bitmaps, and nothing else.
func TestReachable(t *testing.T) {
	g, err := gitdir.New(gitdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(gitfixture.Repository(t, "project.git"), "project.git")
	for _, when := range []string{"before", "after"} {
		set, err := g.Reachable(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(gitfixture.Git(t, dir, "rev-list", "--objects", "--all", "--no-object-names"))
		if len(all) == 0 || set.Len() != len(all) {
			t.Errorf("%s maintenance: %d objects, git lists %d", when, set.Len(), len(all))
		}
		for _, name := range all {
			if id, err := pack.ParseID(name); err != nil || !set.Has(id) {
				t.Errorf("%s maintenance: %s is not in the set (%v)", when, name, err)
			}
		}
		if set.Has(pack.ID{1}) {
			t.Errorf("%s maintenance: the set holds what nobody has", when)
		}
		if err := g.Maintain(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
}
