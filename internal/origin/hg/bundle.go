package hg

import (
	"bufio"
	"compress/bzip2"
	"io"
	"strconv"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	bundleBuffer = 256 << 10 // bytes
	maxWindow    = 128 << 20 // bytes that a zstd stream may refer back
)

// bundle is a bundle of any kind whose beginning was read (mercurial/helptext/internals/bundles.txt).
type bundle struct {
	in    *bufio.Reader // what follows, decompressed
	parts bool          // a bundle of version 2
	bare  bool          // a bare stream of version 1, without parts and a changegroup's order
	close func()
}

// openBundle reads the beginning of a bundle. What it takes is given back by close; in stays open.
func openBundle(in *bufio.Reader) (*bundle, error) {
	magic, err := in.Peek(6)
	if err != nil && len(magic) < len("HG20") {
		return nil, unexpected(err)
	}
	b := &bundle{in: in, close: func() {}}
	switch string(magic) {
	case "HG10UN":
		_, err = in.Discard(6)
		return b, err
	case "HG10GZ":
		if _, err = in.Discard(6); err == nil {
			err = b.decompress("GZ")
		}
		return b, err
	case "HG10BZ":
		if _, err = in.Discard(4); err == nil { // the last two are those of the bzip2 stream itself
			err = b.decompress("BZ")
		}
		return b, err
	case "HGS1UN":
		b.bare = true
		_, err = in.Discard(6)
		return b, err
	}
	if string(magic[:min(4, len(magic))]) != "HG20" {
		return nil, malformedf("this is not a Mercurial bundle, as hg bundle writes it")
	}
	b.parts = true
	if _, err := in.Discard(4); err != nil {
		return nil, err
	}
	compression, err := readStreamParams(in)
	if err != nil {
		return nil, err
	}
	return b, b.decompress(compression)
}

// decompress makes what follows plain. The names are those of bundles.
func (b *bundle) decompress(compression string) error {
	switch compression {
	case "", "UN":
		return nil
	case "GZ":
		z, err := zlib.NewReader(b.in)
		if err != nil {
			return unexpected(err)
		}
		b.in, b.close = bufio.NewReaderSize(z, bundleBuffer), func() { _ = z.Close() } // a reader's: nothing can be lost
	case "BZ":
		b.in = bufio.NewReaderSize(bzip2.NewReader(b.in), bundleBuffer)
	case "ZS":
		z, err := zstd.NewReader(b.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return unexpected(err)
		}
		b.in, b.close = bufio.NewReaderSize(z, bundleBuffer), z.Close
	default:
		return unsupportedf("the bundle is compressed as %.40q, which is not known", compression)
	}
	return nil
}

// changesets returns how many of them the first part says to have, -1 when there is none that says so. The bundle cannot be
// read after that.
func (b *bundle) changesets() (int64, error) {
	if !b.parts {
		return -1, nil
	}
	p, err := readPart(b.in, nil, 0)
	if err != nil || p == nil {
		return -1, err
	}
	n, err := strconv.ParseInt(p.params["nbchanges"], 10, 64)
	if err != nil || n < 0 {
		return -1, nil //nolint:nilerr // it is told for progress only
	}
	return n, nil
}

// readBundle reads a bundle of any kind to its end.
func readBundle(in io.Reader, to *intake) error {
	b, err := openBundle(bufio.NewReaderSize(in, bundleBuffer))
	if err != nil {
		return err
	}
	defer b.close()
	return b.read(to)
}

func (b *bundle) read(to *intake) error {
	switch {
	case b.parts:
		return readParts(b.in, to)
	case b.bare:
		return readStream1(b.in, to)
	}
	return readChangegroup(b.in, 1, to)
}
