package history

import (
	"path"
	"slices"

	"gantry/internal/origin"
)

// Copies remembers what was copied where, by path, and which of it was made anew or deleted since.
type Copies map[string][]making

// making is what a revision made of a path.
type making struct {
	revision int64
	copied   bool // else it was made of nothing, or deleted
	from     string
	fromRev  int64
}

// Add takes note of a revision. They come in their order; the last one may come again, when more of it is known.
func (cs Copies) Add(r *Record) {
	for i := range r.Dirs {
		if c := &r.Dirs[i]; c.Action != origin.Modify {
			cs.add(r.Number, c)
		}
	}
	for _, c := range r.Copies {
		cs.put(c.Path, making{r.Number, true, c.From, c.Rev})
	}
}

func (cs Copies) put(p string, m making) {
	events := cs[p]
	if n := len(events); n > 0 && events[n-1].revision == m.revision {
		events = events[:n-1]
	}
	cs[p] = append(events, m)
}

// add takes note of an addition or deletion of a directory.
func (cs Copies) add(revision int64, c *DirChange) {
	if _, made := cs.latest(c.Path, revision); c.Copied || made != nil {
		cs.put(c.Path, making{revision, c.Copied, c.CopyPath, c.CopyRev})
	}
}

// latest finds what last happened to a path, or to a directory above it, as of a revision. It is nil if that was no copy
// ever.
func (cs Copies) latest(p string, revision int64) (at string, made *making) {
	for dir := p; ; dir, _ = split(dir) {
		events := cs[dir]
		for i := range slices.Backward(events) {
			if events[i].revision > revision {
				continue
			}
			if made == nil || events[i].revision > made.revision {
				at, made = dir, &events[i]
			}
			break
		}
		if dir == "" {
			return at, made
		}
	}
}

// Source tells what a path as of a revision is a copy of, by itself or with a directory above it. The result is of an
// older revision.
func (cs Copies) Source(p string, revision int64) (from string, fromRev int64, ok bool) {
	at, made := cs.latest(p, revision)
	if made == nil || !made.copied {
		return "", 0, false
	}
	below, _ := cutDir(p, at)
	return path.Join(made.from, below), made.fromRev, true
}
