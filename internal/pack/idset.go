package pack

import (
	"bytes"
	"slices"
)

// IDSet is a set of object ids that does not change: 20 bytes an object. The zero value is empty.
type IDSet struct{ sorted []ID }

// NewIDSet makes a set of ids, which it takes over and sorts.
func NewIDSet(ids []ID) IDSet {
	slices.SortFunc(ids, compareIDs)
	return IDSet{slices.Compact(ids)}
}

// Has reports whether the set holds an id.
func (s IDSet) Has(id ID) bool {
	_, ok := slices.BinarySearchFunc(s.sorted, id, compareIDs)
	return ok
}

// Len is the number of ids in the set.
func (s IDSet) Len() int { return len(s.sorted) }

func compareIDs(a, b ID) int { return bytes.Compare(a[:], b[:]) }
