package pack

import (
	"bufio"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"slices"
)

// place says where an object is in a pack that was written: offset 5 | CRC-32 of the entry's bytes 4, zero for one that is
// not there. There is one for each object of a store.
type place [9]byte

func newPlace(offset int64) (p place) {
	putUint40(p[:], offset)
	return p
}

func (p *place) offset() int64     { return uint40(p[:]) }
func (p *place) crc() uint32       { return binary.BigEndian.Uint32(p[5:]) }
func (p *place) setCRC(crc uint32) { binary.BigEndian.PutUint32(p[5:], crc) }

// farOffset marks an offset that is in the table of long ones.
const farOffset = 1 << 31

// WriteIndex writes the index (version 2) of the pack that was copied. It asks the store for the ids: nothing may have been
// put into it since.
func (r *CopyResult) WriteIndex(w io.Writer) error {
	x := indexWriter{sum: sha1.New()}
	x.out = bufio.NewWriterSize(io.MultiWriter(x.sum, w), 256<<10)
	x.put32(0xff744f63) // "\377tOc"
	x.put32(2)
	n := uint32(0)
	for _, objects := range r.fan {
		n += objects
		x.put32(n)
	}
	order, err := r.writeIDs(&x)
	if err != nil {
		return err
	}
	for _, p := range order {
		x.put32(r.places[p].crc())
	}
	var far []int64
	for _, p := range order {
		if offset := r.places[p].offset(); offset < farOffset {
			x.put32(uint32(offset))
		} else {
			x.put32(farOffset | uint32(len(far)))
			far = append(far, offset)
		}
	}
	for _, offset := range far {
		x.put32(uint32(offset >> 32))
		x.put32(uint32(offset))
	}
	x.put(r.Checksum[:])
	if x.err == nil {
		x.err = x.out.Flush() // sum has seen everything only then
	}
	if x.err == nil {
		_, x.err = w.Write(x.sum.Sum(nil))
	}
	return x.err
}

// writeIDs writes the ids of all objects in the pack in their order, and returns where they are in the store. The segments
// are gone through side by side, from one first byte of ids to the next.
func (r *CopyResult) writeIDs(x *indexWriter) (order []position, err error) {
	walks := make([]walk, len(r.from.segments))
	for i, g := range r.from.segments {
		walks[i].next = g.index.inOrder()
		if err := walks[i].step(); err != nil {
			return nil, err
		}
	}
	type object struct {
		id ID
		position
	}
	var batch []object
	order = make([]position, 0, r.Objects)
	for first, objects := range r.fan {
		batch = slices.Grow(batch[:0], int(objects))
		for i := range walks {
			for g := &walks[i]; !g.ended && int(g.record[0]) == first; {
				if p := position(r.from.first[i] + g.ordinal); r.places[p] != (place{}) {
					batch = append(batch, object{g.record.id(), p})
				}
				if err := g.step(); err != nil {
					return nil, err
				}
			}
		}
		slices.SortFunc(batch, func(a, b object) int { return compareIDs(a.id, b.id) })
		for i := range batch {
			x.put(batch[i].id[:])
			order = append(order, batch[i].position)
		}
	}
	return order, nil
}

// walk goes through the records of a segment in the order of their ids.
type walk struct {
	next    func() (record, int, error)
	record  record
	ordinal int
	ended   bool
}

func (g *walk) step() (err error) {
	g.record, g.ordinal, err = g.next()
	if errors.Is(err, io.EOF) {
		g.ended, err = true, nil
	}
	return err
}

// indexWriter keeps its first error.
type indexWriter struct {
	out  *bufio.Writer
	sum  hash.Hash
	word []byte
	err  error
}

func (x *indexWriter) put(p []byte) {
	if x.err == nil {
		_, x.err = x.out.Write(p)
	}
}

func (x *indexWriter) put32(n uint32) {
	x.word = binary.BigEndian.AppendUint32(x.word[:0], n)
	x.put(x.word)
}
