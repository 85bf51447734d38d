package convert

import (
	"errors"
	"fmt"

	"gantry/internal/delta"
	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// laneWorker works off lanes, one after the other. It belongs to one goroutine.
type laneWorker struct {
	graph   *graph
	objects *pack.Encoder
	texts   *pack.Encoder // of the keyed store
	chain   chain
	git     *delta.Builder
	scratch []byte

	lane  *lane
	edits editWriter
}

// chainBytes is how much of one lane's texts is held.
const chainBytes = 4 << 20

func newLaneWorker(g *graph) *laneWorker {
	return &laneWorker{
		graph: g, objects: g.store.Encoder(), texts: g.keyed.Encoder(), chain: chain{limit: chainBytes}, git: delta.NewBuilder(nil, 0),
	}
}

func (w *laneWorker) begin(l *lane) error {
	w.lane = l
	w.chain.reset()
	if l.kind == manifests {
		w.edits.begin(w.graph.trees.spool, l.edits)
	}
	return nil
}

func (w *laneWorker) end() error {
	if w.lane.kind == manifests {
		return w.edits.flush()
	}
	return nil
}

// read works off some revisions of the lane.
func (w *laneWorker) read(revisions []revlog.Revision) error {
	for i := range revisions {
		if err := w.readOne(&revisions[i]); err != nil {
			return w.lane.failure(&revisions[i], err)
		}
	}
	return nil
}

func (w *laneWorker) readOne(r *revlog.Revision) error {
	if r.Flags&revlog.Ellipsis != 0 {
		return corrupt("it is of a narrow clone, which has a part of the history only: read from where that was cloned")
	}
	switch w.lane.kind {
	case changesets:
		return w.readChangeset(r)
	case manifests:
		return w.readManifest(r)
	default:
		return w.readFile(r)
	}
}

// failure tells of what a lane's revision is.
func (l *lane) failure(r *revlog.Revision, err error) error {
	switch {
	case l.kind == changesets:
		return fmt.Errorf("changeset %v: %w", r.Node, err)
	case l.kind == files:
		return fmt.Errorf("changeset %v: node %v of %q: %w", r.Link, r.Node, l.path, err)
	case l.path == "":
		return fmt.Errorf("changeset %v: manifest %v: %w", r.Link, r.Node, err)
	default:
		return fmt.Errorf("changeset %v: manifest %v of %q: %w", r.Link, r.Node, l.path, err)
	}
}

// keyedText returns the text of the lane's revision that a patch is against.
func (w *laneWorker) keyedText(kind textKind, path string, node revlog.Node) ([]byte, error) {
	if node.IsNull() {
		return nil, nil
	}
	if held := w.chain.find(node); held != nil {
		return held.text, nil
	}
	_, text, err := w.graph.keyed.Get(key(kind, path, node))
	if errors.Is(err, pack.ErrMissing) {
		err = missingBase(node)
	}
	return text, err
}

func missingBase(node revlog.Node) error {
	return corrupt("it is told by what differs from node %v, which was never told", node)
}

// corruptBy says that the origin's data is to blame.
func corruptBy(err error) error { return fmt.Errorf("%w: %w", origin.ErrCorrupt, err) }
