package convert

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gantry/internal/history"
	"gantry/internal/pack"
)

// What earlier owners left uncommitted goes; what counts, and what later owners wrote, stays.
func TestRemoveStrays(t *testing.T) {
	dir := t.TempDir()
	keep := []string{"log-0000-1", "1-1.objects", "1-1.journal", "1-1-350.index", "log-0001-3", "3-1.objects", "3-1-35.index.3", "journal"}
	gone := []string{"log-0001-2", "1-2.objects", "1-2.journal", "2-1.objects", "2-1-35.index", "1-2-35.index.2"}
	for _, name := range slices.Concat(keep, gone) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := State{Log: []history.Segment{{Name: "log-0000-1"}}, Packs: []pack.Segment{{Name: "1-1"}}}
	if err := removeStrays(dir, state, func(writer string) bool { return writer < "3" }); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(keep)
	if !slices.Equal(left, keep) {
		t.Errorf("left are %v, want %v", left, keep)
	}
}
