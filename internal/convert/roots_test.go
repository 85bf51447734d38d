package convert

import (
	"math/rand/v2"
	"testing"

	"gantry/internal/history"
	"gantry/internal/pack"
)

// The root as of any revision is the last one before it, however many there are, and however they are told.
func TestRoots(t *testing.T) {
	t.Parallel()
	rs := newRoots(t.TempDir())
	defer rs.list.Close()
	chance := rand.New(rand.NewPCG(3, 4))
	want := []history.Node{history.EmptyNode} // by revision
	for n := range 5000 {
		for range chance.IntN(3) {
			want = append(want, want[len(want)-1])
		}
		root := want[len(want)-1]
		if chance.IntN(4) > 0 {
			root = history.Node{Tree: pack.Sum(pack.Tree, []byte{byte(n), byte(n >> 8)}), Side: pack.ID{byte(n)}}
		}
		if err := rs.add(int64(len(want)), root); err != nil {
			t.Fatal(err)
		}
		want = append(want, root)
		revision := chance.IntN(len(want) + 5)
		got, err := rs.at(int64(revision))
		if err != nil || got != want[min(revision, len(want)-1)] {
			t.Fatalf("r%d of %d: %v, %v", revision, len(want), got, err)
		}
	}
}
