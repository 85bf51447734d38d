package pack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"slices"
)

// sorted is the index of a segment that has come to rest: a file of records sorted by id. Memory holds where the ids of
// each prefix begin and one more byte of every id, so that looking for an id that is not there, which every new object
// does in every segment, hardly ever reads the file. That is about 1.5 bytes an object.
//
// The file is magic, records, CRC-32 of both. It follows from the journal's first bytes, whose number is part of its
// name, and is made again when it is lost or damaged: it need not be durable.
type sorted struct {
	file       *os.File
	prefixBits int
	starts     []uint32 // by prefix, the ordinal of its first record; one more entry for the end
	lastBytes  []byte   // by ordinal, the last byte of the id
}

const sortedMagic = "gantidx1"

// perPrefix is how many records share a prefix on average.
const perPrefix = 8

// writeSorted sorts records in place and writes them to a new file at path, by way of a temporary one.
func writeSorted(path, temporary string, records []record) error {
	slices.SortFunc(records, func(a, b record) int { return bytes.Compare(a[:20], b[:20]) })
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary) // in vain once it was renamed
	sum := crc32.NewIEEE()
	w := bufio.NewWriterSize(f, 1<<18)
	put := func(p []byte) {
		if err == nil {
			_, err = w.Write(p)
		}
	}
	sum.Write([]byte(sortedMagic))
	put([]byte(sortedMagic))
	for i := range records {
		sum.Write(records[i][:])
		put(records[i][:])
	}
	put(sum.Sum(nil))
	if err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// openSorted opens the file of count records, which point into a segment of segmentLength bytes.
func openSorted(path string, count int, segmentLength int64) (*sorted, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	x := &sorted{
		file:       f,
		prefixBits: min(16, bits.Len(uint(count/perPrefix))),
		lastBytes:  make([]byte, count),
	}
	x.starts = make([]uint32, 1<<x.prefixBits+1)
	if err := x.load(segmentLength); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// load goes through the file once: it fills the parts in memory and checks everything.
func (x *sorted) load(segmentLength int64) error {
	sum := crc32.NewIEEE()
	all := bufio.NewReaderSize(x.file, 1<<18)
	r := io.TeeReader(all, sum)
	magic := make([]byte, len(sortedMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != sortedMagic {
		return fmt.Errorf("%w: not an index", ErrCorrupt)
	}
	var rec record
	var last ID
	for i := range x.lastBytes {
		if _, err := io.ReadFull(r, rec[:]); err != nil {
			return fmt.Errorf("%w: index is cut short", ErrCorrupt)
		}
		id := rec.id()
		if bytes.Compare(last[:], id[:]) > 0 {
			return fmt.Errorf("%w: index is not sorted", ErrCorrupt)
		}
		if err := rec.check(segmentLength); err != nil {
			return err
		}
		last = id
		x.lastBytes[i] = id[len(id)-1]
		x.starts[x.prefix(id)+1] = uint32(i) + 1
	}
	for p := 1; p < len(x.starts); p++ { // prefixes without records begin where the one before ends
		x.starts[p] = max(x.starts[p], x.starts[p-1])
	}
	want := sum.Sum32()
	var stored [5]byte
	if n, _ := io.ReadFull(all, stored[:]); n != 4 || binary.BigEndian.Uint32(stored[:]) != want {
		return fmt.Errorf("%w: index has a wrong checksum", ErrCorrupt)
	}
	return nil
}

func (x *sorted) prefix(id ID) int {
	return int(binary.BigEndian.Uint32(id[:]) >> (32 - x.prefixBits))
}

func (x *sorted) count() int { return len(x.lastBytes) }

func (x *sorted) at(ordinal int) (r record, err error) {
	_, err = x.file.ReadAt(r[:], int64(len(sortedMagic)+ordinal*recordSize))
	return r, err
}

func (x *sorted) inOrder() func() (record, int, error) {
	records := io.NewSectionReader(x.file, int64(len(sortedMagic)), int64(x.count())*recordSize)
	in := bufio.NewReaderSize(records, 32<<10)
	ordinal := -1
	return func() (r record, _ int, err error) {
		ordinal++
		_, err = io.ReadFull(in, r[:])
		return r, ordinal, err
	}
}

func (x *sorted) find(id ID) (record, int, bool, error) {
	p := x.prefix(id)
	for i := int(x.starts[p]); i < int(x.starts[p+1]); i++ {
		if x.lastBytes[i] != id[len(id)-1] {
			continue
		}
		r, err := x.at(i)
		if err != nil {
			return record{}, 0, false, err
		}
		if r.id() == id {
			return r, i, true, nil
		}
	}
	return record{}, 0, false, nil
}
