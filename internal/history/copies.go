package history

import (
	"path"
	"slices"

	"gantry/internal/origin"
)

// copies remembers which directories outside of all branches are copies, by path. A branch that is moved out of the
// layout and comes back continues where it was.
type copies map[string][]copied

// copied is where a directory came from in a revision; not ok when it was made anew or deleted.
type copied struct {
	revision int64
	from     string
	fromRev  int64
	ok       bool
}

// add takes note of an addition or deletion.
func (cs copies) add(revision int64, c *DirChange) {
	if c.Action != origin.Add { // something was there
		for dir, events := range cs {
			if isBelow(dir, c.Path) {
				cs[dir] = append(events, copied{revision: revision})
			}
		}
	}
	if c.Copied {
		cs[c.Path] = append(cs[c.Path], copied{revision: revision, from: c.CopyPath, fromRev: c.CopyRev, ok: true})
	}
}

// source tells what a path as of a revision is a copy of, by itself or with the nearest directory above it. The result
// is of an older revision.
func (cs copies) source(p string, revision int64) (from string, fromRev int64, ok bool) {
	for dir := p; ; dir, _ = split(dir) {
		for _, c := range slices.Backward(cs[dir]) {
			if c.revision > revision {
				continue
			}
			if !c.ok {
				break
			}
			below, _ := cutDir(p, dir)
			return path.Join(c.from, below), c.fromRev, true
		}
		if dir == "" {
			return "", 0, false
		}
	}
}
