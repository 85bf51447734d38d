package origin

import (
	"context"
	"io"

	"gantry/internal/lfs"
	"gantry/internal/revlog"
)

// GraphSource reads one Mercurial origin. It is used by one goroutine at a time.
type GraphSource interface {
	GraphInfo() GraphInfo

	// Pull sends everything that is neither one of the known changesets nor an ancestor of one, and returns the sink's
	// error unchanged when it has one. Known ones that the origin does not have are as good as none. A fault of the
	// connection wraps ErrTemporary; whatever was sent before is of use only together with what another Pull sends.
	//
	// More than was asked for may come, also more than the origin shows: what counts in the end are the bookmarks and
	// heads of what is returned, with their ancestors.
	Pull(ctx context.Context, known []revlog.Node, sink revlog.Sink) (GraphHeads, error)

	io.Closer
}

// ContentSource is a GraphSource that also has contents of which the graph has nothing but names. It is asked by one
// goroutine at a time, and also while Pull runs.
//
// What the origin does not have, or does not give, is absent, with the reason; it is not an error.
type ContentSource interface {
	GraphSource

	// Largefiles has take take the contents of Mercurial's extension largefiles with these SHA-1 sums, which are its to
	// check.
	Largefiles(ctx context.Context, sums []revlog.Node, take func(sum revlog.Node, in io.Reader) error, absent func(sum revlog.Node, reason string)) error

	// Objects brings contents of Git LFS into a store. Those that are there already are left alone.
	Objects(ctx context.Context, pointers []lfs.Pointer, to *lfs.Store, absent func(p lfs.Pointer, reason string)) error
}

// GraphInfo says what a Mercurial origin is.
type GraphInfo struct {
	Changesets int64 // that it has in all, -1 when it does not say before they come

	HostKey string // that an ssh host showed, as in package sshdial
}

// GraphHeads are what an origin shows of its graph.
type GraphHeads struct {
	Heads     []revlog.Node // changesets without children, neither hidden nor secret
	Bookmarks map[string]revlog.Node
}
