package gitdir

import (
	"context"
	"errors"
	"io"
)

// Installation is what a new repository consists of.
type Installation struct {
	Refs []Ref
	Head string // the ref that HEAD names, which need not exist

	// Pack writes a complete pack; nil when there are no refs.
	Pack func(ctx context.Context, w io.Writer) error
	// Index writes the pack's index (version 2) after Pack has returned. When nil, git indexes the pack and checks every
	// object strictly.
	Index func(w io.Writer) error
}

// Install builds a bare repository beside dir and renames it to dir, which must not exist or be empty: dir is complete
// or untouched at every moment.
func (g *Git) Install(ctx context.Context, dir string, in Installation) error {
	return errors.ErrUnsupported
}

// Maintain packs the repository's objects and refs and writes bitmaps and the commit-graph, so that it is cheap to
// serve. Pushes may go on meanwhile.
func (g *Git) Maintain(ctx context.Context, dir string) error {
	return errors.ErrUnsupported
}
