package convert

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Files of a staging directory: the raw log's log-NUMBER-WRITER, the store's WRITER-NUMBER with several endings.
var (
	logName  = regexp.MustCompile(`^log-\d+-([^-]+)$`)
	packName = regexp.MustCompile(`^(([^-]+)-\d+)[.-]`)
)

// removeStrays deletes what earlier owners of the directory wrote and did not commit before they were killed. It goes by
// the owners' words, so that an owner who was overtaken, and wakes with an old state, never deletes what came after it.
func removeStrays(dir string, state State, earlier func(writer string) bool) error {
	kept := map[string]bool{}
	for _, s := range state.Log {
		kept[s.Name] = true
	}
	for _, s := range slices.Concat(state.Packs, state.Texts) {
		kept[s.Name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		segment, writer := owner(e.Name())
		if writer == "" || kept[segment] || !earlier(writer) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// owner returns the segment that a file belongs to and who wrote it, "" for files of another kind.
func owner(name string) (segment, writer string) {
	if m := logName.FindStringSubmatch(name); m != nil {
		return name, m[1]
	}
	if m := packName.FindStringSubmatch(name); m != nil && !strings.HasPrefix(name, "log-") {
		return m[1], m[2]
	}
	return "", ""
}
