package convert

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"gantry/internal/history"
	"gantry/internal/origin"
)

// A server with rules that hide paths tells a copy as a copy, although the reader has not seen all of its source. What the
// rules hide at the source but not at the copy is edited later on, and was never told. Such a path is taken for absent, with
// all below it, until it is added anew; the report lists it. So is what was hidden until the rules were changed. What can
// have been hidden in neither way was lost.

// missing is an edit of something, or a copy from something, that was never told.
type missing struct {
	path     string
	revision int64
	edit     string
}

func (m *missing) Error() string {
	return fmt.Sprintf("%v: %s: %q does not exist in r%d", origin.ErrCorrupt, m.edit, m.path, m.revision)
}

func (m *missing) Unwrap() error { return origin.ErrCorrupt }

const maxHidden = 1000 // paths that are listed

// hidden tells what an origin hid, and came into sight later, from what was lost on the way.
type hidden struct {
	look   func(revision int64, path string) (origin.Sight, error) // nil: it cannot be asked
	told   iter.Seq2[*history.Record, error]                       // all that was told before
	agreed int64                                                   // as of this revision a listing showed nothing that was not told; 0 for none

	copies  history.Copies    // nil until they are needed
	refused map[string]bool   // paths where nobody may look, whatever the revision
	found   map[string]source // what was hidden, and what it was a copy of then
}

// source is what something is a copy of; the zero source for nothing.
type source struct {
	path     string
	revision int64
}

// begin makes ready for an origin, nil for one that cannot be asked.
func (h *hidden) begin(ctx context.Context, src origin.Lister, told iter.Seq2[*history.Record, error], agreed int64) {
	h.look, h.told, h.agreed = nil, told, agreed
	if src != nil {
		h.look = func(revision int64, path string) (origin.Sight, error) { return src.Look(ctx, revision, path) }
	}
	h.refused = map[string]bool{}
}

// see is look, with few questions: rules go by path.
func (h *hidden) see(path string, revision int64) (origin.Sight, error) {
	if h.refused[path] {
		return origin.Refused, nil
	}
	sight, err := h.look(revision, path)
	if sight == origin.Refused {
		h.refused[path] = true
	}
	return sight, err
}

// hid reports whether what is at a path as of a revision, and was never told, was hidden when it came there.
func (a *applier) hid(path string, revision int64) (bool, error) {
	h := &a.hidden
	if h.look == nil {
		return false, nil
	}
	if err := a.learnCopies(); err != nil {
		return false, err
	}
	var of source
	of.path, of.revision, _ = h.copies.Source(path, revision)
	if known, ok := h.found[path]; ok && known == of {
		return true, nil
	}
	hid, err := a.hidAtSource(source{path, revision})
	if hid {
		h.found[path] = of
	}
	return hid, err
}

// hidAtSource follows the copies back to where the origin refuses to show the first of them, or began to show it.
func (a *applier) hidAtSource(p source) (bool, error) {
	h := &a.hidden
	for {
		path, revision, ok := h.copies.Source(p.path, p.revision)
		if !ok {
			break
		}
		p = source{path, revision}
		if sight, err := h.see(path, revision); err != nil || sight != origin.Present {
			return sight == origin.Refused, err
		}
		if told, err := a.wasTold(p); told || err != nil {
			return false, err
		}
	}
	if refused, err := a.isBelowRefused(p); refused || err != nil {
		return refused, err
	}
	p.revision = min(p.revision, h.agreed)
	if p.revision == 0 {
		return false, nil
	}
	if told, err := a.wasTold(p); told || err != nil {
		return false, err
	}
	sight, err := h.see(p.path, p.revision)
	return sight == origin.Present, err
}

// isBelowRefused reports whether the origin refuses to show something that was never told, or a directory above it: it may
// show what is in a directory that it hides.
func (a *applier) isBelowRefused(p source) (bool, error) {
	for end := range len(p.path) + 1 {
		if end < len(p.path) && p.path[end] != '/' {
			continue
		}
		above := source{p.path[:end], p.revision}
		if told, err := a.wasTold(above); err != nil {
			return false, err
		} else if told {
			continue
		}
		if sight, err := a.hidden.see(above.path, above.revision); err != nil || sight == origin.Refused {
			return sight == origin.Refused, err
		}
	}
	return false, nil
}

// wasTold reports whether something was read.
func (a *applier) wasTold(p source) (bool, error) {
	root, err := a.roots.at(p.revision)
	if err != nil {
		return false, err
	}
	e, err := history.Walk(a.store, root, p.path)
	return e.Mode != 0, err
}

// learnCopies brings what is known of copies up to the edit that is being applied.
func (a *applier) learnCopies() error {
	h := &a.hidden
	if h.copies == nil {
		copies := history.Copies{}
		for r, err := range h.told {
			if err != nil {
				return err
			}
			copies.Add(r)
		}
		h.copies = copies
	}
	if a.root != nil && a.record.Number > a.last {
		running := history.Record{Number: a.record.Number, Copies: a.record.Copies}
		a.root.list(&running, a.root.action == origin.Add)
		h.copies.Add(&running)
	}
	return nil
}

// listHidden adds paths to the list of those that were hidden, as far as that is of use.
func (c *Conversion) listHidden() {
	all := slices.Clone(c.state.Hidden)
	for p := range c.applier.hidden.found {
		all = append(all, shown(p))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	c.state.Hidden = all[:min(len(all), maxHidden)]
}
