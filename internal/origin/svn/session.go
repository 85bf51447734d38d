package svn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gantry"
	"gantry/internal/origin"
)

const (
	defaultPort        = "3690"
	defaultIdleTimeout = 5 * time.Minute
	maxEntries         = 1 << 20 // entries of directories that are listed together
)

// Options say what to read and how to reach it.
type Options struct {
	URL         *url.URL           // of svn, svn+ssh, http or https; user information in it is ignored
	Credentials origin.Credentials // for svn+ssh, Password may be a private key in PEM form
	TempDir     string             // holds texts of more than 1 MiB while they are read; "" is the system's
	IdleTimeout time.Duration      // without a byte from the server, which may be computing; 0 is 5 minutes

	HTTP     http.RoundTripper                                                 // for http and https
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // for svn and svn+ssh
	HostKeys []string                                                          // keys that an ssh host may show, as in package sshdial; none: its first key is trusted and reported
	Agent    string                                                            // socket of an ssh agent, "" for none

	Log *slog.Logger
}

// complete fills in what may be left out.
func (opt Options) complete() Options {
	address := *opt.URL
	address.User, address.RawQuery, address.Fragment = nil, "", ""
	opt.URL = &address
	if opt.IdleTimeout == 0 {
		opt.IdleTimeout = defaultIdleTimeout
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return opt
}

// Session is one connection to a server. It is used by one goroutine at a time. A context that ends during a call closes
// the connection, and so does every error but one that the server itself answered.
type Session struct {
	opt     Options
	conn    link
	tunnel  *tunnel // conn of an svn+ssh address, else nil
	wire    *wire
	info    origin.Info
	spool   spool
	noRange bool // it does not know replay-range
	broken  bool
}

var _ connection = (*Session)(nil)

// Dial connects, authenticates and learns what the repository is. The address may lie below the repository's root: then
// only what is below it is read, and copies from elsewhere come as additions. With credentials they are used, even where
// the server would let anybody read, because it may show them more; without them the reader is anonymous.
//
// Errors wrap origin.ErrAuthRequired, origin.ErrAuthFailed, origin.ErrNotFound or origin.ErrTemporary where they apply.
func Dial(ctx context.Context, opt Options) (*Session, error) {
	opt = opt.complete()
	s := &Session{opt: opt, spool: spool{dir: opt.TempDir}}
	if opt.URL.Scheme != "svn" && opt.URL.Scheme != "svn+ssh" || opt.URL.Hostname() == "" {
		return nil, gantry.Errorf(gantry.Invalid, "svn.Dial", "%s is not an address of the form svn://host/path or svn+ssh://host/path", opt.URL)
	}
	if err := s.dial(ctx); err != nil {
		return nil, s.dialError(ctx, err)
	}
	s.wire = newWire(timedConn{s.conn, opt.IdleTimeout})
	if err := s.do(ctx, "svn.Dial", s.begin); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) dial(ctx context.Context) (err error) {
	if s.opt.URL.Scheme == "svn" {
		s.conn, err = s.opt.Dial(ctx, "tcp", net.JoinHostPort(s.opt.URL.Hostname(), cmp.Or(s.opt.URL.Port(), defaultPort)))
		return err
	}
	if s.tunnel, err = openTunnel(ctx, s.opt); err != nil {
		return err
	}
	s.conn = s.tunnel
	s.info.HostKey = s.tunnel.HostKey
	s.opt.HostKeys = []string{s.info.HostKey} // that further connections must show, too
	return nil
}

// dialError keeps what the dialer refused by policy, and makes the rest worth another try.
func (s *Session) dialError(ctx context.Context, err error) error {
	var refused *gantry.Error
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil, errors.As(err, &refused):
		return err
	case errors.Is(err, origin.ErrAuthRequired), errors.Is(err, origin.ErrAuthFailed):
		return gantry.Errorf(gantry.Unauthenticated, "svn.Dial", "%s: %w", s.opt.URL, err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return gantry.Errorf(gantry.NotFound, "svn.Dial", "%s: %w: there is no such host", s.opt.URL, origin.ErrNotFound)
	}
	return gantry.Errorf(gantry.Unavailable, "svn.Dial", "%s: %w: %w", s.opt.URL, origin.ErrTemporary, err)
}

// Info implements origin.PathSource.
func (s *Session) Info() origin.Info { return s.info }

// Close ends the connection.
func (s *Session) Close() error {
	s.hangUp()
	return s.spool.close()
}

// hangUp closes the connection, whose state is of no more interest.
func (s *Session) hangUp() {
	s.broken = true
	s.conn.Close()
}

func (s *Session) clone(ctx context.Context) (connection, error) { return Dial(ctx, s.opt) }

// worthwhile connections: a server works for each of them on a core of its own, and two of those send about as much as
// the applier takes. More of them only make svnserve work harder, since they share its cache of texts: for 5,000 revisions
// it took 1.9 s of processor time on one connection, 2.1 s on two and 2.7 s on three. For lists, which are asked for ahead,
// a second one makes it work half as much again.
func (s *Session) worthwhile() (readers, listers int) { return 2, 1 }

// CheckPath tells what is at a path, relative to Info().Path, in a revision.
func (s *Session) CheckPath(ctx context.Context, path string, rev int64) (kind Kind, err error) {
	err = s.do(ctx, "svn.CheckPath", func() error {
		kind, err = s.checkPath(path, rev)
		return err
	})
	return kind, err
}

// List returns the entries of directories, ordered by name: of all up to the first one that cannot be listed, whose error it
// returns. Paths are relative to Info().Path.
func (s *Session) List(ctx context.Context, dirs []origin.Directory, rev int64) (lists [][]Entry, err error) {
	err = s.do(ctx, "svn.List", func() error {
		lists, err = s.lists(dirs, rev)
		return err
	})
	return lists, err
}

// do runs one operation and says of its error what it was about. After an error that is not the server's own answer
// nobody knows what the connection's next byte means, so it is closed.
func (s *Session) do(ctx context.Context, op string, f func() error) error {
	if s.broken {
		return gantry.Errorf(gantry.Unavailable, op, "%s: %w: it is closed", s.opt.URL, origin.ErrTemporary)
	}
	stop := context.AfterFunc(ctx, func() { s.conn.Close() })
	err := f()
	cancelled := !stop()
	if cancelled || !inOrder(err) {
		s.hangUp()
	}
	return outcome(ctx, op, s.opt.URL, cancelled, err)
}

// inOrder reports whether the connection is of use after an operation: when it succeeded, or the server itself refused it.
func inOrder(err error) bool {
	var answer *failure
	return err == nil || errors.As(err, &answer) && !answer.final
}

// begin shakes hands and fills info.
func (s *Session) begin() error {
	if err := s.greet(); err != nil {
		return err
	}
	if err := s.authenticate(); err != nil {
		return err
	}
	var root string
	err := s.response(func() error {
		uuid, err := s.wire.short(maxToken)
		if err != nil {
			return err
		}
		s.info.UUID = string(uuid)
		address, err := s.wire.short(maxText)
		root = string(address)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.locate(root); err != nil {
		return err
	}
	err = s.command(func() (err error) {
		s.info.Head, err = s.wire.number()
		return err
	}, "( get-latest-rev ( ) )")
	if err != nil {
		return err
	}
	switch kind, err := s.checkPath("", s.info.Head); {
	case err != nil:
		return err
	case kind != Dir:
		return &failure{meaning: origin.ErrNotFound, message: fmt.Sprintf("there is no directory %q in r%d", s.info.Path, s.info.Head)}
	}
	return nil
}

func (s *Session) greet() error {
	if s.tunnel != nil {
		if err := s.wire.skipNoise(); err != nil {
			return err
		}
		s.tunnel.Greeted = true
	}
	err := s.response(func() error {
		oldest, err := s.wire.number()
		if err != nil {
			return err
		}
		newest, err := s.wire.number()
		if err == nil && (oldest > 2 || newest < 2) {
			err = malformedf("it speaks versions %d to %d, and Gantry speaks version 2", oldest, newest)
		}
		return err
	})
	if err != nil {
		return err
	}
	// Of the forms of a delta a server that knows the third, packed by LZ4, takes that one. It costs svnserve hardly more
	// than sending plain deltas; the second, packed by zlib, costs it a third more of its time for a replay.
	return s.wire.send("( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) %s %s ( ) )",
		str(s.address()), str("gantry"))
}

// address is the URL without an ending slash, which is how Subversion writes it.
func (s *Session) address() string { return strings.TrimRight(s.opt.URL.String(), "/") }

// locate finds which path below the repository's root the address is.
func (s *Session) locate(root string) error {
	u, err := url.Parse(root)
	if err != nil {
		return malformedf("%q is not an address", root)
	}
	below := strings.Trim(s.opt.URL.Path, "/")
	if above := strings.Trim(u.Path, "/"); above != "" {
		var ok bool
		if below, ok = strings.CutPrefix(below+"/", above+"/"); !ok {
			return malformedf("it says that the repository's root is %q, which is not above the address", root)
		}
	}
	u.User = nil
	s.info.Root = u.String()
	s.info.Path, err = cleanPath(below)
	if err != nil {
		return malformed(err.Error())
	}
	return nil
}

func (s *Session) checkPath(path string, rev int64) (kind Kind, err error) {
	err = s.command(func() (err error) {
		kind, err = s.kind()
		return err
	}, "( check-path ( %s ( %d ) ) )", str(path), rev)
	return kind, err
}

// listsAhead bounds the bytes of requests that are sent ahead of the answers. The buffers on the way hold as much, so that
// neither side waits for the other to read.
const listsAhead = 4 << 10

// lists asks for directories without waiting for one before the next is asked for.
func (s *Session) lists(dirs []origin.Directory, rev int64) (lists [][]Entry, err error) {
	var requests []byte
	var sizes []int // of the requests that were not answered
	ahead, listed := 0, 0
	for err == nil && len(lists) < len(dirs) || len(sizes) > 0 {
		requests = requests[:0]
		for err == nil && len(lists)+len(sizes) < len(dirs) && (len(sizes) == 0 || ahead < listsAhead) {
			before := len(requests)
			requests = appendGetDir(requests, dirs[len(lists)+len(sizes)], rev)
			sizes = append(sizes, len(requests)-before)
			ahead += len(requests) - before
		}
		if len(requests) > 0 {
			if err := s.wire.send("%s", requests); err != nil {
				return lists, err
			}
		}
		entries, listErr := s.list(dirs[len(lists)].Changes, maxEntries-listed)
		listed += len(entries)
		ahead -= sizes[0]
		sizes = sizes[1:]
		if listErr != nil && !inOrder(listErr) {
			return lists, cmp.Or(err, listErr)
		}
		if err = cmp.Or(err, listErr); err == nil {
			lists = append(lists, entries)
		}
	}
	return lists, err
}

func tooManyEntries() error {
	return malformedf("a directory, or some together, have more than %d entries", maxEntries)
}

func appendGetDir(requests []byte, dir origin.Directory, rev int64) []byte {
	fields := "kind size"
	if dir.Changes {
		fields += " created-rev"
	}
	return fmt.Appendf(requests, "( get-dir ( %s ( %d ) false true ( %s ) ) ) ", str(dir.Path), rev, fields)
}

// list reads one list.
func (s *Session) list(changes bool, limit int) (entries []Entry, err error) {
	if err := s.authenticate(); err != nil {
		return nil, err
	}
	err = s.response(func() error {
		if _, err := s.wire.number(); err != nil {
			return err
		}
		if _, err := s.wire.proplist(); err != nil {
			return err
		}
		return s.wire.each(func() error {
			if len(entries) == limit {
				return tooManyEntries()
			}
			entry, err := s.entry()
			if !changes {
				entry.Changed = -1
			}
			entries = append(entries, entry)
			return err
		})
	})
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, err
}

func (s *Session) entry() (e Entry, err error) {
	if err := s.wire.open(); err != nil {
		return e, err
	}
	if e.Name, err = s.wire.path(); err != nil {
		return e, err
	}
	if e.Kind, err = s.kind(); err != nil {
		return e, err
	}
	if e.Size, err = s.wire.number(); err != nil {
		return e, err
	}
	if e.Kind != File {
		e.Size = -1
	}
	if _, err := s.wire.word(); err != nil { // whether it has properties
		return e, err
	}
	if e.Changed, err = s.wire.number(); err != nil {
		return e, err
	}
	return e, s.wire.close()
}

func (s *Session) kind() (Kind, error) {
	word, err := s.wire.word()
	if err != nil {
		return None, err
	}
	switch string(word) {
	case "file":
		return File, nil
	case "dir":
		return Dir, nil
	case "none", "unknown":
		return None, nil
	}
	return None, malformedf("%q is no kind of node", word)
}

// command sends a command, logs in if that is asked for, and reads the answer.
func (s *Session) command(answer func() error, format string, args ...any) error {
	if err := s.wire.send(format, args...); err != nil {
		return err
	}
	if err := s.authenticate(); err != nil {
		return err
	}
	return s.response(answer)
}

// response reads a success, whose items answer takes, or a failure.
func (s *Session) response(answer func() error) error {
	if err := s.wire.open(); err != nil {
		return err
	}
	word, err := s.wire.word()
	if err != nil {
		return err
	}
	switch string(word) {
	case "success":
		if err := s.wire.open(); err != nil {
			return err
		}
		if err := answer(); err != nil {
			return err
		}
		if err := s.wire.close(); err != nil {
			return err
		}
	case "failure":
		return s.readFailure()
	default:
		return malformedf("%q came for an answer", word)
	}
	return s.wire.close()
}
