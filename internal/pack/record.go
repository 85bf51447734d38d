package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// record says where an object is. One form serves the journal, the sorted index and memory:
//
//	id 20 | offset 4 | type and depth 1 | size 5 | length 5
//
// with big-endian integers. Offsets fit into four bytes because a segment ends soon after segmentBytes.
type record [recordSize]byte

const (
	recordSize = 35
	maxSize    = 1<<40 - 1 // of an object, and of its stored form
	// maxDepth bounds the chain of deltas that has to be applied to read one object.
	maxDepth = 50
	// maxRatio is the most that deflate can make of one byte.
	maxRatio = 1032
)

func newRecord(id ID, t Type, depth int, offset, size, length int64) record {
	var r record
	copy(r[:], id[:])
	binary.BigEndian.PutUint32(r[20:], uint32(offset))
	r[24] = byte(t-1)<<6 | byte(depth)
	putUint40(r[25:], size)
	putUint40(r[30:], length)
	return r
}

func (r *record) id() ID        { return ID(r[:20]) }
func (r *record) offset() int64 { return int64(binary.BigEndian.Uint32(r[20:])) }
func (r *record) typ() Type     { return Type(r[24]>>6) + 1 }
func (r *record) depth() int    { return int(r[24] & 0x3f) } // deltas to apply, 0 of an object stored in full
func (r *record) size() int64   { return uint40(r[25:]) }    // of the object
func (r *record) length() int64 { return uint40(r[30:]) }    // of its stored form

// check reports a record that points out of its segment or states an impossible size.
func (r *record) check(segmentLength int64) error {
	switch {
	case r.offset()+r.length() > segmentLength, r.depth() > maxDepth,
		r.depth() == 0 && r.size() > maxRatio*r.length():
		return fmt.Errorf("%w: impossible record of %v", ErrCorrupt, r.id())
	}
	return nil
}

func putUint40(p []byte, n int64) {
	p[0] = byte(n >> 32)
	binary.BigEndian.PutUint32(p[1:], uint32(n))
}

func uint40(p []byte) int64 { return int64(p[0])<<32 | int64(binary.BigEndian.Uint32(p[1:])) }

// index finds the records of one segment. Every record has a stable ordinal below count.
type index interface {
	find(id ID) (r record, ordinal int, ok bool, err error)
	at(ordinal int) (record, error)
	count() int
	inOrder() func() (r record, ordinal int, err error) // by id; io.EOF at the end
}

// table is the index of a segment that still grows: records in the order of writing, and an open-addressing hash table
// of their ordinals. It takes 35 bytes an object for the record and 5 to 11 for the slots.
type table struct {
	records []record
	slots   []uint32 // ordinal+1, 0 when free; the length is a power of two
}

func newTable() *table { return &table{slots: make([]uint32, 1<<10)} }

func (t *table) count() int { return len(t.records) }

func (t *table) at(ordinal int) (record, error) { return t.records[ordinal], nil }

func (t *table) find(id ID) (record, int, bool, error) {
	for at := t.home(id); t.slots[at] != 0; at = t.after(at) {
		ordinal := int(t.slots[at]) - 1
		if r := &t.records[ordinal]; r.id() == id {
			return *r, ordinal, true, nil
		}
	}
	return record{}, 0, false, nil
}

func (t *table) inOrder() func() (record, int, error) {
	order := make([]uint32, len(t.records))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return bytes.Compare(t.records[a][:20], t.records[b][:20]) })
	return func() (record, int, error) {
		if len(order) == 0 {
			return record{}, 0, io.EOF
		}
		ordinal := int(order[0])
		order = order[1:]
		return t.records[ordinal], ordinal, nil
	}
}

// insert adds a record of an id that the table does not hold.
func (t *table) insert(r record) {
	if 4*len(t.records) >= 3*len(t.slots) {
		t.slots = make([]uint32, 2*len(t.slots))
		for i := range t.records {
			t.place(t.records[i].id(), i)
		}
	}
	t.records = append(t.records, r)
	t.place(r.id(), len(t.records)-1)
}

func (t *table) place(id ID, ordinal int) {
	at := t.home(id)
	for t.slots[at] != 0 {
		at = t.after(at)
	}
	t.slots[at] = uint32(ordinal) + 1
}

func (t *table) home(id ID) int     { return int(binary.LittleEndian.Uint32(id[:])) & (len(t.slots) - 1) }
func (t *table) after(slot int) int { return (slot + 1) & (len(t.slots) - 1) }
