package pack

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// openEntry returns a reader of an object that is stored in full. Reading to its end checks size and checksum.
func openEntry(g *segment, r record) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(g, r.offset(), r.length()), 64<<10)
	head, err := in.Peek(int(min(maxEntryHeader, r.length())))
	if err != nil {
		return nil, err
	}
	e, err := parseEntry(head)
	if err != nil {
		return nil, err
	}
	if e.typ != r.typ() || e.size != r.size() {
		return nil, fmt.Errorf("%w: a %v of %d bytes instead of a %v of %d", ErrCorrupt, e.typ, e.size, r.typ(), r.size())
	}
	if _, err := in.Discard(e.header); err != nil {
		return nil, err
	}
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return &body{z, r.size()}, nil
}

// body is a zlib stream that must hold an exact number of bytes.
type body struct {
	io.ReadCloser
	left int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		return 0, fmt.Errorf("pack: %w: more data than expected", ErrCorrupt)
	case err == io.EOF && b.left > 0:
		return n, fmt.Errorf("pack: %w: %d bytes are missing", ErrCorrupt, b.left)
	case err != nil && err != io.EOF:
		return n, fmt.Errorf("pack: %w: %w", ErrCorrupt, err)
	}
	return n, err
}
