package svn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"gantry"
	"gantry/internal/origin"
)

// Source reads one repository over whatever the scheme of its address is, on as many connections at once as pay.
// It is used by one goroutine at a time.
type Source struct {
	first   connection // knows how to open others
	tempDir string
	log     *slog.Logger

	mu   sync.Mutex
	idle []connection // in order
}

var (
	_ origin.PathSource = (*Source)(nil)
	_ origin.Lister     = (*Source)(nil)
)

// connection is one way to a repository, used by one goroutine at a time. Faults of it wrap origin.ErrTemporary, and leave
// it closed: only clone is of use then.
type connection interface {
	Info() origin.Info
	// List returns what is in directories, up to the first one that cannot be listed, whose error it returns.
	List(ctx context.Context, dirs []origin.Directory, rev int64) ([][]Entry, error)
	CheckPath(ctx context.Context, path string, rev int64) (Kind, error)
	Replay(ctx context.Context, first, last int64, sink origin.Sink) error
	Close() error

	// clone opens another connection to the same repository, with the same Info.
	clone(ctx context.Context) (connection, error)
	// worthwhile is how many connections at once read, and how many list, faster than fewer.
	worthwhile() (readers, listers int)
}

// Open connects to the repository at opt.URL, authenticates and learns what it is, as Dial does.
func Open(ctx context.Context, opt Options) (*Source, error) {
	conn, err := connect(ctx, opt)
	if err != nil {
		return nil, err
	}
	log := opt.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Source{first: conn, idle: []connection{conn}, tempDir: opt.TempDir, log: log}, nil
}

func connect(ctx context.Context, opt Options) (connection, error) {
	switch opt.URL.Scheme {
	case "svn", "svn+ssh":
		return Dial(ctx, opt)
	case "http", "https":
		return dialDAV(ctx, opt)
	}
	return nil, gantry.Errorf(gantry.Invalid, "svn.Open", "Subversion cannot be read over %s: give an address of svn, svn+ssh, http or https, or a dump file", opt.URL.Scheme)
}

// Info implements origin.PathSource.
func (s *Source) Info() origin.Info { return s.first.Info() }

// List implements origin.Lister.
func (s *Source) List(ctx context.Context, rev int64, dirs []origin.Directory) ([][]origin.Entry, error) {
	lists := make([][]origin.Entry, len(dirs))
	group, ctx := errgroup.WithContext(ctx)
	_, connections := s.first.worthwhile()
	group.SetLimit(connections)
	each := len(dirs)
	if connections > 1 {
		each = max(fewLists, each/(4*connections)) // so that none has long to wait for the last one
	}
	for first := 0; first < len(dirs); first += each {
		last := min(first+each, len(dirs))
		group.Go(func() error { return s.list(ctx, rev, dirs[first:last], lists[first:last]) })
	}
	return lists, group.Wait()
}

// fewLists are not worth another connection.
const fewLists = 16

// list fills lists. Those of directories that are refused stay nil.
func (s *Source) list(ctx context.Context, rev int64, dirs []origin.Directory, lists [][]origin.Entry) error {
	for len(dirs) > 0 {
		err := s.with(ctx, func(conn connection) error {
			listed, err := conn.List(ctx, dirs, rev)
			for i, entries := range listed {
				lists[i] = make([]origin.Entry, len(entries))
				for j, e := range entries {
					lists[i][j] = origin.Entry{Name: e.Name, Dir: e.Kind == Dir, Size: e.Size, Changed: e.Changed}
				}
			}
			dirs, lists = dirs[len(listed):], lists[len(listed):]
			return err
		})
		switch {
		case isRefusal(err):
			dirs, lists = dirs[1:], lists[1:]
		case err != nil:
			return err
		}
	}
	return nil
}

// Look implements origin.Lister.
func (s *Source) Look(ctx context.Context, rev int64, path string) (sight origin.Sight, err error) {
	err = s.with(ctx, func(conn connection) error {
		kind, err := conn.CheckPath(ctx, path, rev)
		switch {
		case isRefusal(err):
			sight, err = origin.Refused, nil
		case kind != None:
			sight = origin.Present
		}
		return err
	})
	return sight, err
}

func isRefusal(err error) bool {
	return errors.Is(err, origin.ErrAuthRequired) || errors.Is(err, origin.ErrAuthFailed)
}

// Replay implements origin.PathSource. A connection that fails is replaced and its revisions are asked for again, so a
// revision may begin anew.
func (s *Source) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	a := &ahead{connect: s.open, retire: s.retire, tempDir: s.tempDir, log: s.log}
	readers, _ := s.first.worthwhile()
	return a.run(ctx, max(first, 1), last, readers, sink)
}

// with asks something on a connection that is in order, another one if that turns out to be none.
func (s *Source) with(ctx context.Context, ask func(connection) error) error {
	for again := true; ; again = false {
		conn, err := s.open(ctx)
		if err != nil {
			return err
		}
		err = ask(conn)
		if !errors.Is(err, origin.ErrTemporary) {
			s.retire(conn)
			return err
		}
		if closeErr := conn.Close(); closeErr != nil || !again {
			return err
		}
	}
}

// open returns a connection that is in order and in nobody's use.
func (s *Source) open(ctx context.Context) (connection, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		conn := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return conn, nil
	}
	s.mu.Unlock()
	conn, err := s.first.clone(ctx)
	if err != nil {
		return nil, err
	}
	was, is := s.first.Info(), conn.Info()
	switch {
	case is.UUID != was.UUID || is.Path != was.Path:
		err = gantry.Errorf(gantry.Conflict, "svn", "%s: repository %s was there, and now it is %s: the origin was replaced while it was read; start the import anew", was.Root, was.UUID, is.UUID)
	case is.Head < was.Head:
		err = fmt.Errorf("svn: %s: %w: this server has r%d where another one had r%d: a mirror that is late", was.Root, origin.ErrTemporary, is.Head, was.Head)
	default:
		return conn, nil
	}
	return nil, errors.Join(err, conn.Close())
}

// retire keeps a connection for the next use.
func (s *Source) retire(conn connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, conn)
}

// Close ends the connections that are left.
func (s *Source) Close() error {
	var errs []error
	for _, conn := range s.idle {
		errs = append(errs, conn.Close())
	}
	s.idle = nil
	return errors.Join(errs...)
}
