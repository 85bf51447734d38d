package pack

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"slices"
)

// indexEntry is what an index says of one object.
type indexEntry struct {
	id     ID
	crc    uint32 // of the entry's bytes in the pack
	offset int64
}

// farOffset marks an offset that is in the table of long ones.
const farOffset = 1 << 31

// WriteIndex writes the index (version 2) of the pack that was copied.
func (r *CopyResult) WriteIndex(w io.Writer) error {
	slices.SortFunc(r.entries, func(a, b indexEntry) int { return bytes.Compare(a.id[:], b.id[:]) })
	sum := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(sum, w), 256<<10)
	var word []byte
	put32 := func(n uint32) {
		word = binary.BigEndian.AppendUint32(word[:0], n)
		out.Write(word)
	}
	put32(0xff744f63) // "\377tOc"
	put32(2)
	n := 0
	for first := range 256 {
		for n < len(r.entries) && int(r.entries[n].id[0]) == first {
			n++
		}
		put32(uint32(n))
	}
	for i := range r.entries {
		out.Write(r.entries[i].id[:])
	}
	for i := range r.entries {
		put32(r.entries[i].crc)
	}
	var far []int64
	for i := range r.entries {
		if offset := r.entries[i].offset; offset < farOffset {
			put32(uint32(offset))
		} else {
			put32(farOffset | uint32(len(far)))
			far = append(far, offset)
		}
	}
	for _, offset := range far {
		put32(uint32(offset >> 32))
		put32(uint32(offset))
	}
	out.Write(r.Checksum[:])
	// The checksum is of what has been flushed; a bufio.Writer keeps its first error for Flush.
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}
