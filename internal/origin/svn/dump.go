package svn

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"gantry"
	"gantry/internal/origin"
)

// Stream is a dump that is read once, as it comes. It is used by one goroutine at a time.
type Stream struct {
	dump Dump
	r    *dumpReader // nil once it was read
}

var _ origin.PathSource = (*Stream)(nil)

// ReadDump reads the beginning of a dump as OpenDump takes them, up to its first revision. Info().Head is
// origin.UnknownHead, and Replay can be called once; it passes over the revisions before its first one. Name is what
// errors call the dump.
func ReadDump(in io.Reader, name string) (*Stream, error) {
	s := &Stream{r: newDumpReader(name)}
	if err := s.r.start(bufio.NewReaderSize(in, dumpBuffer)); err != nil {
		return nil, err
	}
	s.dump.info = origin.Info{Root: name, Head: origin.UnknownHead}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin reads up to the first revision, and leaves that to Replay.
func (s *Stream) begin() error {
	for {
		rec, err := s.r.next()
		switch {
		case errors.Is(err, io.EOF):
			return s.r.errorf("the dump has no revisions")
		case err != nil:
			return err
		case rec.kind == recordUUID:
			s.dump.info.UUID = rec.uuid
		case rec.kind == recordRevision:
			s.dump.first = rec.number
			if s.dump.info.UUID == "" {
				s.dump.info.UUID, err = s.r.deriveUUID(rec)
			}
			s.r.again = rec
			return err
		}
		if err := s.r.skip(rec); err != nil {
			return err
		}
	}
}

// Info implements origin.PathSource.
func (s *Stream) Info() origin.Info { return s.dump.info }

// Replay implements origin.PathSource.
func (s *Stream) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	r := s.r
	if r == nil {
		return gantry.Errorf(gantry.Conflict, "svn.Stream", "the dump %s can be read once only", s.dump.info.Root)
	}
	s.r = nil
	defer r.close()
	return s.dump.replayFrom(ctx, r, first, last, sink)
}

// Close releases what reading took. It does not close what the dump was read from.
func (s *Stream) Close() error {
	if s.r != nil {
		s.r.close()
		s.r = nil
	}
	return nil
}

// Dump is a dump file. It is used by one goroutine at a time.
type Dump struct {
	file  *os.File
	info  origin.Info
	first int64 // the oldest revision in the dump
}

var _ origin.PathSource = (*Dump)(nil)

// OpenDump opens a dump of format 1, 2 or 3, plain or compressed by gzip or zstd, and reads through its headers once, so
// that Info().Head is known and a truncated file is found out before anything is imported. Of a plain file only the
// headers are read. A dump without a UUID, which format 1 never has, is given one made from its first revision
// properties: it stays the same when the dump is made again from a repository that has grown.
//
// The dump may begin at any revision, as long as nothing in it is a copy from before that one, or what is before was read
// already.
func OpenDump(ctx context.Context, path string) (*Dump, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, gantry.Errorf(gantry.NotFound, "svn.OpenDump", "the dump cannot be opened: %w", err)
	}
	d := &Dump{file: file}
	if err := d.scan(ctx); err != nil {
		file.Close()
		return nil, err
	}
	return d, nil
}

// Info implements origin.PathSource.
func (d *Dump) Info() origin.Info { return d.info }

// Close closes the file.
func (d *Dump) Close() error { return d.file.Close() }

// scan learns what Info tells.
func (d *Dump) scan(ctx context.Context) error {
	r, err := d.reader()
	if err != nil {
		return err
	}
	defer r.close()
	d.info = origin.Info{Root: filepath.Base(d.file.Name()), Head: -1}
	for {
		rec, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch rec.kind {
		case recordUUID:
			d.info.UUID = rec.uuid
		case recordRevision:
			if err := ctx.Err(); err != nil {
				return err
			}
			if d.info.Head < 0 {
				d.first = rec.number
				if d.info.UUID == "" {
					if d.info.UUID, err = r.deriveUUID(rec); err != nil {
						return err
					}
				}
			}
			d.info.Head = rec.number
		}
		if err := r.skip(rec); err != nil {
			return err
		}
	}
	if d.info.Head < 0 {
		return r.errorf("the dump has no revisions")
	}
	return nil
}

// Replay implements origin.PathSource. Revisions that the dump leaves out are left out.
func (d *Dump) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	r, err := d.reader()
	if err != nil {
		return err
	}
	defer r.close()
	return d.replayFrom(ctx, r, first, last, sink)
}

func (d *Dump) replayFrom(ctx context.Context, r *dumpReader, first, last int64, sink origin.Sink) error {
	switch {
	case first <= 1:
		r.oldest = d.first
	case d.first > first:
		return gantry.Errorf(gantry.Invalid, "svn.Dump", "the dump %s begins at r%d, and r%d comes next: give a dump that has what is between them", r.name, d.first, first)
	}
	err := d.replay(ctx, r, max(first, 1), last, &emitter{sink: sink})
	var fromSink sinkError
	switch {
	case errors.As(err, &fromSink):
		return fromSink.error
	case errors.Is(err, errTooManyChanges):
		return r.errorf("%w", err)
	}
	return err
}

func (d *Dump) replay(ctx context.Context, r *dumpReader, first, last int64, out *emitter) error {
	sending := false
	for {
		rec, err := r.next()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if sending && (ended || rec.kind == recordRevision) {
			if err := out.end(); err != nil {
				return err
			}
			sending = false
		}
		if ended || rec.kind == recordRevision && rec.number > last {
			return nil
		}
		switch {
		case rec.kind == recordRevision:
			if err := ctx.Err(); err != nil {
				return err
			}
			if sending = rec.number >= first; sending {
				props, err := r.props(rec)
				if err != nil {
					return err
				}
				if err := out.begin(newRevision(rec.number, props)); err != nil {
					return err
				}
			}
		case rec.kind == recordNode && sending:
			if err := d.node(r, rec, out); err != nil {
				return err
			}
		}
		if err := r.skip(rec); err != nil {
			return err
		}
	}
}

// node sends one node record, whose content it may leave unread.
func (d *Dump) node(r *dumpReader, rec *record, out *emitter) error {
	path, err := cleanPath(rec.path)
	if err != nil {
		return r.errorf("%w", err)
	}
	if rec.action == origin.Delete {
		return out.change(&origin.Change{Action: origin.Delete, Path: path})
	}
	c := &origin.Change{Action: rec.action, Path: path, MD5: rec.textMD5, SHA1: rec.textSHA1}
	if rec.nodeKind == None {
		return r.errorf("the node %q has no kind", path)
	}
	c.Dir = rec.nodeKind == Dir
	if rec.copied {
		if err := copySourceOf(r, rec, c); err != nil {
			return err
		}
	}
	if rec.propLen >= 0 {
		c.FullProps = !rec.propDelta
		if c.Props, err = r.props(rec); err != nil {
			return err
		}
	}
	if rec.textLen >= 0 {
		if c.Dir {
			return r.errorf("the directory %q has a text", path)
		}
		c.Text = &dumpText{r: r, rec: rec}
	}
	return out.change(c)
}

func copySourceOf(r *dumpReader, rec *record, c *origin.Change) error {
	source, err := cleanPath(rec.copyPath)
	switch {
	case err != nil:
		return r.errorf("%w", err)
	case c.Action == origin.Modify:
		return r.errorf("%q is a copy and a modification at once", c.Path)
	case rec.copyRev < 0 || rec.copyRev >= r.rev:
		return r.errorf("%q is copied from r%d, which is not an earlier revision", c.Path, rec.copyRev)
	case rec.copyRev < r.oldest:
		return r.errorf("%q is copied from %q at r%d, but the dump begins at r%d; make a dump from r0 on", c.Path, source, rec.copyRev, r.oldest)
	}
	c.Copied, c.CopyPath, c.CopyRev = true, source, rec.copyRev
	return nil
}

// dumpText is the text of a node record, read from the dump itself.
type dumpText struct {
	r      *dumpReader
	rec    *record
	opened bool
}

func (t *dumpText) Delta() bool     { return t.rec.textDelta }
func (t *dumpText) BaseMD5() []byte { return t.rec.baseMD5 }

func (t *dumpText) Open() (io.ReadCloser, error) {
	if t.opened {
		return nil, errors.New("svn: a text was opened twice")
	}
	t.opened = true
	return io.NopCloser(textReader{t.r, t.rec}), nil
}
