package hg

import (
	"context"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// Source reads one repository over the network. It is used by one goroutine at a time.
type Source struct {
	opt  Options
	info origin.GraphInfo
}

var _ origin.GraphSource = (*Source)(nil)

// Open connects to the repository at opt.Address, authenticates and learns what it can do.
//
// Errors wrap origin.ErrAuthRequired, origin.ErrAuthFailed, origin.ErrNotFound or origin.ErrTemporary where they apply.
func Open(_ context.Context, opt Options) (*Source, error) {
	opt = opt.complete()
	return nil, gantry.Errorf(gantry.Invalid, "hg.Open", "Mercurial cannot be read over %s", opt.Address.Scheme)
}

// GraphInfo implements origin.GraphSource.
func (s *Source) GraphInfo() origin.GraphInfo { return s.info }

// Pull implements origin.GraphSource.
func (s *Source) Pull(context.Context, []revlog.Node, revlog.Sink) (origin.GraphHeads, error) {
	return origin.GraphHeads{}, gantry.Errorf(gantry.Invalid, "hg.Pull", "Mercurial cannot be read over %s", s.opt.Address.Scheme)
}

// Close implements origin.GraphSource.
func (s *Source) Close() error { return nil }
