// Package svn reads Subversion repositories natively: over the network with the ra_svn protocol
// (subversion/libsvn_ra_svn/protocol in Subversion's source) and from dump files, formats 1 to 3
// (notes/dump-load-format.txt there). Texts keep the svndiff form in which they come; internal/delta decodes it.
package svn

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"time"

	"gantry/internal/origin"
)

// Options say what to read and how to reach it.
type Options struct {
	URL         *url.URL // svn://host[:port]/path; user information in it is ignored
	Credentials origin.Credentials
	Dial        func(ctx context.Context, network, addr string) (net.Conn, error)
	TempDir     string        // holds texts of more than 1 MiB while they are read; "" is the system's
	IdleTimeout time.Duration // without a byte from the server, which may be computing; 0 is 5 minutes
	Log         *slog.Logger
}

// Session is one connection to a server. It is used by one goroutine at a time.
type Session struct{}

var _ origin.PathSource = (*Session)(nil)

var errUnimplemented = errors.New("svn: unimplemented")

// Dial connects, authenticates and learns what the repository is.
func Dial(ctx context.Context, opt Options) (*Session, error) { return nil, errUnimplemented }

// Kind is what a path is in a revision.
type Kind uint8

const (
	None Kind = iota
	File
	Dir
)

// Entry is one entry of a directory.
type Entry struct {
	Name string
	Kind Kind
}

// CheckPath tells what is at a path, relative to Info().Path, in a revision.
func (s *Session) CheckPath(ctx context.Context, path string, rev int64) (Kind, error) {
	return None, errUnimplemented
}

// List returns the entries of a directory, ordered by name.
func (s *Session) List(ctx context.Context, path string, rev int64) ([]Entry, error) {
	return nil, errUnimplemented
}

// Info implements origin.PathSource.
func (s *Session) Info() origin.Info { return origin.Info{} }

// Replay implements origin.PathSource.
func (s *Session) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	return errUnimplemented
}

// Close ends the connection.
func (s *Session) Close() error { return nil }
