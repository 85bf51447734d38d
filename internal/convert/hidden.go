package convert

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gantry/internal/origin"
)

// A server with rules that hide paths tells a copy as a copy, although the reader has not seen all of its source. What the
// rules hide at the source but not at the copy is edited later on, and was never told. Such a path is taken for absent, with
// all below it, until it is added anew; the report lists it.

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

// hidden are the paths that an origin did not tell of, and shows or refuses to show when it is asked.
type hidden struct {
	ask   func(dir string, revision int64) ([]origin.Entry, error) // nil: it cannot be asked
	roots map[string]bool
}

// explains reports whether an edit is of something hidden.
func (h *hidden) explains(m *missing) (bool, error) {
	if h.ask == nil {
		return false, nil
	}
	for p := m.path; ; p = p[:strings.LastIndexByte(p, '/')] {
		if h.roots[p] {
			return true, nil
		}
		if !strings.Contains(p, "/") {
			break
		}
	}
	for _, revision := range []int64{m.revision, m.revision - 1} { // a deleted path was in the one before
		dir, base := path.Split(m.path)
		list, err := h.ask(strings.TrimSuffix(dir, "/"), revision)
		if errors.Is(err, origin.ErrTemporary) {
			return false, err
		}
		if err == nil && (list == nil || slices.ContainsFunc(list, func(e origin.Entry) bool { return e.Name == base })) {
			h.roots[m.path] = true
			return true, nil
		}
	}
	return false, nil
}

// ask lets the applier ask a source for directories, where it can tell; the returned function ends that.
func (c *Conversion) ask(ctx context.Context, src origin.PathSource) (end func()) {
	lister, ok := src.(origin.Lister)
	if !ok {
		return func() {}
	}
	c.applier.hidden.ask = func(dir string, revision int64) ([]origin.Entry, error) {
		lists, err := lister.List(ctx, revision, []string{dir})
		if err != nil {
			return nil, err
		}
		return lists[0], nil
	}
	return func() { c.applier.hidden.ask = nil }
}

// listHidden adds paths to the list of those that were hidden, as far as that is of use.
func (c *Conversion) listHidden(paths []string) {
	all := slices.Clone(c.state.Hidden)
	for _, p := range paths {
		all = append(all, shown(p))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	c.state.Hidden = all[:min(len(all), maxHidden)]
}
