package svnrandom_test

import (
	"bytes"
	"testing"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
	"gantry/internal/gantrytest/svnrandom"
)

// Subversion takes what is invented; the same seed invents the same, and a shorter history is the beginning of a longer.
func TestNew(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		h := svnrandom.New(seed, 40)
		repo := svnfixture.NewRepo(t)
		repo.Load(t, h.Bytes())
		if head, err := svnjudge.Open(t, repo.Dir).Head(); err != nil || head != h.Head() {
			t.Errorf("seed %d: r%d, %v; want r%d", seed, head, err, h.Head())
		}
		if !bytes.Equal(svnrandom.New(seed, 40).Bytes(), h.Bytes()) {
			t.Errorf("seed %d: not the same again", seed)
		}
		if !bytes.HasPrefix(h.Bytes(), svnrandom.New(seed, 20).Bytes()) {
			t.Errorf("seed %d: the shorter history is another one", seed)
		}
	}
}
