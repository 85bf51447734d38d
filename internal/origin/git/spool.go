package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"gantry/internal/pack"
)

// spool collects new objects in a file, as a pack without the header, which must tell their number first
// (gitformat-pack(5)).
type spool struct {
	file    *os.File
	out     *bufio.Writer
	deflate *zlib.Writer
	sum     hash.Hash
	count   uint32
}

func newSpool(dir string) (*spool, error) {
	file, err := os.CreateTemp(dir, "rewrite-*")
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(file, 256<<10)
	return &spool{file: file, out: out, deflate: zlib.NewWriter(out), sum: sha1.New()}, nil
}

func (s *spool) add(t pack.Type, data []byte) (id pack.ID, err error) {
	s.sum.Reset()
	fmt.Fprintf(s.sum, "%s %d\x00", t, len(data))
	s.sum.Write(data)
	s.sum.Sum(id[:0])

	size := uint64(len(data))
	head := []byte{byte(t)<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	if _, err := s.out.Write(head); err != nil {
		return id, err
	}
	s.deflate.Reset(s.out)
	if _, err := s.deflate.Write(data); err != nil {
		return id, err
	}
	s.count++
	return id, s.deflate.Close()
}

// writePack writes the complete pack.
func (s *spool) writePack(_ context.Context, w io.Writer) error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha1.New()
	both := io.MultiWriter(w, sum)
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), s.count)
	if _, err := io.Copy(both, io.MultiReader(bytes.NewReader(head), s.file)); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

func (s *spool) close() error { return errors.Join(s.file.Close(), os.Remove(s.file.Name())) }
