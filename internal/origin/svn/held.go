package svn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gantry/internal/origin"
)

// What is held of revisions that were read and not delivered, of all spans together.
const (
	maxHeldEdits = 16 << 20 // bytes of revisions and changes without texts
	maxHeldTexts = 32 << 20 // bytes of texts in memory
	maxSpilled   = 8 << 30  // bytes of texts in files
	maxHeldText  = 1 << 20  // bytes of a text that may be in memory
	spillStep    = 256 << 10
)

// usage is what is held, in bytes.
type usage struct{ edits, texts, spilled int64 }

func (u *usage) release(it *item) {
	u.edits -= it.cost
	if it.text != nil {
		u.texts -= int64(len(it.text.mem))
	}
}

// item is one call of a sink on its way: a revision begins, a change, or, with neither, the revision ends.
type item struct {
	begin  *origin.Revision
	change *origin.Change
	text   *heldText // of the change
	cost   int64
}

func (it *item) ends() bool { return it.begin == nil && it.change == nil }

func (it *item) send(sink origin.Sink) error {
	switch {
	case it.begin != nil:
		return sink.BeginRevision(it.begin)
	case it.change != nil:
		return sink.Change(it.change)
	}
	return sink.EndRevision()
}

// finish says that nobody reads the item any more.
func (it *item) finish() {
	if it.text != nil && it.text.taken != nil {
		close(it.text.taken)
	}
}

// heldText is a text on its way: its beginning is in memory or in a file, and what did not fit is read from the
// connection itself, whose worker waits.
type heldText struct {
	delta   bool
	baseMD5 []byte
	mem     []byte
	file    *io.SectionReader // may be nil
	rest    io.Reader         // may be nil
	taken   chan struct{}     // with rest
	opened  bool
}

func (t *heldText) Delta() bool     { return t.delta }
func (t *heldText) BaseMD5() []byte { return t.baseMD5 }

func (t *heldText) Open() (io.ReadCloser, error) {
	if t.opened {
		return nil, errTextOpened
	}
	t.opened = true
	if t.file == nil && t.rest == nil {
		return io.NopCloser(bytes.NewReader(t.mem)), nil
	}
	parts := []io.Reader{bytes.NewReader(t.mem)}
	if t.file != nil {
		parts = append(parts, t.file)
	}
	if t.rest != nil {
		parts = append(parts, t.rest)
	}
	return io.NopCloser(io.MultiReader(parts...)), nil
}

var errTextOpened = errors.New("svn: a text was opened twice")

// spill is the file of a span for texts that are not held in memory. It has no name, so that nothing is left behind
// however the program ends.
type spill struct {
	file *os.File // nil until it is needed
	size int64
}

func (s *spill) write(dir string, p []byte) error {
	if s.file == nil {
		file, err := origin.Spool(dir)
		if err != nil {
			return err
		}
		s.file = file
	}
	if _, err := s.file.WriteAt(p, s.size); err != nil {
		return fmt.Errorf("svn: what is read ahead cannot be stored: %w", err)
	}
	s.size += int64(len(p))
	return nil
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// spanSink holds what a worker reads of its span.
type spanSink struct {
	a       *ahead
	span    *span
	rev     int64
	scratch []byte
}

const itemCost = 256 // bytes of an item and what it points to, about

func propsCost(props []origin.Prop) (cost int64) {
	for _, p := range props {
		cost += int64(len(p.Name)+len(p.Value)) + 64
	}
	return cost
}

// BeginRevision implements origin.Sink.
func (s *spanSink) BeginRevision(r *origin.Revision) error {
	s.rev = r.Number
	return s.put(item{begin: r, cost: itemCost + int64(len(r.Message)+len(r.Author)) + propsCost(r.Props)})
}

// Change implements origin.Sink.
func (s *spanSink) Change(c *origin.Change) error {
	taken := *c
	it := item{change: &taken, cost: itemCost + int64(len(c.Path)+len(c.CopyPath)) + propsCost(c.Props)}
	if c.Text == nil {
		return s.put(it)
	}
	in, err := c.Text.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	it.text = &heldText{delta: c.Text.Delta(), baseMD5: c.Text.BaseMD5()}
	taken.Text = it.text
	if err := s.hold(in, it.text); err != nil {
		return err
	}
	if err := s.put(it); err != nil || it.text.taken == nil {
		return err
	}
	<-it.text.taken // what delivers, or run at its end, lets us go
	return nil
}

// EndRevision implements origin.Sink.
func (s *spanSink) EndRevision() error { return s.put(item{cost: itemCost}) }

// put adds an item when there is room for it. The oldest span has room for one item at any time, and a text that is
// not held is delivered at once.
func (s *spanSink) put(it item) error {
	a, sp := s.a, s.span
	a.mu.Lock()
	defer a.mu.Unlock()
	err := s.wait(func() bool {
		passes := it.text != nil && it.text.taken != nil
		return a.held.edits+it.cost <= maxHeldEdits && !passes || a.spans[0] == sp && len(sp.items) == 0
	})
	if err != nil {
		if it.text != nil {
			a.held.texts -= int64(len(it.text.mem))
		}
		return err
	}
	a.held.edits += it.cost
	if it.ends() {
		sp.next = s.rev + 1
	}
	sp.items = append(sp.items, it)
	if len(sp.items) == 1 && a.spans[0] == sp {
		a.changed.Broadcast() // for who delivers
	}
	return nil
}

// wait blocks until there is room, which must be known under the lock.
func (s *spanSink) wait(room func() bool) error {
	a := s.a
	if !a.stopped && room() {
		return nil
	}
	began := time.Now()
	defer func() { s.span.waited += time.Since(began) }()
	for {
		switch {
		case a.stopped:
			return errStopped
		case room():
			return nil
		case a.yields(s.span):
			return errYield
		}
		a.changed.Wait()
	}
}

// hold takes in a text: a small one in memory while there is room, else in the span's file. What does not fit there
// stays where it is until it is delivered, as does a large one that can be delivered at once.
func (s *spanSink) hold(in io.Reader, t *heldText) error {
	if s.scratch == nil {
		s.scratch = make([]byte, maxHeldText)
	}
	part, ended, err := s.read(in, maxHeldText)
	if err != nil {
		return err
	}
	if ended && s.reserveText(int64(len(part))) {
		t.mem = bytes.Clone(part)
		return nil
	}
	begin := s.span.spill.size
	for len(part) > 0 && s.reserveSpill(int64(len(part)), ended) {
		if err := s.span.spill.write(s.a.tempDir, part); err != nil {
			return err
		}
		if part = nil; !ended {
			if part, ended, err = s.read(in, spillStep); err != nil {
				return err
			}
		}
	}
	if size := s.span.spill.size - begin; size > 0 {
		t.file = io.NewSectionReader(s.span.spill.file, begin, size)
	}
	if len(part) > 0 {
		t.rest, t.taken = io.MultiReader(bytes.NewReader(part), in), make(chan struct{})
	}
	return nil
}

// read reads up to n bytes, less only at the end.
func (s *spanSink) read(in io.Reader, n int) (part []byte, ended bool, err error) {
	n, err = io.ReadFull(in, s.scratch[:n])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.scratch[:n], true, nil
	}
	return s.scratch[:n], false, err
}

func (s *spanSink) reserveText(n int64) bool {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	fits := s.a.held.texts+n <= maxHeldTexts
	if fits {
		s.a.held.texts += n
	}
	return fits
}

// reserveSpill makes room for a part of a text, unless the rest of a large one can as well be delivered at once.
func (s *spanSink) reserveSpill(n int64, ended bool) bool {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	if s.a.spans[0] == s.span && !ended || s.a.held.spilled+n > maxSpilled {
		return false
	}
	s.a.held.spilled += n
	return true
}
