package history

import (
	"errors"
	"math"

	"gantry/internal/pack"
	"gantry/internal/rows"
)

// commits are all commits that were written, in their order. There may be millions: what each leaves in memory is small and
// has no pointers, and what is rarely asked for is on disk.
type commits struct {
	links [][]link // in pieces, which stay where they are while others come
	ids   *rows.List
}

// index is a commit's place in commits.
type index int32

const none index = -1

const maxCommits = math.MaxInt32

// link says where a commit stands.
type link struct {
	revision int64
	parent   index // the first one; others are in mapper.further
	branch   int32 // place in mapper.all
	same     bool  // its tree is that of its parent
}

const linksInPiece = 4096

// made are the ids of a commit and of its tree.
type made struct{ id, tree pack.ID }

func newCommits(dir string) commits {
	return commits{ids: rows.New(dir, len(made{}.id)+len(made{}.tree))}
}

func (cs *commits) len() int { return cs.ids.Len() }

func (cs *commits) add(l link, c made) (index, error) {
	n := cs.len()
	if n == maxCommits {
		return none, errors.New("there are more commits than can be told apart")
	}
	if err := cs.ids.Append(append(c.id[:], c.tree[:]...)); err != nil {
		return none, err
	}
	if n%linksInPiece == 0 {
		cs.links = append(cs.links, make([]link, 0, linksInPiece))
	}
	piece := &cs.links[len(cs.links)-1]
	*piece = append(*piece, l)
	return index(n), nil
}

func (cs *commits) at(i index) *link { return &cs.links[i/linksInPiece][i%linksInPiece] }

func (cs *commits) made(i index) (c made, err error) {
	row, err := cs.ids.At(int(i))
	if err == nil {
		copy(c.id[:], row)
		copy(c.tree[:], row[len(c.id):])
	}
	return c, err
}

// id is that of the commit alone.
func (cs *commits) id(i index) (pack.ID, error) {
	c, err := cs.made(i)
	return c.id, err
}
