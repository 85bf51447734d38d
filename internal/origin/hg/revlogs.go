package hg

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"gantry/internal/revlog"
)

// read sends all revisions of a store in the order that a sink asks for, and keeps what else is told.
func (s *store) read(to *intake) error {
	if f := s.open(rootsName); f != nil {
		if err := to.told.readPhaseRoots(f); err != nil {
			return err
		}
	}
	if f := s.open(markersName); f != nil {
		if err := to.told.readMarkers(bufio.NewReader(f)); err != nil {
			return err
		}
	}
	r := &revlogReader{to: to, store: s}
	defer r.chunk.close()
	if err := r.read(changelogName, to.changeset); err != nil {
		return err
	}
	r.changesets, r.nodes = r.nodes, nil
	err := r.read(manifestName, func(rev *revlog.Revision) error { return to.manifest("", rev) })
	if err != nil {
		return err
	}
	if err := r.readAll(treesFolder, "/"+manifestName+".i", func(dir string, rev *revlog.Revision) error { return to.manifest(dir+"/", rev) }); err != nil {
		return err
	}
	return r.readAll(filesFolder, ".i", to.file)
}

// revlogReader reads one revlog after the other.
type revlogReader struct {
	to         *intake
	store      *store
	changesets []revlog.Node // by number; nil until they were read
	nodes      []revlog.Node // of the revisions read so far
	index      bufio.Reader
	data       chunkSource
	packed     []byte
	chunk      unpacker
	rev        revlog.Revision
}

// readAll reads every revlog with an index in a folder that ends so. What is between names it.
func (r *revlogReader) readAll(folder, end string, send func(name string, rev *revlog.Revision) error) error {
	for _, f := range r.store.files {
		if !strings.HasPrefix(f.name, folder) || !strings.HasSuffix(f.name, end) || f.size == 0 {
			continue
		}
		name := strings.TrimSuffix(f.name[len(folder):], end)
		if name == "" || len(folder)+len(name)+len(end) != len(f.name) {
			return malformedf("the stream has the file %q, which has no name", f.name)
		}
		err := r.read(strings.TrimSuffix(f.name, ".i"), func(rev *revlog.Revision) error { return send(name, rev) })
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads the revlog of this name, if there is one.
func (r *revlogReader) read(name string, send func(*revlog.Revision) error) error {
	r.nodes = r.nodes[:0]
	index := r.store.open(name + ".i")
	if index == nil || index.Size() == 0 {
		return nil
	}
	err := r.revisions(name, index, send)
	switch {
	case err == nil, errors.As(err, new(sinkError)), errors.As(err, new(unsupported)), r.to.ctx.Err() != nil:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the file is too short for what it says")
	}
	return malformedf("%s.i: revision %d: %v", name, len(r.nodes), err)
}

func (r *revlogReader) revisions(name string, index *io.SectionReader, send func(*revlog.Revision) error) error {
	r.index.Reset(index)
	var entry [revlog.IndexEntrySize]byte
	head, err := r.index.Peek(revlog.LayoutSize)
	if err != nil {
		return unexpected(err)
	}
	layout, err := revlog.ParseLayout(head)
	if err != nil {
		return r.to.unsupportedf("%s.i: %v", name, err)
	}
	r.data.reset(r.store.open(name + ".d"))
	for number := 0; ; number++ {
		if _, err := io.ReadFull(&r.index, entry[:]); err != nil {
			return atEnd(err)
		}
		e, err := revlog.ParseIndexEntry(entry[:], number)
		if err != nil {
			return err
		}
		if layout.Inline {
			r.packed, err = readInto(&r.index, emptied(r.packed, e.Packed), e.Packed)
		} else {
			r.packed, err = r.data.take(emptied(r.packed, e.Packed), e.Offset, e.Packed)
		}
		if err != nil {
			return err
		}
		if err := r.revision(number, &e, layout); err != nil {
			return err
		}
		if err := send(&r.rev); err != nil {
			return err
		}
		r.nodes = append(r.nodes, e.Node)
	}
}

// revision makes the revision of an entry whose chunk was read.
func (r *revlogReader) revision(number int, e *revlog.IndexEntry, layout revlog.Layout) (err error) {
	rev := &r.rev
	*rev = revlog.Revision{Node: e.Node, P1: r.node(e.P1), P2: r.node(e.P2), Link: e.Node, Flags: e.Flags}
	if r.changesets != nil {
		if e.Link < 0 || e.Link >= len(r.changesets) {
			return malformedf("it is of changeset %d, where there are %d", e.Link, len(r.changesets))
		}
		rev.Link = r.changesets[e.Link]
	}
	if e.Base == number {
		rev.Patch, err = r.chunk.text(r.packed, e.Size)
	} else {
		base := e.Base
		if !layout.GeneralDelta {
			base = number - 1
		}
		rev.Base = r.node(base)
		rev.Patch, err = r.chunk.patch(r.packed)
	}
	if err != nil {
		return err
	}
	return checkRevision(rev)
}

func (r *revlogReader) node(number int) revlog.Node {
	if number < 0 {
		return revlog.Null
	}
	return r.nodes[number]
}

// chunkSource reads chunks from a file of their own, mostly one after the other.
type chunkSource struct {
	file *io.SectionReader
	in   bufio.Reader
	at   int64
}

func (c *chunkSource) reset(file *io.SectionReader) { c.file, c.at = file, -1 }

// take appends n bytes at an offset to buf.
func (c *chunkSource) take(buf []byte, offset int64, n int) ([]byte, error) {
	switch {
	case n == 0:
		return buf, nil
	case c.file == nil:
		return buf, malformedf("it has its text in another file, which is missing")
	case offset > c.file.Size()-int64(n):
		return buf, malformedf("its text is %d bytes at %d of a file of %d", n, offset, c.file.Size())
	}
	if offset != c.at {
		if _, err := c.file.Seek(offset, io.SeekStart); err != nil {
			return buf, err
		}
		c.in.Reset(c.file)
	}
	c.at = offset + int64(n)
	return readInto(&c.in, buf, n)
}
