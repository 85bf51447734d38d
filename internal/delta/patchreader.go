package delta

import (
	"errors"
	"io"
)

// Reader makes of base what Apply does, without holding either in memory. The patch was checked against the size of base;
// where base ends too early, so does what is made of it.
func (p Patch) Reader(base io.Reader) io.Reader { return &patchReader{base: base, rest: p} }

// patchReader goes through the hunks. Of the running one it first copies what is before it.
type patchReader struct {
	base io.Reader
	at   int64 // in base
	rest Patch

	running bool
	hunk    Hunk
}

func (r *patchReader) Read(p []byte) (int, error) {
	for len(p) > 0 {
		switch {
		case !r.running && len(r.rest) == 0:
			return r.base.Read(p)
		case !r.running:
			r.hunk, r.rest = r.rest.first()
			r.running = true
		case r.at < r.hunk.Start:
			n, err := r.base.Read(p[:min(int64(len(p)), r.hunk.Start-r.at)])
			if r.at += int64(n); r.at == r.hunk.Start && errors.Is(err, io.EOF) {
				err = nil // nothing more is needed of base
			}
			return n, early(err)
		case r.at < r.hunk.End:
			n, err := io.CopyN(io.Discard, r.base, r.hunk.End-r.at)
			r.at += n
			if err != nil {
				return 0, early(err)
			}
		case len(r.hunk.New) > 0:
			n := copy(p, r.hunk.New)
			r.hunk.New = r.hunk.New[n:]
			return n, nil
		default:
			r.running = false
		}
	}
	return 0, nil
}

func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
