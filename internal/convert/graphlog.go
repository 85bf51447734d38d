package convert

import (
	"context"
	"fmt"
	"time"

	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// appendRecords makes records of everything fresh.
func (g *graph) appendRecords(ctx context.Context) error {
	if err := g.contents.bring(ctx); err != nil {
		return err
	}
	known := map[history.LargeFile]bool{}
	for _, f := range g.large {
		known[f] = true
	}
	for _, c := range g.fresh {
		if err := g.appendRecord(c, known); err != nil {
			return fmt.Errorf("changeset %v: %w", c.node, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	g.fresh = nil
	clear(g.isFresh)
	return nil
}

func (g *graph) appendRecord(c changeset, known map[history.LargeFile]bool) error {
	g.gate.RLock()
	defer g.gate.RUnlock()
	record, err := g.record(c)
	if err != nil {
		return err
	}
	record.Large = g.tally.takeLarge(c.node, known)
	if err := g.log.Append(record); err != nil {
		return err
	}
	if record.Number == 1 {
		g.state.UUID = c.node.String()
	}
	g.numbers[c.node] = record.Number
	g.authors.Add(record)
	g.large = append(g.large, record.Large...)
	g.next = record.Number + 1
	g.tally.add(Counts{Revisions: 1})
	return nil
}

// record makes the record of a changeset whose parents have theirs.
func (g *graph) record(c changeset) (*history.Record, error) {
	_, text, err := g.keyed.Get(key(changesetText, "", c.node))
	if err != nil {
		return nil, err
	}
	said, err := revlog.ParseChangeset(text)
	if err != nil {
		return nil, corruptBy(err)
	}
	tree, err := g.trees.of("", said.Manifest)
	if err != nil {
		return nil, err
	}
	if tree, err = g.contents.expand(tree, c.node); err != nil {
		return nil, err
	}
	r := &history.Record{
		Number: g.next, Author: said.User, Time: within(said.Time), Message: said.Description, Root: history.Node{Tree: tree},
		Changeset: &history.Changeset{Node: c.node, Zone: said.Zone},
	}
	for _, parent := range []revlog.Node{c.p1, c.p2} {
		if parent.IsNull() {
			continue
		}
		number := g.numbers[parent]
		if number == 0 {
			return nil, corrupt("its parent %v was never told", parent)
		}
		r.Changeset.Parents = append(r.Changeset.Parents, number)
	}
	for _, e := range said.Extras {
		r.Changeset.Extras = append(r.Changeset.Extras, origin.Prop{Name: e.Key, Value: e.Value})
	}
	return r, nil
}

// within keeps a time in what a record can hold.
func within(t time.Time) time.Time {
	const most = 1 << 43 // seconds: longer ago than there were people
	return time.Unix(max(-most, min(t.Unix(), most)), 0).UTC()
}

// readChangeset works off a revision of the changelog.
func (w *laneWorker) readChangeset(r *revlog.Revision) error {
	if w.graph.knows(r.Node) {
		return nil
	}
	base, err := w.keyedText(changesetText, "", r.Base)
	if err != nil {
		return err
	}
	text, err := w.chain.apply(r, base)
	if err != nil {
		return err
	}
	if _, err := revlog.ParseChangeset(text); err != nil {
		return corruptBy(err)
	}
	if err := w.texts.PutKeyed(key(changesetText, "", r.Node), pack.Zero, nil, text); err != nil {
		return err
	}
	w.chain.add(link{node: r.Node, text: text})
	g := w.graph
	g.isFresh[r.Node] = len(g.fresh)
	g.fresh = append(g.fresh, changeset{r.Node, r.P1, r.P2})
	g.tally.changeset()
	return nil
}
