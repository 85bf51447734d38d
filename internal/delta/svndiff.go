package delta

import (
	"errors"
	"io"
)

// SVNDiff reads an svndiff stream window by window. It is used by one goroutine at a time.
type SVNDiff struct {
	r io.Reader
}

// NewSVNDiff returns a reader of the svndiff stream r, of any version.
func NewSVNDiff(r io.Reader) *SVNDiff { return &SVNDiff{r: r} }

// Reset begins another stream with the same buffers.
func (d *SVNDiff) Reset(r io.Reader) { d.r = r }

// Window is one step of an svndiff: a stretch of target text made from a view of the source and new data.
type Window struct {
	SourceOffset int64 // where in the source the view begins
	SourceLen    int   // bytes of the view
	TargetLen    int   // bytes that the window makes
}

// Next returns the next window, io.EOF after the last one. The window is valid until the next call.
func (d *SVNDiff) Next() (*Window, error) { return nil, errors.New("unimplemented") }

// ApplyTo applies the whole stream to a base that stays where it is and writes the target to w, for texts that are not
// to be held in memory. It returns the target's size.
func (d *SVNDiff) ApplyTo(w io.Writer, base io.ReaderAt) (int64, error) {
	return 0, errors.New("unimplemented")
}

// Apply appends the window's target to dst. View is the SourceLen bytes of the source from SourceOffset on.
func (w *Window) Apply(dst, view []byte) ([]byte, error) { return nil, errors.New("unimplemented") }

// AppendGit adds the window to a Git delta against the whole source. Target is what Apply made of the window: Git
// has no copies from the target, so these become literal bytes.
func (w *Window) AppendGit(b *Builder, target []byte) {}
