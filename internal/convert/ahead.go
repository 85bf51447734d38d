package convert

import (
	"bytes"
	"context"
	"io"

	"golang.org/x/sync/semaphore"

	"gantry/internal/origin"
)

const (
	maxAhead  = 16 << 20 // bytes of texts and properties that reading may be ahead of applying
	maxHeld   = 1 << 20  // a longer text is not held: reading waits until it is applied
	stepsRoom = 1024
)

// ahead is the sink between a reader and the applier, each of which has its goroutine. The reader runs ahead of the
// applier within a bound.
type ahead struct {
	ctx   context.Context // of the reader
	steps chan step
	room  *semaphore.Weighted
}

// step is one call of a sink on its way.
type step struct {
	begin  *origin.Revision
	change *origin.Change // neither: the revision ends
	weight int64
	done   chan struct{} // the reader waits for it; may be nil
}

func newAhead(ctx context.Context) *ahead {
	return &ahead{ctx: ctx, steps: make(chan step, stepsRoom), room: semaphore.NewWeighted(maxAhead)}
}

// BeginRevision implements origin.Sink.
func (a *ahead) BeginRevision(r *origin.Revision) error {
	return a.send(step{begin: r, weight: int64(len(r.Message)) + weigh(r.Props)})
}

// EndRevision implements origin.Sink.
func (a *ahead) EndRevision() error { return a.send(step{}) }

func weigh(props []origin.Prop) (bytes int64) {
	for _, p := range props {
		bytes += int64(len(p.Value))
	}
	return bytes
}

// Change implements origin.Sink. A text is only good until it returns, so it is read here.
func (a *ahead) Change(c *origin.Change) error {
	taken := *c
	s := step{change: &taken, weight: weigh(c.Props)}
	if c.Text == nil {
		return a.send(s)
	}
	in, err := c.Text.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	var held bytes.Buffer
	length, err := io.Copy(&held, io.LimitReader(in, maxHeld+1))
	if err != nil {
		return err
	}
	s.weight += length
	text := heldText{delta: c.Text.Delta(), baseMD5: c.Text.BaseMD5(), stream: &held}
	if length > maxHeld {
		text.stream = io.MultiReader(&held, in)
		s.done = make(chan struct{})
	}
	taken.Text = text
	if err := a.send(s); err != nil || s.done == nil {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-a.ctx.Done():
		<-s.done // the stream is in use
		return a.ctx.Err()
	}
}

// send hands a step over when there is room for it. What is longer than all the room waits until it has that alone.
func (a *ahead) send(s step) error {
	s.weight = min(s.weight, maxAhead)
	if err := a.room.Acquire(a.ctx, s.weight); err != nil {
		return err
	}
	select {
	case a.steps <- s:
		return nil
	case <-a.ctx.Done():
		return a.ctx.Err()
	}
}

// release says that the applier has no more use for a step.
func (a *ahead) release(s step) {
	if s.weight > 0 {
		a.room.Release(s.weight)
	}
	if s.done != nil {
		close(s.done)
	}
}

// heldText is a text that was read, wholly or as far as it is held.
type heldText struct {
	delta   bool
	baseMD5 []byte
	stream  io.Reader
}

// Delta implements origin.Text.
func (t heldText) Delta() bool { return t.delta }

// BaseMD5 implements origin.Text.
func (t heldText) BaseMD5() []byte { return t.baseMD5 }

// Open implements origin.Text.
func (t heldText) Open() (io.ReadCloser, error) { return io.NopCloser(t.stream), nil }
