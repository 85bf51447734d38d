package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// Types of pack entries beside those of objects.
const (
	offsetDelta Type = 6 // the base is named by its distance
	refDelta    Type = 7 // the base is named by its id
)

// maxEntryHeader is the most that appendEntryHeader and a base take.
const maxEntryHeader = 10 + 20

// appendEntryHeader appends the head of a pack entry: the type and the size of what is deflated in it.
func appendEntryHeader(dst []byte, t Type, size int64) []byte {
	c := byte(t)<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		dst = append(dst, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(dst, c)
}

// appendDistance appends how far before an entry its base begins.
func appendDistance(dst []byte, distance int64) []byte {
	var buf [10]byte
	at := len(buf) - 1
	buf[at] = byte(distance & 0x7f)
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance-- // every further byte says one more than its bits
		at--
		buf[at] = 0x80 | byte(distance&0x7f)
	}
	return append(dst, buf[at:]...)
}

// entry is the parsed head of a stored pack entry. Stored deltas always name their base by id.
type entry struct {
	typ    Type
	size   int64 // of what is deflated
	base   ID    // of a delta
	header int   // bytes before the deflated ones
}

func parseEntry(p []byte) (e entry, err error) {
	if len(p) == 0 {
		return e, fmt.Errorf("%w: empty entry", ErrCorrupt)
	}
	e.typ, e.size = Type(p[0]>>4&7), int64(p[0]&0x0f)
	n := 1
	for shift := 4; p[n-1]&0x80 != 0; shift += 7 {
		if n == len(p) || shift > 40 {
			return e, fmt.Errorf("%w: entry has no valid size", ErrCorrupt)
		}
		e.size |= int64(p[n]&0x7f) << shift
		n++
	}
	switch e.typ {
	case Commit, Tree, Blob, Tag:
	case refDelta:
		if len(p) < n+len(e.base) {
			return e, fmt.Errorf("%w: entry is cut short", ErrCorrupt)
		}
		e.base = ID(p[n:])
		n += len(e.base)
	default:
		return e, fmt.Errorf("%w: entry of %v", ErrCorrupt, e.typ)
	}
	e.header = n
	return e, nil
}

// Levels of deflate, by measurement: see BenchmarkDeflate. In a whole import, level 6 makes packs that are smaller by a
// seventieth, and takes a twentieth more of its time.
const (
	plainLevel = 4
	fastLevel  = 1 // in a store that is fast
	// storedText is up to where deflate gains less than it costs: such texts are mostly ids. In a fast store that is more.
	storedText     = 80
	storedFastText = 512
)

// deflater makes zlib streams. It belongs to one goroutine.
type deflater struct {
	stored int // bytes of a text that is not worth it
	z      *zlib.Writer
	out    appender
}

type appender struct{ p []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.p = append(a.p, p...)
	return len(p), nil
}

func newDeflater(fast bool) *deflater {
	d, level := &deflater{stored: storedText}, plainLevel
	if fast {
		d.stored, level = storedFastText, fastLevel
	}
	d.z, _ = zlib.NewWriterLevel(nil, level) // the levels are valid: there is no error
	return d
}

// append appends data to dst as a zlib stream.
func (d *deflater) append(dst, data []byte) []byte {
	if len(data) <= d.stored {
		return appendStored(dst, data)
	}
	d.out.p = dst
	d.z.Reset(&d.out)
	_, err := d.z.Write(data)
	if err = errors.Join(err, d.z.Close()); err != nil {
		panic(err) // an appender does not fail
	}
	dst, d.out.p = d.out.p, nil
	return dst
}

// appendStored appends data as a zlib stream of one stored block (RFC 1950, RFC 1951 section 3.2.4).
func appendStored(dst, data []byte) []byte {
	n := uint16(len(data))
	dst = append(dst, 0x78, 0x01, 0x01)
	dst = binary.LittleEndian.AppendUint16(dst, n)
	dst = binary.LittleEndian.AppendUint16(dst, ^n)
	dst = append(dst, data...)
	return binary.BigEndian.AppendUint32(dst, adler32.Checksum(data))
}

// inflater takes zlib streams apart.
type inflater struct {
	in bytes.Reader
	z  io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// inflate fills dst with what the zlib stream at the beginning of packed holds, which must be exactly as much.
func inflate(dst, packed []byte) error {
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	f.in.Reset(packed)
	var err error
	if f.z == nil {
		f.z, err = zlib.NewReader(&f.in)
	} else {
		err = f.z.(zlib.Resetter).Reset(&f.in, nil)
	}
	if err == nil {
		_, err = io.ReadFull(f.z, dst)
	}
	if err == nil {
		err = atEnd(f.z)
	}
	if err != nil {
		f.z = nil
		return fmt.Errorf("%w: inflate: %w", ErrCorrupt, err)
	}
	return nil
}

// atEnd reports a stream that holds more than it should. Only the end makes zlib look at its checksum.
func atEnd(r io.Reader) error {
	var more [1]byte
	switch n, err := r.Read(more[:]); {
	case n > 0:
		return fmt.Errorf("more data than expected")
	case err != io.EOF:
		return err
	}
	return nil
}
