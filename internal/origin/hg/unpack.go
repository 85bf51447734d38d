package hg

import (
	"bytes"
	"io"
	"slices"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"gantry/internal/delta"
)

// unpacker takes the compression off the chunks of revlogs. What it returns is valid until the next call.
type unpacker struct {
	buf  []byte
	zlib io.ReadCloser
	zstd *zstd.Decoder
}

// text makes a chunk that is a whole text of size bytes a patch against nothing.
func (u *unpacker) text(packed []byte, size int) ([]byte, error) {
	u.buf = delta.FullPatch(u.buf[:0], size)
	start := len(u.buf)
	if err := u.unpack(packed); err != nil {
		return nil, err
	}
	if n := len(u.buf) - start; n != size {
		return nil, malformedf("its text has %d bytes instead of %d", n, size)
	}
	return u.buf, nil
}

// patch returns the patch that a chunk is.
func (u *unpacker) patch(packed []byte) ([]byte, error) {
	u.buf = u.buf[:0]
	err := u.unpack(packed)
	return u.buf, err
}

// unpack appends to buf what a chunk holds, as its first byte tells.
func (u *unpacker) unpack(packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	switch packed[0] {
	case 0:
		u.buf = append(u.buf, packed...)
	case 'u':
		u.buf = append(u.buf, packed[1:]...)
	case 'x':
		return u.inflate(packed)
	case '(':
		return u.decode(packed)
	default:
		return unknownCompression(packed[0])
	}
	return nil
}

func unknownCompression(first byte) error {
	return malformedf("it is compressed in a way that begins with %q, which is not known", first)
}

func (u *unpacker) inflate(packed []byte) (err error) {
	in := bytes.NewReader(packed)
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(in)
	} else {
		err = u.zlib.(zlib.Resetter).Reset(in, nil)
	}
	if err == nil {
		err = u.readAll(u.zlib, len(packed))
	}
	if err != nil {
		return malformedf("zlib: %v", err)
	}
	return nil
}

// readAll appends to buf all that comes of so many packed bytes.
func (u *unpacker) readAll(in io.Reader, packed int) error {
	for {
		u.buf = slices.Grow(u.buf, max(4*packed, 512))
		n, err := in.Read(u.buf[len(u.buf):cap(u.buf)])
		u.buf = u.buf[:len(u.buf)+n]
		switch {
		case err != nil:
			return atEnd(err)
		case len(u.buf) > delta.MaxText:
			return malformedf("it has more than %d bytes", int64(delta.MaxText))
		}
	}
}

const (
	zstdBlock       = 128 << 10 // bytes that a block makes at most (RFC 8878)
	zstdBlockHeader = 3         // bytes that it has at least
)

// decode takes no more memory than what so many bytes can make, whatever they say.
func (u *unpacker) decode(packed []byte) (err error) {
	if u.zstd == nil {
		u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
	}
	var head zstd.Header
	if err := head.Decode(packed); err != nil {
		return malformedf("zstd: %v", err)
	}
	if !head.HasFCS { // as where it was written piece by piece
		err := u.zstd.Reset(bytes.NewReader(packed))
		if err == nil {
			err = u.readAll(u.zstd, len(packed))
		}
		if err != nil {
			return malformedf("zstd: %v", err)
		}
		return nil
	}
	if most := min(delta.MaxText, (uint64(len(packed))/zstdBlockHeader+1)*zstdBlock); head.FrameContentSize > most {
		return malformedf("zstd: %d bytes would be %d", len(packed), head.FrameContentSize)
	}
	u.buf = slices.Grow(u.buf, int(head.FrameContentSize))
	if u.buf, err = u.zstd.DecodeAll(packed, u.buf); err != nil {
		return malformedf("zstd: %v", err)
	}
	return nil
}

func (u *unpacker) close() {
	if u.zlib != nil {
		_ = u.zlib.Close() // a reader's: nothing can be lost
	}
	if u.zstd != nil {
		u.zstd.Close()
	}
}
