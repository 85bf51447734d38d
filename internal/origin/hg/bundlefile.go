package hg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// Bundle is a bundle file, or one that comes as a stream. It is used by one goroutine at a time.
type Bundle struct {
	name    string
	count   int64     // of changesets, -1 when it does not say
	in      io.Reader // a stream, nil once it was read
	file    *os.File  // nil for a stream
	tempDir string
}

var _ origin.GraphSource = (*Bundle)(nil)

// OpenBundle opens a bundle as hg bundle writes it: of version 1 or 2, with any compression, or a stream (HG10, HG20,
// HGS1). It may also be compressed once more by gzip or zstd. TempDir holds what has to be put in order before it is
// read; "" is the system's.
func OpenBundle(path, tempDir string) (*Bundle, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, gantry.Errorf(gantry.NotFound, "hg.OpenBundle", "the bundle cannot be opened: %w", err)
	}
	b := &Bundle{name: filepath.Base(path), file: file, tempDir: tempDir}
	if b.count, err = countChangesets(file); err != nil {
		file.Close()
		return nil, b.errorf(err)
	}
	return b, nil
}

// countChangesets reads the beginning of a bundle only, and returns how many changesets it says to have there.
func countChangesets(in io.Reader) (int64, error) {
	content, _, err := origin.Inflate(bufio.NewReader(in))
	if err != nil {
		return 0, err
	}
	defer content.Close()
	b, err := openBundle(bufio.NewReader(content))
	if err != nil {
		return 0, err
	}
	defer b.close()
	return b.changesets()
}

// ReadBundle takes a bundle as it comes. It can be pulled once. Name is what errors call it.
func ReadBundle(in io.Reader, name, tempDir string) *Bundle {
	return &Bundle{name: name, count: -1, in: in, tempDir: tempDir}
}

// GraphInfo implements origin.GraphSource.
func (b *Bundle) GraphInfo() origin.GraphInfo {
	return origin.GraphInfo{Changesets: b.count}
}

// Pull implements origin.GraphSource. A bundle sends all that it has.
func (b *Bundle) Pull(ctx context.Context, known []revlog.Node, sink revlog.Sink) (origin.GraphHeads, error) {
	in := b.in
	switch {
	case b.file != nil:
		if _, err := b.file.Seek(0, io.SeekStart); err != nil {
			return origin.GraphHeads{}, fmt.Errorf("hg: bundle %s: %w", b.name, err)
		}
		in = b.file
	case in == nil:
		return origin.GraphHeads{}, gantry.Errorf(gantry.Conflict, "hg.Bundle", "the bundle %s can be read once only", b.name)
	}
	b.in = nil
	to := newIntake(ctx, sink, b.tempDir)
	to.complete = len(known) == 0
	if err := b.read(in, to); err != nil {
		return origin.GraphHeads{}, err
	}
	return to.shown(), nil
}

func (b *Bundle) read(in io.Reader, to *intake) error {
	content, _, err := origin.Inflate(bufio.NewReaderSize(in, bundleBuffer))
	if err != nil {
		return b.errorf(err)
	}
	defer content.Close()
	err = readBundle(content, to)
	var fromSink sinkError
	switch {
	case errors.As(err, &fromSink):
		return fromSink.error
	case err != nil && to.ctx.Err() == nil:
		return b.errorf(err)
	}
	return err
}

// errorf says what is wrong with the bundle.
func (b *Bundle) errorf(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = fmt.Errorf("it ends too early, its end is missing: %w", io.ErrUnexpectedEOF)
	}
	return gantry.Errorf(gantry.Invalid, "hg.Bundle", "the bundle %s cannot be read: %w", b.name, err)
}

// Close closes the file. It does not close what a stream comes from.
func (b *Bundle) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}
