package gitdir

import (
	"context"
	"errors"
	"io"

	"gantry/internal/pack"
)

// RefUpdate moves one ref. A zero Old says that the ref does not exist yet, a zero New deletes it.
type RefUpdate struct {
	Name     string
	Old, New pack.ID
}

// Push moves refs of the repository at dir to objects that writePack sends (a complete pack, deltas within it; not
// called when every update deletes). All refs move, or none. When one of them is no longer at its Old, the error is of
// kind Conflict and names it; objects that fail the strict checks are of kind Invalid.
func (g *Git) Push(ctx context.Context, dir string, updates []RefUpdate, writePack func(ctx context.Context, w io.Writer) error) error {
	return errors.ErrUnsupported
}
