package pack

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
)

// CopyOptions tune Copy. The zero value copies everything.
type CopyOptions struct {
	Have     func(ID) bool            // objects that the receiver has, with all they refer to: left out
	Progress func(done, total uint32) // objects written so far; called now and then, and at the end
}

// CopyResult says what Copy wrote.
type CopyResult struct {
	Objects  uint32
	Size     int64 // bytes of the pack
	Checksum ID    // the pack's last 20 bytes, which also name it

	places []place // by position in from
	fan    [256]uint32
	from   positions
}

// Copy writes a complete pack (version 2) of all objects that can be reached from roots: commits, tags, trees, blobs.
// Entries are copied as they are stored; a delta whose base is not among them becomes a full text. An object that is
// missing is ErrMissing, with what refers to it. Nothing may be put into src meanwhile.
//
// Beside src's own memory it takes about 5 bytes for each object copied and 9 for each in src.
func Copy(ctx context.Context, w io.Writer, src *Store, roots []ID, opt CopyOptions) (CopyResult, error) {
	m := newMarker(src, opt.Have)
	if err := m.markAll(ctx, roots); err != nil {
		return CopyResult{}, fmt.Errorf("pack: copy: %w", err)
	}
	total := len(m.commits) + len(m.tags) + len(m.trees) + len(m.blobs)
	if total > math.MaxUint32 {
		return CopyResult{}, fmt.Errorf("pack: copy: a pack cannot hold %d objects", total)
	}
	c := &copier{
		marker: m, out: newPackWriter(w), deflater: newDeflater(false),
		total: uint32(total), CopyResult: CopyResult{from: m.positions, places: make([]place, m.count())},
	}
	if err := c.writeAll(ctx, opt.Progress); err != nil {
		return CopyResult{}, fmt.Errorf("pack: copy: %w", err)
	}
	c.Size, c.Checksum = c.out.size, c.out.checksum
	return c.CopyResult, nil
}

// copier writes marked objects.
type copier struct {
	*marker
	CopyResult // so far
	out        *packWriter
	deflater   *deflater
	total      uint32
	running    position // what is being written
	raw        []byte
	head       []byte
}

func (c *copier) writeAll(ctx context.Context, progress func(done, total uint32)) error {
	header := binary.BigEndian.AppendUint32([]byte("PACK"), 2)
	if _, err := c.out.Write(binary.BigEndian.AppendUint32(header, c.total)); err != nil {
		return err
	}
	n := 0
	for _, positions := range [][]position{c.commits, c.tags, c.trees, c.blobs} {
		for _, p := range positions {
			if n++; n%1024 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if progress != nil {
					progress(c.Objects, c.total)
				}
			}
			if err := c.writeWithBases(p); err != nil {
				return err
			}
		}
	}
	c.endEntry()
	if progress != nil {
		progress(c.total, c.total)
	}
	return c.out.finish()
}

// writeWithBases writes an object, before it the bases of its delta that are not written yet.
func (c *copier) writeWithBases(p position) error {
	chain := []position{p}
	for len(chain) > 0 {
		p := chain[len(chain)-1]
		if c.isWritten(p) {
			chain = chain[:len(chain)-1]
			continue
		}
		if len(chain) > maxDepth+1 {
			return fmt.Errorf("%w: a chain of more than %d deltas", ErrCorrupt, maxDepth)
		}
		missingBase, err := c.write(p)
		if err != nil {
			return err
		}
		if missingBase != noPosition {
			chain = append(chain, missingBase)
		}
	}
	return nil
}

// maxRaw is the largest entry that is copied in one piece.
const maxRaw = 1 << 20

// write writes one object, or returns the base that has to be written before it.
func (c *copier) write(p position) (base position, err error) {
	if c.out.size > maxSize {
		return noPosition, fmt.Errorf("a pack of more than %d bytes is not supported", int64(maxSize))
	}
	g, r, err := c.recordAt(p)
	if err != nil {
		return noPosition, err
	}
	if r.length() > maxRaw && r.depth() == 0 {
		c.begin(p, r.id())
		_, err := io.Copy(c.out, io.NewSectionReader(g, r.offset(), r.length()))
		return noPosition, err
	}
	c.raw = resize(c.raw, int(r.length()))
	raw := c.raw
	if _, err := g.ReadAt(raw, r.offset()); err != nil {
		return noPosition, err
	}
	if r.depth() == 0 { // an entry without base is the same in every pack
		c.begin(p, r.id())
		_, err := c.out.Write(raw)
		return noPosition, err
	}
	e, err := parseEntry(raw)
	if err != nil {
		return noPosition, err
	}
	base, _, err = c.locate(e.base)
	if err != nil {
		return noPosition, err
	}
	if base == noPosition || !c.marked.has(base) {
		return noPosition, c.writeFull(p, r)
	}
	if !c.isWritten(base) {
		return base, nil
	}
	c.begin(p, r.id())
	distance := c.out.size - c.places[base].offset()
	c.head = appendDistance(appendEntryHeader(c.head[:0], offsetDelta, e.size), distance)
	if _, err := c.out.Write(c.head); err != nil {
		return noPosition, err
	}
	_, err = c.out.Write(raw[e.header:])
	return noPosition, err
}

// writeFull writes an object that is stored as a delta without its base.
func (c *copier) writeFull(p position, r record) error {
	t, data, err := c.src.Get(r.id())
	if err != nil {
		return err
	}
	c.begin(p, r.id())
	c.raw = c.deflater.append(appendEntryHeader(c.raw[:0], t, int64(len(data))), data)
	_, err = c.out.Write(c.raw)
	return err
}

// begin notes the object that is written next. Its checksum is known when the one after it begins.
func (c *copier) begin(p position, id ID) {
	c.endEntry()
	c.running, c.places[p] = p, newPlace(c.out.size)
	c.Objects++
	c.fan[id[0]]++
	c.out.crc = 0
}

func (c *copier) endEntry() {
	if c.Objects > 0 {
		c.places[c.running].setCRC(c.out.crc)
	}
}

func (c *copier) isWritten(p position) bool { return c.places[p].offset() != 0 }

// packWriter counts and sums what goes into a pack.
type packWriter struct {
	buf      *bufio.Writer
	sum      hash.Hash
	size     int64
	crc      uint32 // of the running entry
	checksum ID
}

func newPackWriter(w io.Writer) *packWriter {
	sum := sha1.New()
	return &packWriter{buf: bufio.NewWriterSize(io.MultiWriter(sum, w), 256<<10), sum: sum}
}

func (w *packWriter) Write(p []byte) (int, error) {
	w.crc = crc32.Update(w.crc, crc32.IEEETable, p)
	n, err := w.buf.Write(p)
	w.size += int64(n)
	return n, err
}

// finish appends the trailer.
func (w *packWriter) finish() error {
	if err := w.buf.Flush(); err != nil {
		return err
	}
	w.checksum = ID(w.sum.Sum(nil))
	w.size += int64(len(w.checksum))
	if _, err := w.buf.Write(w.checksum[:]); err != nil {
		return err
	}
	return w.buf.Flush()
}
