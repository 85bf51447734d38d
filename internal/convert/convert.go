// Package convert brings an origin into Git: it reads revisions into packs and a raw log, maps the raw log to commits
// and refs, and writes the pack of the result. It works on a staging directory and survives being killed at any moment:
// what counts is what its Journal last committed.
package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/pack"
)

// Options of a conversion.
type Options struct {
	Dir     string // staging directory; made when missing. Nothing else may be kept in it.
	Writer  string // a word no other owner of Dir ever used; part of new files' names, so that owners never share one
	Journal Journal

	// Earlier reports whether a word is that of an owner before this one, whose uncommitted files nobody needs any more;
	// nil keeps them.
	Earlier func(writer string) bool

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
type Conversion struct {
	opt     Options
	store   *pack.Store
	log     *history.Log
	applier *applier
	graph   *graph // nil unless changesets are read

	state State // last committed
	due   time.Time

	headUnknown bool // what is being read has no known end

	next    int64 // the rest is what was read since
	counts  Counts
	authors *history.Authors
	large   []history.LargeFile
}

// Open takes up the work in a staging directory where its journal says that it stands.
func Open(ctx context.Context, opt Options) (*Conversion, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.LargeFile = cmp.Or(opt.LargeFile, gantry.LargeFileThreshold)
	state, err := opt.Journal.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("convert: load the last checkpoint: %w", err)
	}
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	if opt.Earlier != nil {
		if err := removeStrays(opt.Dir, state, opt.Earlier); err != nil {
			return nil, fmt.Errorf("convert: %w", err)
		}
	}
	log, err := history.OpenLog(opt.Dir, opt.Writer, state.Log)
	if err != nil {
		return nil, err
	}
	store, err := pack.OpenStore(opt.Dir, opt.Writer, state.Packs, pack.Options{})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	c := &Conversion{
		opt: opt, store: store, log: log, applier: newApplier(store, opt.Dir, opt.LargeFile),
		state: state, next: max(state.Next, 1), counts: state.Counts, authors: history.NewAuthors(state.UUID),
	}
	if err := c.replayLog(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// replayLog brings back what is not in the state: it is all in the raw log.
func (c *Conversion) replayLog() error {
	for r, err := range c.log.Records() {
		if err != nil {
			return err
		}
		if err := c.applier.adopt(r); err != nil {
			return err
		}
		c.authors.Add(r)
		c.large = append(c.large, r.Large...)
	}
	if c.applier.last >= c.next || len(c.authors.List()) != c.state.Authors || int64(len(c.large)) != c.state.LargeFiles {
		return fmt.Errorf("convert: %w: it does not match the checkpoint", history.ErrCorrupt)
	}
	return nil
}

// State returns what the journal was last given.
func (c *Conversion) State() State { return c.state }

// Authors returns the author table: every author read so far, by ordinal.
func (c *Conversion) Authors() []history.Author { return c.authors.List() }

// Projects returns the paths of several projects that each have a trunk of their own below the root that was read. It
// is empty for an origin of one project. Map converts one of them when MapOptions.Root names it.
func (c *Conversion) Projects(ctx context.Context) ([]string, error) {
	survey, err := history.NewSurvey(ctx, c.log, c.store)
	if err != nil {
		return nil, err
	}
	return survey.Projects(), nil
}

// WritePack writes a complete pack of everything that a result's refs reach and that the receiver does not have.
// have tells what it has (with all that it refers to); nil: nothing.
func (c *Conversion) WritePack(ctx context.Context, w io.Writer, result *Result, have func(pack.ID) bool) (pack.CopyResult, error) {
	roots := make([]pack.ID, len(result.Refs))
	for i, ref := range result.Refs {
		roots[i] = ref.ID
	}
	return pack.Copy(ctx, w, c.store, roots, pack.CopyOptions{
		Have: have,
		Progress: func(done, total uint32) {
			c.report(Progress{Phase: Packing, Done: int64(done), Total: int64(total)})
		},
	})
}

// Close releases the staging directory's files. What was read since the last checkpoint is lost.
func (c *Conversion) Close() error {
	errs := []error{c.store.Close(), c.log.Close(), c.applier.roots.list.Close()}
	if c.graph != nil {
		errs = append(errs, c.graph.keyed.Close())
	}
	return errors.Join(errs...)
}

func (c *Conversion) report(p Progress) {
	if c.opt.Progress != nil {
		c.opt.Progress(p)
	}
}
