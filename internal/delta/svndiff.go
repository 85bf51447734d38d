package delta

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"
)

const (
	// maxView bounds what one window may read, hold and make. Subversion itself stays at 100 KB.
	maxView = 16 << 20
	// maxSection bounds a section as it is sent: the size that precedes compressed bytes is part of it.
	maxSection = maxView + maxIntBytes
	// maxIntBytes is the most that an integer takes: 63 bits in groups of seven.
	maxIntBytes = 9
)

// SVNDiff reads an svndiff stream window by window. It is used by one goroutine at a time.
type SVNDiff struct {
	r       *bufio.Reader
	version int // -1 until the header was read
	window  Window
	viewEnd int64 // of the window before

	instructions, data section
	inflater           io.ReadCloser
}

// section is the buffers of one part of a window.
type section struct{ sent, plain []byte }

// NewSVNDiff returns a reader of the svndiff stream r, of any version.
func NewSVNDiff(r io.Reader) *SVNDiff {
	return &SVNDiff{r: bufio.NewReader(r), version: -1}
}

// Reset begins another stream with the same buffers.
func (d *SVNDiff) Reset(r io.Reader) {
	d.r.Reset(r)
	d.version, d.window, d.viewEnd = -1, Window{}, 0
}

// Next returns the next window, io.EOF after the last one. The window is valid until the next call. Its instructions
// have been checked: they stay within the view and the new data, and make exactly TargetLen bytes.
func (d *SVNDiff) Next() (*Window, error) {
	if d.version < 0 {
		if err := d.readHeader(); err != nil {
			return nil, err
		}
	}
	if _, err := d.r.Peek(1); err == io.EOF {
		return nil, io.EOF
	}
	lastOffset := d.window.SourceOffset
	sizes, err := d.readSizes()
	if err != nil {
		return nil, err
	}
	w := &d.window
	w.SourceOffset, w.SourceLen, w.TargetLen = sizes.sourceOffset, int(sizes.sourceLen), int(sizes.targetLen)
	viewEnd := w.SourceOffset + int64(w.SourceLen)
	if w.SourceLen > 0 && (w.SourceOffset < lastOffset || viewEnd < d.viewEnd) {
		return nil, corrupt("svndiff: the source view at %d slides back", w.SourceOffset)
	}
	d.viewEnd = viewEnd
	if w.instructions, err = d.readSection(&d.instructions, int(sizes.instructions)); err != nil {
		return nil, err
	}
	if w.data, err = d.readSection(&d.data, int(sizes.data)); err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	return w, nil
}

func (d *SVNDiff) readHeader() error {
	var magic [4]byte
	if _, err := io.ReadFull(d.r, magic[:]); err != nil {
		return cutShort(err)
	}
	if string(magic[:3]) != "SVN" || magic[3] > 2 {
		return corrupt("svndiff: begins with %q instead of SVN and version 0, 1 or 2", magic)
	}
	d.version = int(magic[3])
	return nil
}

// windowSizes is a window's header, in the order of the stream.
type windowSizes struct {
	sourceOffset, sourceLen, targetLen, instructions, data int64
}

func (d *SVNDiff) readSizes() (windowSizes, error) {
	var s windowSizes
	for _, field := range []struct {
		to  *int64
		max int64
	}{
		{&s.sourceOffset, 1 << 61},
		{&s.sourceLen, maxView},
		{&s.targetLen, maxView},
		{&s.instructions, maxSection},
		{&s.data, maxSection},
	} {
		n, err := readInt(d.r)
		if err != nil {
			return s, err
		}
		if n > field.max {
			return s, corrupt("svndiff: a window states a size of %d, %d is the most", n, field.max)
		}
		*field.to = n
	}
	return s, nil
}

// readSection reads a section of n bytes and takes its compression off.
func (d *SVNDiff) readSection(s *section, n int) ([]byte, error) {
	s.sent = resize(s.sent, n)
	if _, err := io.ReadFull(d.r, s.sent); err != nil {
		return nil, cutShort(err)
	}
	if d.version == 0 {
		return s.sent, nil
	}
	size, packed, err := takeInt(s.sent)
	if err != nil {
		return nil, err
	}
	if size > maxView {
		return nil, corrupt("svndiff: a section of %d bytes, %d is the most", size, maxView)
	}
	if int(size) == len(packed) { // sent as it is when compression does not pay
		return packed, nil
	}
	s.plain = resize(s.plain, int(size))
	if d.version == 1 {
		err = d.inflate(s.plain, packed)
	} else {
		err = unlz4(s.plain, packed)
	}
	return s.plain, err
}

// inflate fills dst with what packed holds, which must be exactly as much.
func (d *SVNDiff) inflate(dst, packed []byte) error {
	var err error
	if d.inflater == nil {
		d.inflater, err = zlib.NewReader(bytes.NewReader(packed))
	} else {
		err = d.inflater.(zlib.Resetter).Reset(bytes.NewReader(packed), nil)
	}
	if err == nil {
		_, err = io.ReadFull(d.inflater, dst)
	}
	if err == nil {
		// The checksum is looked at only when the end is reached.
		var more [1]byte
		if n, end := d.inflater.Read(more[:]); n > 0 || end != io.EOF {
			err = fmt.Errorf("does not end after %d bytes", len(dst))
		}
	}
	if err != nil {
		return corrupt("svndiff: zlib: %v", err)
	}
	return nil
}

func unlz4(dst, packed []byte) error {
	if len(dst) == 0 { // the decoder crashes on it, and no encoder packs nothing
		return corrupt("svndiff: lz4: a block of nothing")
	}
	n, err := lz4.UncompressBlock(packed, dst)
	if err != nil {
		return corrupt("svndiff: lz4: %v", err)
	}
	if n != len(dst) {
		return corrupt("svndiff: lz4: %d bytes instead of %d", n, len(dst))
	}
	return nil
}

// resize returns a slice of n bytes in b's memory when it is large enough.
func resize(b []byte, n int) []byte {
	if n > cap(b) {
		return make([]byte, n, n+n/4)
	}
	return b[:n]
}

// cutShort makes an early end of the stream a fault of the svndiff; other errors are those of the connection.
func cutShort(err error) error {
	switch err { //nolint:errorlint // an error that wraps one of these is the reader's own
	case io.EOF, io.ErrUnexpectedEOF:
		return corrupt("svndiff: ends in the middle of a window")
	}
	return &readError{err}
}

// readError is an error of the reader. It is everything that this is, except io.EOF: a connection that broke off and
// says so by wrapping io.EOF would otherwise look like the end of the stream, and the text would silently be short.
type readError struct{ err error }

func (e *readError) Error() string        { return "delta: read svndiff: " + e.err.Error() }
func (e *readError) Is(target error) bool { return target != io.EOF && errors.Is(e.err, target) }
func (e *readError) As(target any) bool   { return errors.As(e.err, target) }

// readInt reads an integer: seven bits to a byte, the highest first, the top bit set on all but the last.
func readInt(r io.ByteReader) (int64, error) {
	var n int64
	for range maxIntBytes {
		c, err := r.ReadByte()
		if err != nil {
			return 0, cutShort(err)
		}
		n = n<<7 | int64(c&0x7f)
		if c < 0x80 {
			return n, nil
		}
	}
	return 0, corrupt("svndiff: an integer of more than %d bytes", maxIntBytes)
}

// takeInt is readInt from the beginning of a section.
func takeInt(p []byte) (n int64, rest []byte, err error) {
	for i, c := range p {
		if i == maxIntBytes {
			break
		}
		n = n<<7 | int64(c&0x7f)
		if c < 0x80 {
			return n, p[i+1:], nil
		}
	}
	return 0, nil, corrupt("svndiff: an integer in a section is cut short or too long")
}

// ApplyTo applies the whole stream to a base that stays where it is and writes the target to w, for texts that are not
// to be held in memory. It returns the target's size.
func (d *SVNDiff) ApplyTo(w io.Writer, base io.ReaderAt) (int64, error) {
	var view, target []byte
	var total int64
	for {
		window, err := d.Next()
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		view = resize(view, window.SourceLen)
		if n, err := base.ReadAt(view, window.SourceOffset); n < len(view) {
			if errors.Is(err, io.EOF) {
				err = corrupt("svndiff: the source ends before its view of %d bytes at %d", window.SourceLen, window.SourceOffset)
			}
			return total, err
		}
		if target, err = window.Apply(target[:0], view); err != nil {
			return total, err
		}
		n, err := w.Write(target)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}
