// Package convert brings an origin into Git: it reads revisions into packs and a raw log, maps the raw log to commits
// and refs, and writes the pack of the result. It works on a staging directory and survives being killed at any moment:
// what counts is what its Journal last committed.
package convert

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// Options of a conversion.
type Options struct {
	Dir      string // staging directory; made when missing. Nothing else may be kept in it.
	Writer   string // a word no other owner of Dir ever used; part of new files' names, so that owners never share one
	Journal  Journal
	Progress func(Progress) // called often, from one goroutine at a time; nil for none
	Log      *slog.Logger   // nil for none

	// LargeFile is the size in bytes above which a file is a large file; 0 for gantry.LargeFileThreshold.
	LargeFile int64
}

// Phase is what a conversion is doing.
type Phase string

// Phases, in their order.
const (
	Fetching Phase = "fetching" // counts objects of a Git origin
	Reading  Phase = "reading"  // counts revisions
	Mapping  Phase = "mapping"  // counts revisions
	Packing  Phase = "packing"  // counts objects
)

// Progress says how far a phase has come. Total is -1 while it is not known. Bytes counts file content read so far.
type Progress struct {
	Phase Phase
	Done  int64
	Total int64
	Bytes int64
}

// Conversion is one origin on its way into Git. It is used by one goroutine at a time.
type Conversion struct{}

// Open takes up the work in a staging directory where its journal says that it stands.
func Open(ctx context.Context, opt Options) (*Conversion, error) {
	return nil, errors.New("convert: unimplemented")
}

// State returns what the journal was last given.
func (c *Conversion) State() State { return State{} }

// Read is the raw step: it reads the revisions after the last checkpoint up to the origin's newest. When it returns nil
// everything read is committed and State().Complete is true; an error leaves the last checkpoint as it was. An origin
// that is not the one that the checkpoint tells of is a gantry.Conflict. Reading again later continues with what is new.
func (c *Conversion) Read(ctx context.Context, src origin.PathSource) error {
	return errors.New("convert: unimplemented")
}

// Authors returns the author table: every author read so far, by ordinal.
func (c *Conversion) Authors() []history.Author { return nil }

// Projects returns the paths of several projects that each have a trunk of their own below the root that was read. It
// is empty for an origin of one project. Map converts one of them when MapOptions.Root names it.
func (c *Conversion) Projects(ctx context.Context) ([]string, error) { return nil, nil }

// MapOptions say how raw data becomes commits.
type MapOptions struct {
	// Authors are the identities that authors were mapped to, by Author.RemoteID; the others keep their defaults.
	Authors map[string]history.Identity

	Root          string // path of the project below the root that was read, "" for all of it
	DefaultBranch string // name of trunk's branch; "" for main

	// Commit is told of every commit in the order of their revisions; nil for none.
	Commit func(history.Commit) error
}

// Map turns everything read into commits and refs. It may be called again with other options; the same options always
// give the same result.
func (c *Conversion) Map(ctx context.Context, opt MapOptions) (*Result, error) {
	return nil, errors.New("convert: unimplemented")
}

// WritePack writes a complete pack of everything that a result's refs reach and that the receiver does not have.
// have tells what it has (with all that it refers to); nil: nothing.
func (c *Conversion) WritePack(ctx context.Context, w io.Writer, result *Result, have func(pack.ID) bool) error {
	return errors.New("convert: unimplemented")
}

// Close releases the staging directory's files. What was read since the last checkpoint is lost.
func (c *Conversion) Close() error { return nil }
