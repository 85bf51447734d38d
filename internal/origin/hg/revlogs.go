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
	r := &revlogReader{to: to, store: s, large: large{dir: to.tempDir}}
	defer r.large.close()
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
	large      large // a patch that is not held in memory
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
		if err := r.patch(&e, e.Base == number, layout.Inline); err != nil {
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

// patch reads the chunk of an entry, which may be a whole text, and makes it the patch of the revision.
func (r *revlogReader) patch(e *revlog.IndexEntry, whole, inline bool) (err error) {
	chunk := io.LimitReader(&r.index, int64(e.Packed))
	if !inline {
		if chunk, err = r.data.open(e.Offset, e.Packed); err != nil {
			return err
		}
	}
	if e.Packed > keepChunk || whole && e.Size > keepChunk {
		r.rev.Patch, err = r.large.fill(func(w io.Writer) error { return unpackTo(w, chunk, whole, e) })
		return err
	}
	if r.packed, err = readInto(chunk, r.packed[:0], e.Packed); err != nil {
		return err
	}
	if whole {
		r.rev.Patch, err = r.chunk.text(r.packed, e.Size)
	} else {
		r.rev.Patch, err = r.chunk.patch(r.packed)
	}
	return err
}

// revision makes the rest of the revision of an entry.
func (r *revlogReader) revision(number int, e *revlog.IndexEntry, layout revlog.Layout) error {
	rev := &r.rev
	*rev = revlog.Revision{Node: e.Node, P1: r.node(e.P1), P2: r.node(e.P2), Link: e.Node, Flags: e.Flags, Patch: rev.Patch}
	if r.changesets != nil {
		if e.Link < 0 || e.Link >= len(r.changesets) {
			return malformedf("it is of changeset %d, where there are %d", e.Link, len(r.changesets))
		}
		rev.Link = r.changesets[e.Link]
	}
	if e.Base != number {
		base := e.Base
		if !layout.GeneralDelta {
			base = number - 1
		}
		rev.Base = r.node(base)
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

// open returns n bytes at an offset.
func (c *chunkSource) open(offset int64, n int) (io.Reader, error) {
	switch {
	case n == 0:
		return io.LimitReader(&c.in, 0), nil
	case c.file == nil:
		return nil, malformedf("it has its text in another file, which is missing")
	case offset > c.file.Size()-int64(n):
		return nil, malformedf("its text is %d bytes at %d of a file of %d", n, offset, c.file.Size())
	}
	if offset != c.at {
		if _, err := c.file.Seek(offset, io.SeekStart); err != nil {
			return nil, err
		}
		c.in.Reset(c.file)
	}
	c.at = offset + int64(n)
	return io.LimitReader(&c.in, int64(n)), nil
}
