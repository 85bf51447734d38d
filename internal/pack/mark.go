package pack

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sort"
)

// position names an object of a store by one small number: its ordinal in its segment's index, after the objects of the
// segments before. It is valid while the store does not change.
type position uint32

const noPosition position = 1<<32 - 1

// bitset is a set of positions.
type bitset []uint64

func (b bitset) has(p position) bool { return b[p/64]&(1<<(p%64)) != 0 }
func (b bitset) add(p position)      { b[p/64] |= 1 << (p % 64) }

// positions are those of all objects of a store.
type positions struct {
	segments []*segment
	first    []int // by segment, the position of its first object; one more entry for the end
}

// marker finds what can be reached from some roots.
type marker struct {
	positions
	src  *Store
	have func(ID) bool

	marked bitset
	// What was marked. Commits are in the order of the walk: most children before their parents. Trees and blobs are
	// in the opposite order: that reads the base of a delta shortly before the delta, and writes it before.
	commits, tags, trees, blobs []position

	commitTrees []position // trees of the commits, not marked yet
	seen        []reference
}

// reference is a table entry of what was found and marked lately. Most entries of a tree are those of the version
// before it.
type reference struct {
	id  ID
	typ Type
}

func newMarker(src *Store, have func(ID) bool) *marker {
	if have == nil {
		have = func(ID) bool { return false }
	}
	m := &marker{positions: newPositions(src), src: src, have: have, seen: make([]reference, 1<<15)}
	m.marked = make(bitset, m.count()/64+1)
	return m
}

func newPositions(s *Store) positions {
	all := positions{segments: s.segments, first: []int{0}}
	for i, g := range all.segments {
		all.first = append(all.first, all.first[i]+g.index.count())
	}
	return all
}

func (all *positions) count() int { return all.first[len(all.segments)] }

// locate finds an object, noPosition when there is none.
func (all *positions) locate(id ID) (position, record, error) {
	for i := len(all.segments) - 1; i >= 0; i-- {
		r, ordinal, ok, err := all.segments[i].find(id)
		if err != nil {
			return noPosition, r, err
		}
		if ok {
			return position(all.first[i] + ordinal), r, nil
		}
	}
	return noPosition, record{}, nil
}

func (all *positions) recordAt(p position) (*segment, record, error) {
	i := sort.Search(len(all.first), func(i int) bool { return all.first[i] > int(p) }) - 1
	r, err := all.segments[i].index.at(int(p) - all.first[i])
	return all.segments[i], r, err
}

// anyType stands for the types of all objects.
const anyType Type = 0

// find finds an object that something refers to, noPosition when the receiver has it.
func (m *marker) find(id ID, want Type) (position, record, error) {
	if m.have(id) {
		return noPosition, record{}, nil
	}
	p, r, err := m.locate(id)
	switch {
	case err != nil:
		return noPosition, r, err
	case p == noPosition:
		return noPosition, r, fmt.Errorf("%w: %v", ErrMissing, id)
	case want != anyType && r.typ() != want:
		return noPosition, r, fmt.Errorf("%w: %v is a %v and not a %v", ErrCorrupt, id, r.typ(), want)
	}
	return p, r, nil
}

// mark adds an object to the set and the list of its type. It reports whether it is new there.
func (m *marker) mark(p position, t Type) bool {
	if m.marked.has(p) {
		return false
	}
	m.marked.add(p)
	switch t {
	case Commit:
		m.commits = append(m.commits, p)
	case Tag:
		m.tags = append(m.tags, p)
	case Tree:
		m.trees = append(m.trees, p)
	case Blob:
		m.blobs = append(m.blobs, p)
	}
	return true
}

func (m *marker) markAll(ctx context.Context, roots []ID) error {
	for _, id := range roots {
		p, r, err := m.find(id, anyType)
		if err == nil && p != noPosition {
			err = m.markHistory(ctx, p, r.typ())
		}
		if err != nil {
			return fmt.Errorf("root %v: %w", id, err)
		}
	}
	trees := m.commitTrees
	m.commitTrees = nil
	for i, p := range slices.Backward(trees) {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := m.markTree(p); err != nil {
			return err
		}
	}
	return nil
}

// markHistory marks the commits and tags that can be reached from one object, and notes their trees.
func (m *marker) markHistory(ctx context.Context, p position, t Type) error {
	if t == Tree {
		m.commitTrees = append(m.commitTrees, p)
		return nil
	}
	type node struct {
		position
		typ Type
	}
	stack := []node{{p, t}}
	for step := 0; len(stack) > 0; step++ {
		if step%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !m.mark(n.position, n.typ) || n.typ == Blob {
			continue
		}
		g, r, err := m.recordAt(n.position)
		if err != nil {
			return err
		}
		data, err := m.src.rebuild(g, r)
		if err != nil {
			return fmt.Errorf("%v %v: %w", n.typ, r.id(), err)
		}
		for ref, err := range headReferences(n.typ, data) {
			var p position
			if err == nil {
				p, _, err = m.find(ref.id, ref.typ)
			}
			if err != nil {
				return fmt.Errorf("%v %v: %w", n.typ, r.id(), err)
			}
			switch {
			case p == noPosition:
			case ref.typ == Tree:
				m.commitTrees = append(m.commitTrees, p) // at once: in the order of the commits
			default:
				stack = append(stack, node{p, ref.typ})
			}
		}
	}
	return nil
}

// markTree marks a tree and everything below it.
func (m *marker) markTree(root position) error {
	if !m.mark(root, Tree) {
		return nil
	}
	stack := []position{root}
	for len(stack) > 0 {
		g, r, err := m.recordAt(stack[len(stack)-1])
		if err != nil {
			return err
		}
		stack = stack[:len(stack)-1]
		data, err := m.src.text(g, r)
		if err != nil {
			return fmt.Errorf("tree %v: %w", r.id(), err)
		}
		for e, err := range TreeEntries(data) {
			if err != nil {
				return fmt.Errorf("tree %v: %w", r.id(), err)
			}
			if e.Mode == ModeGitlink {
				continue
			}
			p, err := m.markEntry(&e)
			if err != nil {
				return fmt.Errorf("tree %v, entry %q: %w", r.id(), e.Name, err)
			}
			if p != noPosition && e.IsDir() {
				stack = append(stack, p)
			}
		}
	}
	return nil
}

// markEntry marks what a tree entry refers to. It returns its position when it is new.
func (m *marker) markEntry(e *TreeEntry) (position, error) {
	want := reference{e.ID, Blob}
	if e.IsDir() {
		want.typ = Tree
	}
	slot := &m.seen[binary.LittleEndian.Uint32(e.ID[:])%uint32(len(m.seen))]
	if *slot == want {
		return noPosition, nil
	}
	p, _, err := m.find(want.id, want.typ)
	if err != nil {
		return noPosition, err
	}
	*slot = want
	if p == noPosition || !m.mark(p, want.typ) {
		return noPosition, nil
	}
	return p, nil
}

// headReferences yields what the head of a commit or a tag refers to.
func headReferences(t Type, data []byte) iter.Seq2[reference, error] {
	return func(yield func(reference, error) bool) {
		bad := fmt.Errorf("%w: a head that is not that of a %v", ErrCorrupt, t)
		if t == Tag {
			id, rest, ok := cutID(data, "object ")
			word, _, _ := bytes.Cut(rest, []byte("\n"))
			name, isType := bytes.CutPrefix(word, []byte("type "))
			of := slices.Index(typeNames[:], string(name))
			if !ok || !isType || of <= 0 {
				yield(reference{}, bad)
				return
			}
			yield(reference{id, Type(of)}, nil)
			return
		}
		id, rest, ok := cutID(data, "tree ")
		if !ok {
			yield(reference{}, bad)
			return
		}
		more := yield(reference{id, Tree}, nil)
		for more {
			if id, rest, ok = cutID(rest, "parent "); !ok {
				return
			}
			more = yield(reference{id, Commit}, nil)
		}
	}
}

// cutID cuts a line of a key and an id off.
func cutID(data []byte, key string) (ID, []byte, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(key))
	const digits = 2 * len(Zero)
	if !ok || len(rest) <= digits || rest[digits] != '\n' {
		return Zero, data, false
	}
	id, err := ParseID(string(rest[:digits]))
	return id, rest[digits+1:], err == nil
}
