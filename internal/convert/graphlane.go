package convert

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"gantry/internal/origin"
	"gantry/internal/revlog"
)

const (
	lanesAhead = 64 << 20 // bytes of patches that reading may be ahead of the lanes
	loadBytes  = 64 << 10 // of patches that go to a lane together
	loadCount  = 256      // revisions that do
	heldPatch  = 1 << 20  // a longer patch is not held: reading waits until it is applied
	perPatch   = 128      // about what a revision takes beside its patch
	lanesCount = 1024     // lanes that may wait
	loadsCount = 128      // loads that may wait in a lane of changesets or manifests
)

// laneKind says what the revisions of a lane are of. A pull sends lanes in this order.
type laneKind uint8

const (
	changesets laneKind = iota
	manifests
	files
)

// lane is the way of the revisions of one text: the changelog, a manifest, a file.
type lane struct {
	kind  laneKind
	path  string // of a file, or of a directory with a manifest of its own
	loads chan load
	edits *manifestEdits // where a manifest's go
}

// load is some revisions of a lane.
type load struct {
	revisions []revlog.Revision
	patches   []byte // of all of them
	weight    int64
	done      chan struct{} // the reader waits for it; may be nil
}

// lanes is the sink of a pull. It leads each revision into its lane, of which the last one is open.
type lanes struct {
	*graph
	ctx   context.Context
	queue chan *lane
	busy  sync.WaitGroup // lanes that were not worked off
	room  *semaphore.Weighted

	open *lane
	load load
}

// Changeset implements revlog.Sink.
func (l *lanes) Changeset(r *revlog.Revision) error { return l.take(changesets, "", r) }

// Manifest implements revlog.Sink.
func (l *lanes) Manifest(dir string, r *revlog.Revision) error { return l.take(manifests, dir, r) }

// File implements revlog.Sink.
func (l *lanes) File(path string, r *revlog.Revision) error { return l.take(files, path, r) }

func (l *lanes) take(kind laneKind, path string, r *revlog.Revision) error {
	if l.open == nil || l.open.kind != kind || l.open.path != path {
		if err := l.next(kind, path); err != nil {
			return err
		}
	}
	taken := *r
	if len(r.Patch) > heldPatch {
		if err := l.send(); err != nil {
			return err
		}
		l.load.revisions = append(l.load.revisions, taken)
		l.load.weight = int64(len(r.Patch))
		l.load.done = make(chan struct{})
		return l.send()
	}
	start := len(l.load.patches)
	l.load.patches = append(l.load.patches, r.Patch...) // where it grows, the patches before keep the bytes they had
	taken.Patch = l.load.patches[start:len(l.load.patches):len(l.load.patches)]
	l.load.revisions = append(l.load.revisions, taken)
	l.load.weight += int64(len(r.Patch)) + perPatch
	if len(l.load.patches) >= loadBytes || len(l.load.revisions) >= loadCount {
		return l.send()
	}
	return nil
}

// next ends the open lane and opens another one. Changesets behind anything else begin another round.
func (l *lanes) next(kind laneKind, path string) error {
	last := l.open
	if err := l.end(); err != nil {
		return err
	}
	if last != nil && last.kind > kind {
		if err := l.endRound(); err != nil {
			return err
		}
	}
	l.open = &lane{kind: kind, path: path, loads: make(chan load, 1)}
	if kind != files {
		l.open.loads = make(chan load, loadsCount) // others can be worked off meanwhile
	}
	if kind == manifests {
		l.open.edits = l.trees.lane(path)
	}
	l.busy.Add(1)
	select {
	case l.queue <- l.open:
		return nil
	case <-l.ctx.Done():
		close(l.open.loads)
		l.open = nil
		l.busy.Done()
		return l.ctx.Err()
	}
}

// send gives what was taken to the open lane.
func (l *lanes) send() error {
	if len(l.load.revisions) == 0 {
		return nil
	}
	sent := l.load
	l.load = load{}
	sent.weight = min(sent.weight, lanesAhead)
	if err := l.room.Acquire(l.ctx, sent.weight); err != nil {
		return err
	}
	select {
	case l.open.loads <- sent:
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
	if sent.done != nil {
		<-sent.done // its patch is the reader's
	}
	return nil
}

// end ends the open lane.
func (l *lanes) end() error {
	if l.open == nil {
		return nil
	}
	err := l.send()
	close(l.open.loads)
	l.open = nil
	return err
}

// endRound waits for all lanes, and makes trees of the manifests that came. Where nothing was there before, everything in
// a round is the origin's and whole, so that it can be kept whatever becomes of the next.
func (l *lanes) endRound() error {
	l.busy.Wait()
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if err := l.trees.build(l.ctx); err != nil {
		return err
	}
	if l.old > 0 {
		return nil
	}
	return l.appendRecords(l.ctx)
}

// pull reads what is new, and works it off. It returns what the origin shows of everything.
func (g *graph) pull(ctx context.Context, src origin.GraphSource) (heads origin.GraphHeads, err error) {
	known, err := g.heads()
	if err != nil {
		return heads, err
	}
	g.old = len(g.numbers)
	g.fresh, g.isFresh = nil, map[revlog.Node]int{}
	g.tally.reset(int64(len(g.numbers)))
	g.contents.begin(src)
	if err := g.trees.begin(g.opt.Dir); err != nil {
		return heads, err
	}
	defer g.trees.end()

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l := &lanes{graph: g, ctx: ctx, queue: make(chan *lane, lanesCount), room: semaphore.NewWeighted(lanesAhead)}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { l.work(fail) })
	}
	heads, err = src.Pull(ctx, known, l)
	err = errors.Join(err, l.end()) // what came before an error is stored for the next time
	if err == nil {
		err = l.endRound()
	}
	close(l.queue)
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return heads, err
}

// work works off lanes until there are no more. After an error the rest is only let go.
func (l *lanes) work(fail context.CancelCauseFunc) {
	w := newLaneWorker(l.graph)
	do := func(step func() error) {
		if l.ctx.Err() != nil {
			return
		}
		l.gate.RLock()
		defer l.gate.RUnlock()
		if err := step(); err != nil {
			fail(err)
		}
	}
	for lane := range l.queue {
		do(func() error { return w.begin(lane) })
		for sent := range lane.loads {
			do(func() error { return w.read(sent.revisions) })
			l.room.Release(sent.weight)
			if sent.done != nil {
				close(sent.done)
			}
		}
		do(w.end)
		l.busy.Done()
	}
}
