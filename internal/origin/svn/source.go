package svn

import (
	"cmp"
	"context"
	"log/slog"

	"gantry"
	"gantry/internal/origin"
)

// Source reads one repository over whatever the scheme of its address is, on as many connections at once as pay.
// It is used by one goroutine at a time.
type Source struct {
	conn connection
	log  *slog.Logger
}

var _ origin.PathSource = (*Source)(nil)

// connection is one way to a repository, used by one goroutine at a time. Faults of it wrap origin.ErrTemporary, and leave
// it closed: only clone is of use then.
type connection interface {
	Info() origin.Info
	CheckPath(ctx context.Context, path string, rev int64) (Kind, error)
	List(ctx context.Context, path string, rev int64) ([]Entry, error)
	Replay(ctx context.Context, first, last int64, sink origin.Sink) error
	Close() error

	// clone opens another connection to the same repository, with the same Info.
	clone(ctx context.Context) (connection, error)
	// worthwhile is how many connections at once read faster than fewer.
	worthwhile() int
}

// Open connects to the repository at opt.URL, authenticates and learns what it is, as Dial does for svn://.
func Open(ctx context.Context, opt Options) (*Source, error) {
	conn, err := connect(ctx, opt)
	if err != nil {
		return nil, err
	}
	return &Source{conn: conn, log: cmp.Or(opt.Log, slog.New(slog.DiscardHandler))}, nil
}

func connect(ctx context.Context, opt Options) (connection, error) {
	switch opt.URL.Scheme {
	case "svn":
		return Dial(ctx, opt)
	}
	return nil, gantry.Errorf(gantry.Invalid, "svn.Open", "Subversion cannot be read over %s by this version of Gantry; svn:// addresses and dump files can", opt.URL.Scheme)
}

// Info implements origin.PathSource.
func (s *Source) Info() origin.Info { return s.conn.Info() }

// CheckPath tells what is at a path, relative to Info().Path, in a revision.
func (s *Source) CheckPath(ctx context.Context, path string, rev int64) (Kind, error) {
	return s.conn.CheckPath(ctx, path, rev)
}

// List returns the entries of a directory, ordered by name. The path is relative to Info().Path.
func (s *Source) List(ctx context.Context, path string, rev int64) ([]Entry, error) {
	return s.conn.List(ctx, path, rev)
}

// Replay implements origin.PathSource.
func (s *Source) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	return s.conn.Replay(ctx, first, last, sink)
}

// Close ends all connections.
func (s *Source) Close() error { return s.conn.Close() }
