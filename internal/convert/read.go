package convert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/origin"
)

// When checkpoints are made: the first one early, so that the import's figures are seen; then by content read and time.
const (
	firstCheckpoint = time.Second
	checkpointEvery = 5 * time.Second
	checkpointBytes = 256 << 20
	lastCheckpoint  = 10 * time.Second // how long the one of a stopped conversion may take
)

var errCheckpoint = errors.New("convert: checkpoint")

// Read is the raw step: it reads the revisions after the last checkpoint up to the origin's newest. When it returns nil
// everything read is committed and State().Complete is true. After an error what was read before it is committed, if
// that is possible. An origin that is not the one that the checkpoint tells of is a gantry.Conflict. Reading again later
// continues with what is new.
func (c *Conversion) Read(ctx context.Context, src origin.PathSource) error {
	info := src.Info()
	if c.state.Next == 0 && c.next == 1 {
		c.state.UUID, c.state.Path = info.UUID, info.Path
		c.authors = history.NewAuthors(info.UUID)
	} else if c.state.UUID != info.UUID || c.state.Path != info.Path {
		return gantry.Errorf(gantry.Conflict, "convert.Read",
			"the origin is repository %s at %q now, but revisions up to r%d were read from %s at %q; cancel this import and start another one for the other origin",
			info.UUID, info.Path, c.next-1, c.state.UUID, c.state.Path)
	}
	c.state.HostKey = info.HostKey
	last := info.Head
	if c.headUnknown = last == origin.UnknownHead; c.headUnknown {
		last = math.MaxInt64
	}
	c.state.Head = max(info.Head, c.next-1)
	c.due = time.Now().Add(firstCheckpoint)
	c.reportRead(c.next - 1)
	if last >= c.next {
		c.state.Compared = 0
	}
	lister, _ := src.(origin.Lister)
	c.applier.hidden.begin(ctx, lister, c.log.Records(), c.state.Agreed)
	err := c.readAhead(ctx, src, last)
	if lister != nil && err == nil && c.state.Agreed < c.state.Head {
		err = c.verify(ctx, lister)
	}
	if err == nil {
		c.next = c.state.Head + 1
		c.state.Complete = true
		return c.checkpoint(ctx)
	}
	if !errors.Is(err, errCheckpoint) && c.next != c.state.Next {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCheckpoint)
		defer cancel()
		if err := c.checkpoint(last); err != nil {
			c.opt.Log.Warn("convert: no checkpoint at the end", "next", c.next, "error", err)
		}
	}
	return err
}

// readAhead runs the reader beside the applier until both have ended. What the reader sent before it failed is applied.
func (c *Conversion) readAhead(ctx context.Context, src origin.PathSource, head int64) error {
	first := c.next
	if head < first {
		return nil
	}
	readerCtx, stop := context.WithCancel(ctx)
	defer stop()
	between := newAhead(readerCtx)
	read := make(chan error, 1)
	go func() {
		read <- src.Replay(readerCtx, first, head, between)
		close(between.steps)
	}()
	var failed error
	quiet := time.NewTicker(firstCheckpoint) // what was read counts, and is seen, also while the origin says nothing more
	defer quiet.Stop()
	for more := true; more; {
		var s step
		select {
		case s, more = <-between.steps:
			if more && failed == nil {
				failed = c.step(ctx, s)
			}
			between.release(s)
		case <-quiet.C:
			if failed == nil {
				failed = c.checkpointIfDue(ctx)
			}
		}
		if failed != nil {
			stop()
		}
	}
	if err := <-read; failed == nil {
		failed = err
	}
	return failed
}

// step applies one call of the reader.
func (c *Conversion) step(ctx context.Context, s step) error {
	switch {
	case s.begin != nil:
		return c.applier.begin(s.begin)
	case s.change != nil:
		return c.applier.change(s.change)
	}
	record, err := c.applier.end()
	if err != nil {
		return err
	}
	if err := c.log.Append(record); err != nil {
		return err
	}
	c.authors.Add(record)
	c.large = append(c.large, record.Large...)
	c.counts.add(c.applier.running)
	c.next = record.Number + 1
	c.state.Head = max(c.state.Head, record.Number)
	c.reportRead(record.Number)
	if err := c.checkpointIfDue(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *Conversion) reportRead(revision int64) {
	p := Progress{Phase: Reading, Done: revision, Total: c.state.Head, Bytes: c.counts.Bytes}
	if c.headUnknown {
		p.Total = -1
	}
	c.report(p)
}

func (c *Conversion) checkpointIfDue(ctx context.Context) error {
	due := time.Now().After(c.due) || c.counts.Bytes-c.state.Counts.Bytes > checkpointBytes
	if !due || c.next == c.state.Next {
		return nil
	}
	return c.checkpoint(ctx)
}

// checkpoint makes everything read so far durable and commits it. A revision that is not complete does no harm: its
// objects are stored, and nothing refers to them.
func (c *Conversion) checkpoint(ctx context.Context) error {
	state := c.state
	state.Next, state.Counts = c.next, c.counts
	c.listHidden()
	state.Hidden = c.state.Hidden
	state.Authors = len(c.authors.List())
	news := News{Authors: c.authors.List()[c.state.Authors:], LargeFiles: c.large[c.state.LargeFiles:]}
	state.LargeFiles += int64(len(news.LargeFiles))
	for _, f := range news.LargeFiles {
		state.LargeFileSize += f.Size
	}
	var err error
	if state.Packs, err = c.store.Sync(); err == nil {
		state.Log, err = c.log.Sync()
	}
	if err == nil {
		err = c.opt.Journal.Commit(ctx, state, news)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	c.state = state
	c.due = time.Now().Add(checkpointEvery)
	return nil
}
