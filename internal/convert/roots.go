package convert

import (
	"encoding/binary"
	"sort"

	"gantry/internal/history"
	"gantry/internal/pack"
	"gantry/internal/rows"
)

// roots knows the root as of every revision. Memory holds the newest one, and where in the list to look for others.
type roots struct {
	list   *rows.List
	marks  []int64 // the revisions of the first of each rootsMarked rows
	newest history.Node
	last   int64 // the revision since when it is that
}

// A row is a revision and the root that it made.
const (
	rootRow     = 8 + 2*len(pack.ID{})
	rootsMarked = 64
)

func newRoots(dir string) roots {
	return roots{list: rows.New(dir, rootRow), newest: history.EmptyNode}
}

// add says what the root is from a revision on. Revisions come in their order.
func (rs *roots) add(revision int64, root history.Node) error {
	if root == rs.newest && rs.list.Len() > 0 {
		return nil
	}
	if rs.list.Len()%rootsMarked == 0 {
		rs.marks = append(rs.marks, revision)
	}
	var row [rootRow]byte
	binary.BigEndian.PutUint64(row[:], uint64(revision))
	copy(row[8:], root.Tree[:])
	copy(row[8+len(root.Tree):], root.Side[:])
	rs.newest, rs.last = root, revision
	return rs.list.Append(row[:])
}

// at returns the root as of a revision.
func (rs *roots) at(revision int64) (history.Node, error) {
	if revision >= rs.last {
		return rs.newest, nil
	}
	mark := sort.Search(len(rs.marks), func(i int) bool { return rs.marks[i] > revision })
	root := history.EmptyNode
	if mark == 0 {
		return root, nil
	}
	for i := (mark - 1) * rootsMarked; i < min(mark*rootsMarked, rs.list.Len()); i++ {
		row, err := rs.list.At(i)
		if err != nil {
			return root, err
		}
		if int64(binary.BigEndian.Uint64(row)) > revision {
			break
		}
		copy(root.Tree[:], row[8:])
		copy(root.Side[:], row[8+len(root.Tree):])
	}
	return root, nil
}
