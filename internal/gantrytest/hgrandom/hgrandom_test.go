package hgrandom

import (
	"bytes"
	"testing"

	"gantry/internal/gantrytest/hgfixture"
)

// hg finds nothing wrong with what was invented, and the same seed gives the same.
func TestNew(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		h := New(seed, 80)
		if !bytes.Equal(h.Bundle(), New(seed, 80).Bundle()) {
			t.Errorf("seed %d gives two histories", seed)
		}
		if New(seed, 30).Node(30) != h.Node(30) {
			t.Errorf("seed %d: a shorter history is not the beginning of a longer one", seed)
		}
		repo := hgfixture.New(t)
		repo.Load(t, h)
		repo.Run(t, "verify", "-q")
	}
}
