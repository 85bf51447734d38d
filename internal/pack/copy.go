package pack

import (
	"context"
	"errors"
	"io"
)

// CopyOptions tune Copy. The zero value copies everything.
type CopyOptions struct {
	Have     func(ID) bool            // objects that the receiver has, with all they refer to: left out
	Progress func(done, total uint32) // objects written so far; called now and then
}

// CopyResult says what Copy wrote.
type CopyResult struct {
	Objects  uint32
	Size     int64 // bytes of the pack
	Checksum ID    // the pack's last 20 bytes, which also name it
}

// Copy writes a complete pack (version 2) of all objects that can be reached from roots: commits, tags, trees, blobs.
// An object that is missing is ErrMissing, with what refers to it.
func Copy(ctx context.Context, w io.Writer, src *Store, roots []ID, opt CopyOptions) (CopyResult, error) {
	return CopyResult{}, errors.New("unimplemented")
}

// WriteIndex writes the index (version 2) of the pack that was copied.
func (r *CopyResult) WriteIndex(w io.Writer) error { return errors.New("unimplemented") }
