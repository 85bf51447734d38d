package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// ReadGraph is Read for an origin of changesets: it reads all that the origin shows and that was not read before. What
// was read before an error need not be told of again, even though the origin may tell it.
func (c *Conversion) ReadGraph(ctx context.Context, src origin.GraphSource) error {
	g, err := c.openGraph()
	if err != nil {
		return err
	}
	info := src.GraphInfo()
	c.state.HostKey = info.HostKey
	if c.headUnknown = info.Changesets < 0; !c.headUnknown {
		c.state.Head = max(info.Changesets, c.next-1)
	}
	c.due = time.Now().Add(firstCheckpoint)
	if err = g.run(ctx, src); err == nil {
		c.state.Graph, c.state.Head, c.state.Complete = g.shown, c.next-1, true
		return g.checkpoint(ctx)
	}
	if !errors.Is(err, errCheckpoint) {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCheckpoint)
		defer cancel()
		if err := g.checkpoint(last); err != nil {
			c.opt.Log.Warn("convert: no checkpoint at the end", "next", c.next, "error", err)
		}
	}
	return err
}

// progressEvery is how often reading tells how far it has come.
const progressEvery = 250 * time.Millisecond

// graph is what reading changesets needs beside what a conversion has.
//
// Revisions come in lanes: the changelog, the manifests, one for each file. A lane is worked off in its order by one
// worker, and lanes beside each other. When all lanes have ended, manifests become trees, and changesets records.
type graph struct {
	*Conversion
	keyed   *keyed
	numbers map[revlog.Node]int64 // of records, by changeset
	trees   *manifestTrees

	contents *contents

	fresh   []changeset         // read, and without a record as yet
	isFresh map[revlog.Node]int // ordinals in fresh
	old     int                 // records that were there before the running pull

	shown *GraphState // that was read last

	gate  sync.RWMutex // held for writing by a checkpoint: what it commits does not change meanwhile
	tally tally
}

// changeset is one that has no record as yet.
type changeset struct {
	node, p1, p2 revlog.Node
}

// tally is what lanes find, each at its time.
type tally struct {
	mu         sync.Mutex
	counts     Counts                              // since they were taken last
	changesets int64                               // that were ever told
	large      map[revlog.Node][]history.LargeFile // by the changesets that brought them
}

// reset begins with so many changesets.
func (t *tally) reset(changesets int64) {
	t.mu.Lock()
	t.changesets = changesets
	clear(t.large)
	t.mu.Unlock()
}

func (t *tally) changeset() {
	t.mu.Lock()
	t.changesets++
	t.mu.Unlock()
}

func (t *tally) add(counts Counts) {
	t.mu.Lock()
	t.counts.add(counts)
	t.mu.Unlock()
}

func (t *tally) found(link revlog.Node, file history.LargeFile) {
	t.mu.Lock()
	t.large[link] = append(t.large[link], file)
	t.mu.Unlock()
}

func (t *tally) takeCounts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	t.counts = Counts{}
	return counts
}

func (t *tally) changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts != Counts{}
}

// takeLarge returns the large files that a changeset brought, and that were never met before, in the order of their paths.
func (t *tally) takeLarge(link revlog.Node, known map[history.LargeFile]bool) []history.LargeFile {
	t.mu.Lock()
	files := t.large[link]
	delete(t.large, link)
	t.mu.Unlock()
	files = slices.DeleteFunc(files, func(f history.LargeFile) bool {
		before := known[f]
		known[f] = true
		return before
	})
	slices.SortFunc(files, func(a, b history.LargeFile) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// run reads, reports how far that has come, and commits it now and then.
func (g *graph) run(ctx context.Context, src origin.GraphSource) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	read := make(chan error, 1)
	go func() {
		heads, err := g.pull(ctx, src)
		if err == nil {
			err = g.finish(ctx, heads)
		}
		read <- err
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	var failed error
	for {
		g.reportGraph()
		select {
		case err := <-read:
			return cmp.Or(failed, err)
		case <-tick.C:
		}
		if now := time.Now(); failed == nil && now.After(g.due) && g.tally.changed() {
			if failed = g.checkpoint(ctx); failed != nil {
				stop()
			}
		}
	}
}

// reportGraph counts changesets as they come: most of the work on them is done with their files, which nobody counts
// before they come.
func (g *graph) reportGraph() {
	p := Progress{Phase: Reading, Total: g.state.Head}
	g.tally.mu.Lock()
	p.Done, p.Bytes = g.tally.changesets, g.counts.Bytes+g.tally.counts.Bytes
	g.tally.mu.Unlock()
	if p.Total = max(p.Total, p.Done); g.headUnknown {
		p.Total = -1
	}
	g.report(p)
}

// checkpoint is that of a conversion, while nothing is being worked on.
func (g *graph) checkpoint(ctx context.Context) error {
	g.gate.Lock()
	defer g.gate.Unlock()
	g.counts.add(g.tally.takeCounts())
	var err error
	if g.state.Texts, err = g.keyed.Sync(); err != nil { // before the objects that texts tell of
		return fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	g.state.Absent = g.contents.list()
	return g.Conversion.checkpoint(ctx)
}

// openGraph makes what reading changesets needs; the records tell what was read.
func (c *Conversion) openGraph() (*graph, error) {
	if c.graph != nil {
		return c.graph, nil
	}
	texts, err := pack.OpenStore(c.opt.Dir, c.opt.Writer, c.state.Texts, pack.Options{CacheBytes: textsCache, Fast: true})
	if err != nil {
		return nil, err
	}
	g := &graph{
		Conversion: c, keyed: &keyed{texts}, numbers: map[revlog.Node]int64{},
		tally: tally{large: map[revlog.Node][]history.LargeFile{}},
	}
	g.trees = &manifestTrees{keyed: g.keyed, fold: &c.applier.fold, gate: &g.gate, tally: &g.tally}
	g.contents = newContents(g)
	for r, err := range c.log.Records() {
		if err != nil {
			return nil, errors.Join(err, texts.Close())
		}
		if r.Changeset == nil {
			return nil, errors.Join(fmt.Errorf("convert: %w: r%d is no changeset", history.ErrCorrupt, r.Number), texts.Close())
		}
		g.numbers[r.Changeset.Node] = r.Number
	}
	c.graph = g
	return g, nil
}

// heads returns the changesets with records that no other one follows.
func (g *graph) heads() ([]revlog.Node, error) {
	heads := maps.Clone(g.numbers)
	nodes := make([]revlog.Node, len(g.numbers)+1) // by number
	for r, err := range g.log.Records() {
		if err != nil {
			return nil, err
		}
		nodes[r.Number] = r.Changeset.Node
		for _, parent := range r.Changeset.Parents {
			delete(heads, nodes[parent])
		}
	}
	return slices.SortedFunc(maps.Keys(heads), func(a, b revlog.Node) int { return bytes.Compare(a[:], b[:]) }), nil
}

// finish makes records of everything that was read, and keeps what the origin shows of it.
func (g *graph) finish(ctx context.Context, shown origin.GraphHeads) error {
	state := &GraphState{Bookmarks: shown.Bookmarks} // those of something that is not shown are found when they become refs
	for _, n := range shown.Heads {
		if n.IsNull() {
			continue
		}
		if !g.knows(n) {
			return corrupt("changeset %v is a head, and was never told", n)
		}
		state.Heads = append(state.Heads, n)
	}
	if err := g.checkRelated(state.Heads); err != nil {
		return err
	}
	if err := g.appendRecords(ctx); err != nil {
		return err
	}
	g.shown = state
	return nil
}

func (g *graph) knows(n revlog.Node) bool {
	_, fresh := g.isFresh[n]
	return fresh || g.numbers[n] != 0
}

// checkRelated makes sure that the origin shows something that was read from it before.
func (g *graph) checkRelated(heads []revlog.Node) error {
	if g.old == 0 {
		return nil
	}
	for todo, seen := slices.Clone(heads), map[revlog.Node]bool{}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if number := g.numbers[n]; number != 0 {
			return nil
		}
		if i, fresh := g.isFresh[n]; fresh && !seen[n] {
			seen[n] = true
			todo = append(todo, g.fresh[i].p1, g.fresh[i].p2)
		}
	}
	return gantry.Errorf(gantry.Conflict, "convert.ReadGraph",
		"the origin has none of the %d changesets that were read before; cancel this import and start another one for the other origin", g.old)
}
