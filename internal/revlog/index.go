package revlog

import (
	"encoding/binary"
	"fmt"
)

// Layout is how a revlog of version 1 keeps what it has: the first four bytes of its index.
type Layout struct {
	Inline       bool // each entry of the index is followed by its chunk; else the chunks are in a file of their own
	GeneralDelta bool // a delta is against the revision that the entry names; else against the one before
}

// LayoutSize and IndexEntrySize are in bytes. The layout lies over the beginning of the first entry.
const (
	LayoutSize     = 4
	IndexEntrySize = 64
)

const (
	layoutInline       = 1 << 16
	layoutGeneralDelta = 1 << 17
)

// ParseLayout reads the first LayoutSize bytes of an index. Other versions than 1 are refused.
func ParseLayout(p []byte) (Layout, error) {
	word := binary.BigEndian.Uint32(p)
	switch version := word & 0xffff; version {
	case 1:
	case 0:
		return Layout{}, fmt.Errorf("revlog: the index has version 0, which was given up in 2006: only version 1 can be read")
	default:
		return Layout{}, fmt.Errorf("revlog: the index has version %d: only version 1 can be read", version)
	}
	if unknown := word &^ 0xffff &^ (layoutInline | layoutGeneralDelta); unknown != 0 {
		return Layout{}, fmt.Errorf("revlog: the index has the unknown features %#x", unknown>>16)
	}
	return Layout{Inline: word&layoutInline != 0, GeneralDelta: word&layoutGeneralDelta != 0}, nil
}

// IndexEntry is a revision in the index of a revlog. Revisions are numbered from 0, and -1 is none.
type IndexEntry struct {
	Offset int64 // of its chunk among all chunks
	Flags  Flags
	Packed int // bytes of the chunk
	Size   int // bytes of the text
	Base   int // that the chunk is against, as the Layout says; the revision's own number: it is the text itself
	Link   int // the changeset that brought it
	P1, P2 int
	Node   Node
}

// ParseIndexEntry reads the entry of a revision from IndexEntrySize bytes. The revisions that it names come before it.
func ParseIndexEntry(p []byte, number int) (e IndexEntry, err error) {
	field := func(at int) int { return int(int32(binary.BigEndian.Uint32(p[at:]))) }
	e = IndexEntry{
		Offset: int64(binary.BigEndian.Uint64(p) >> 16),
		Flags:  Flags(binary.BigEndian.Uint16(p[6:])),
		Packed: field(8),
		Size:   field(12),
		Base:   field(16),
		Link:   field(20),
		P1:     field(24),
		P2:     field(28),
		Node:   Node(p[32:]),
	}
	if number == 0 {
		e.Offset &= 0xffff // the layout lies over the rest
	}
	switch {
	case e.Packed < 0 || e.Size < 0:
		err = fmt.Errorf("revlog: revision %d has a chunk of %d bytes and a text of %d", number, e.Packed, e.Size)
	case e.Base < -1 || e.Base > number || e.P1 < -1 || e.P1 >= number || e.P2 < -1 || e.P2 >= number:
		err = fmt.Errorf("revlog: revision %d is built on %d and follows %d and %d, which do not come before it", number, e.Base, e.P1, e.P2)
	}
	return e, err
}
