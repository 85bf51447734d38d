package hg

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"gantry/internal/delta"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// large holds a patch that is too large for memory: in a file without a name, which is mapped, so that the machine may take
// the memory back whenever it is short of it.
type large struct {
	dir    string
	file   *os.File // nil until it is needed
	mapped []byte
}

// fill returns what write writes. It is valid until the next call.
func (l *large) fill(write func(io.Writer) error) (_ []byte, err error) {
	if err := l.unmap(); err != nil {
		return nil, err
	}
	if l.file == nil {
		if l.file, err = origin.Spool(l.dir); err != nil {
			return nil, err
		}
	}
	if err := l.file.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(spoolWriter{l.file}, bundleBuffer)
	if err := write(out); err != nil {
		return nil, err
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	size, err := l.file.Seek(0, io.SeekCurrent)
	if err != nil || size == 0 {
		return nil, err
	}
	if l.mapped, err = unix.Mmap(int(l.file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("a text of %d bytes cannot be mapped: %w", size, err)
	}
	return l.mapped, nil
}

func (l *large) unmap() error {
	mapped := l.mapped
	l.mapped = nil
	if mapped == nil {
		return nil
	}
	return unix.Munmap(mapped)
}

func (l *large) close() {
	_ = l.unmap() // the file goes in any case
	if l.file != nil {
		l.file.Close()
	}
}

// unpackTo writes the patch that a chunk is. A chunk that is a whole text becomes one against nothing.
func unpackTo(w io.Writer, chunk io.Reader, whole bool, e *revlog.IndexEntry) error {
	in := bufio.NewReader(chunk)
	content, err := unpacked(in)
	if err != nil {
		return err
	}
	defer content.Close()
	most := int64(delta.MaxText)
	if whole {
		most = int64(e.Size)
		if _, err := w.Write(delta.FullPatch(nil, e.Size)); err != nil {
			return err
		}
	}
	n, err := io.Copy(w, io.LimitReader(content, most+1))
	switch {
	case err != nil:
		return unexpected(err)
	case n > most, whole && n != most:
		return malformedf("its text has not %d bytes", most)
	}
	_, err = io.Copy(io.Discard, in) // what follows begins behind it
	return err
}

// unpacked is what a chunk holds, as its first byte tells.
func unpacked(in *bufio.Reader) (io.ReadCloser, error) {
	first, err := in.Peek(1)
	if err != nil {
		return nil, unexpected(err)
	}
	switch first[0] {
	case 0:
		return io.NopCloser(in), nil
	case 'u':
		_, err := in.Discard(1)
		return io.NopCloser(in), err
	case 'x':
		return zlib.NewReader(in)
	case '(':
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, unknownCompression(first[0])
}
