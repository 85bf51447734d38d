package rows_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"gantry/internal/rows"
)

// Every row is what was appended, wherever it is by then, and no name of a file is left.
func TestList(t *testing.T) {
	t.Parallel()
	for _, size := range []int{8, 48, 5000} {
		dir := t.TempDir()
		l := rows.New(dir, size)
		row := make([]byte, size)
		chance := rand.New(rand.NewPCG(1, uint64(size)))
		for n := range 6000 {
			binary.LittleEndian.PutUint64(row[size-8:], uint64(n)*2654435761)
			if err := l.Append(row); err != nil {
				t.Fatal(err)
			}
			i := chance.IntN(n + 1)
			got, err := l.At(i)
			if err != nil || len(got) != size || binary.LittleEndian.Uint64(got[size-8:]) != uint64(i)*2654435761 {
				t.Fatalf("row %d of %d, size %d: %x, %v", i, n, size, got, err)
			}
		}
		if l.Len() != 6000 {
			t.Errorf("%d rows", l.Len())
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("left behind: %v, %v", names, err)
		}
		if err := l.Append(row[:size-1]); err == nil {
			t.Error("a row that is too short was taken")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
