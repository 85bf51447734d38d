package convert

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/gantrytest/hgrandom"
	"gantry/internal/origin"
)

// Histories of Mercurial that nobody would write convert to what hg says, whichever way they come, at once or in parts.
// GANTRY_SEEDS (as in 7 or 100-200) and GANTRY_REVISIONS choose others.
func TestRandomChangesets(t *testing.T) {
	t.Parallel()
	first, last := seeds(t)
	changesets := setting(t, "GANTRY_REVISIONS", 60)
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			if t.Run("whole", func(t *testing.T) { judgeRandomHg(t, seed, changesets) }) {
				return
			}
			passes, fails := 0, changesets // the search for a short one that fails
			for fails-passes > 1 {
				n := (passes + fails) / 2
				if t.Run(fmt.Sprintf("%d changesets", n), func(t *testing.T) { judgeRandomHg(t, seed, n) }) {
					passes = n
				} else {
					fails = n
				}
			}
		})
	}
}

func judgeRandomHg(t *testing.T, seed uint64, changesets int) {
	h := hgrandom.New(seed, changesets)
	repo := hgfixture.New(t)
	repo.Load(t, h)
	repo.Mark(t, hgrandom.Bookmarks(seed, h))
	address := repo.Serve(t)
	whole := convertHg(t, dialHg(t, address))
	whole.judgeHg(t, repo)

	noStream := repo.Serve(t, "server.uncompressed=no")
	whole.sameHg(t, "no stream", convertHg(t, dialHg(t, noStream)))
	if c := convertHg(t, hg10(t, h)); !slices.Equal(c.nodes(), whole.nodes()) {
		t.Error("as written: other commits than over http")
	}
	chance := rand.New(rand.NewPCG(seed, 1))
	var parts []origin.GraphSource
	for end := chance.IntN(changesets); end > 0 && end < changesets; end += 1 + chance.IntN(changesets) {
		parts = append(parts, openHgBundle(t, repo.Part(t, end).Bundle(t, "none-v2")))
	}
	whole.sameHg(t, fmt.Sprint(len(parts), " parts before"), convertHg(t, append(parts, dialHg(t, noStream))...))
}
