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
func (r *CopyResult) WriteIndex(w io.Writer) (err error) {
	slices.SortFunc(r.entries, func(a, b indexEntry) int { return bytes.Compare(a.id[:], b.id[:]) })
	sum := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(sum, w), 256<<10)
	put := func(p []byte) {
		if err == nil {
			_, err = out.Write(p)
		}
	}
	var word []byte
	put32 := func(n uint32) {
		word = binary.BigEndian.AppendUint32(word[:0], n)
		put(word)
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
		put(r.entries[i].id[:])
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
	put(r.Checksum[:])
	if err == nil {
		err = out.Flush() // sum has seen everything only then
	}
	if err == nil {
		_, err = w.Write(sum.Sum(nil))
	}
	return err
}
