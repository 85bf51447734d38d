package origin

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that a zstd stream may ask for.
const maxWindow = 128 << 20

// Inflate returns what a file holds that may be compressed by gzip (RFC 1952) or zstd (RFC 8878), as its first bytes tell,
// and whether it is. Closing the result does not close the file.
func Inflate(file *bufio.Reader) (content io.ReadCloser, compressed bool, err error) {
	magic, err := file.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		content, err = gzip.NewReader(file)
		return content, true, err
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, true, err
		}
		return z.IOReadCloser(), true, nil
	}
	return io.NopCloser(file), false, nil
}
