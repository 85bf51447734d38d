package svn

import (
	"context"

	"gantry/internal/origin"
)

// Dump is a dump file. It is used by one goroutine at a time.
type Dump struct{}

var _ origin.PathSource = (*Dump)(nil)

// OpenDump opens a dump of format 1, 2 or 3, plain or compressed by gzip or zstd, and reads through its headers once, so
// that Info().Head is known and a truncated file is found out before anything is imported.
func OpenDump(ctx context.Context, path string) (*Dump, error) { return nil, errUnimplemented }

// Info implements origin.PathSource.
func (d *Dump) Info() origin.Info { return origin.Info{} }

// Replay implements origin.PathSource.
func (d *Dump) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	return errUnimplemented
}

// Close closes the file.
func (d *Dump) Close() error { return nil }
