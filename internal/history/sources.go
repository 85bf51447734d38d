package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"gantry/internal/pack"
)

// candidate is one of the commits that it was copied together from.
type candidate struct {
	commit   index
	path     string // of the branch that the commit is of
	revision int64  // that was copied
	entries  int    // how many of the branch's entries are from it
	whole    place  // the branch itself, when its root was copied
	isAll    bool   // it has exactly the branch's files
}

// source finds the commit that a copy continues: the newest, as of a revision, of the branch that a path lies in. File
// tells that the path is one of a file.
func (m *mapper) source(p string, revision int64, file bool) candidate {
	for {
		find := m.layout.at
		if file {
			find = m.layout.fileAt
		}
		at := find(p, revision)
		if at.root != "" || at.in {
			if b := m.lifeAt(at.root, revision); b != nil {
				c := candidate{commit: m.at(b, revision), path: b.shown(), revision: revision}
				if at.rest == "" {
					c.whole = place{b, revision}
				}
				return c
			}
		}
		var ok bool
		if p, revision, ok = m.outside.Source(p, revision); !ok {
			return candidate{commit: none}
		}
	}
}

// settle finds where the branches that a revision began come from: each from what most of its entries were copied from.
func (m *mapper) settle(r *Record) error {
	if len(m.fresh) == 0 {
		return nil
	}
	for i := range r.Dirs {
		if c := &r.Dirs[i]; c.Copied {
			m.copiedInto(m.layout.at(c.Path, r.Number), c.CopyPath, c.CopyRev, false)
		}
	}
	for _, c := range r.Copies {
		m.copiedInto(m.layout.fileAt(c.Path, r.Number), c.From, c.Rev, true)
	}
	for _, b := range m.touched {
		f := m.fresh[b]
		if f == nil || b.to < r.Number {
			continue
		}
		if err := m.choose(r, b, f); err != nil {
			return err
		}
	}
	clear(m.fresh)
	return nil
}

// fresh is a branch that the running revision begins.
type fresh struct {
	from   []candidate   // the first one is what the branch as a whole is a copy of
	copied bool          // there is such a first one
	direct int           // entries that are copies by themselves
	known  map[index]int // places in from
}

// comeFrom says what a branch that has just begun is a copy of as a whole.
func (m *mapper) comeFrom(b *life, from candidate) {
	if from.commit != none {
		m.fresh[b].count(from, 0)
		m.fresh[b].copied = true
	}
}

// copiedInto counts a copy into a branch which the revision begins. Those that are entries of it have weight; of others,
// all that matters is whether the branch has become what they are from.
func (m *mapper) copiedInto(at location, from string, revision int64, file bool) {
	f := m.fresh[m.alive[at.root]]
	if f == nil || !at.in && at.root != loose || at.rest == "" {
		return
	}
	entries := 1
	if dir, _ := split(at.rest); at.in && dir != "" {
		entries = 0
	}
	f.direct += entries
	if c := m.source(from, revision, file); c.commit != none {
		f.count(c, entries)
	}
}

func (f *fresh) count(c candidate, entries int) {
	i, ok := f.known[c.commit]
	if !ok {
		i = len(f.from)
		f.known[c.commit] = i
		f.from = append(f.from, c)
	}
	f.from[i].entries += entries
}

func (m *mapper) choose(r *Record, b *life, f *fresh) error {
	if len(f.from) == 0 {
		return nil
	}
	all, err := m.entries(b.node.Tree)
	if err != nil {
		return err
	}
	if f.copied {
		f.from[0].entries += max(all-f.direct, 0)
	}
	tree, err := m.dressed(r, b)
	if err != nil {
		return err
	}
	for i := range f.from {
		c, err := m.commits.made(f.from[i].commit)
		if err != nil {
			return err
		}
		f.from[i].isAll = c.tree == tree
	}
	rank := func(c candidate) int {
		if c.isAll {
			return all + 1
		}
		return c.entries
	}
	slices.SortStableFunc(f.from, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.commit, a.commit))
	})
	taken := f.from[0]
	if !f.copied && 2*taken.entries < all && !taken.isAll {
		return nil // most of it is new
	}
	b.start = taken.commit
	if len(f.from) > 1 {
		s := Source{Path: b.shown(), Revision: r.Number, Taken: taken.String()}
		for _, other := range f.from[1:min(len(f.from), maxOthers+1)] {
			s.Others = append(s.Others, other.String())
		}
		m.chosen = append(m.chosen, s)
	}
	return nil
}

// maxOthers bounds how many sources are listed that were not taken.
const maxOthers = 20

func (c candidate) String() string { return fmt.Sprintf("%s@%d", c.path, c.revision) }

// entries counts those of a tree.
func (m *mapper) entries(id pack.ID) (n int, err error) {
	data, err := Load(m.store, id)
	if err != nil {
		return 0, err
	}
	for _, err := range pack.TreeEntries(data) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// fileAt tells where a file lies. It is no branch, whatever its path fits.
func (l *layout) fileAt(p string, revision int64) location {
	dir, name := split(p)
	at := l.at(dir, revision)
	if at.root == loose {
		at.rest, _ = cutDir(p, l.scope)
	} else {
		at.rest = path.Join(at.rest, name)
	}
	return at
}
