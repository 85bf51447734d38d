package hg

import (
	"maps"

	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// phase says how far a changeset has come (mercurial/phases.py).
type phase int32

const (
	public phase = 0
	draft  phase = 1
	secret phase = 2 // from here on nobody else is to see it
	hidden phase = 32
)

// graph is the shape of the changesets that came, numbered from 0 in the order in which they did.
type graph struct {
	nodes   []revlog.Node
	parents [][2]int32
	number  map[revlog.Node]int32
}

const none = -1 // in the place of a number

func newGraph() graph { return graph{number: make(map[revlog.Node]int32)} }

// add takes a changeset, and returns a parent of it that did not come before.
func (g *graph) add(r *revlog.Revision) (missing revlog.Node) {
	if _, known := g.number[r.Node]; known {
		return missing
	}
	parents := [2]int32{none, none}
	for i, p := range []revlog.Node{r.P1, r.P2} {
		if p.IsNull() {
			continue
		}
		if n, known := g.number[p]; known {
			parents[i] = n
		} else {
			missing = p
		}
	}
	g.number[r.Node] = int32(len(g.nodes))
	g.nodes = append(g.nodes, r.Node)
	g.parents = append(g.parents, parents)
	return missing
}

// has reports whether a changeset came.
func (g *graph) has(node revlog.Node) bool {
	_, came := g.number[node]
	return came
}

// heads returns the changesets that no other one has for a parent.
func (g *graph) heads() []revlog.Node {
	parent := make([]bool, len(g.nodes))
	for _, parents := range g.parents {
		for _, p := range parents {
			if p != none {
				parent[p] = true
			}
		}
	}
	var heads []revlog.Node
	for n, node := range g.nodes {
		if !parent[n] {
			heads = append(heads, node)
		}
	}
	return heads
}

// shown returns what a repository shows that has the changesets which came and of which this was told: neither changesets
// that are secret, nor obsolete ones that nothing is built on (mercurial/repoview.py).
func (in *intake) shown() origin.GraphHeads {
	g, phases := &in.graph, in.phases()
	pinned := make([]bool, len(g.nodes))
	for _, node := range in.told.bookmarks {
		if n, known := g.number[node]; known {
			pinned[n] = true
		}
	}
	kept := make([]bool, len(g.nodes))   // neither hidden nor below what is not
	parent := make([]bool, len(g.nodes)) // of one that is shown
	var heads []revlog.Node
	for n := len(g.nodes) - 1; n >= 0; n-- {
		_, obsolete := in.told.obsolete[g.nodes[n]]
		obsolete = obsolete && (phases[n] > public || !in.told.phasesKnown) // what is public stays
		kept[n] = kept[n] || pinned[n] || !obsolete && phases[n] < hidden
		shown := kept[n] && phases[n] < secret
		if shown && !parent[n] {
			heads = append(heads, g.nodes[n])
		}
		for _, p := range g.parents[n] {
			if p == none {
				continue
			}
			kept[p] = kept[p] || kept[n]
			parent[p] = parent[p] || shown
		}
		kept[n] = shown
	}
	bookmarks := maps.Clone(in.told.bookmarks)
	maps.DeleteFunc(bookmarks, func(_ string, node revlog.Node) bool {
		n, known := g.number[node]
		return !known || !kept[n]
	})
	return origin.GraphHeads{Heads: heads, Bookmarks: bookmarks}
}

// phases returns the phase of every changeset that came.
func (in *intake) phases() []phase {
	g := &in.graph
	phases := make([]phase, len(g.nodes))
	for n := range phases {
		phases[n] = in.told.phase
	}
	for _, root := range in.told.phaseRoots {
		if n, known := g.number[root.node]; known {
			phases[n] = max(phases[n], root.phase)
		}
	}
	for n, parents := range g.parents {
		for _, p := range parents {
			if p != none {
				phases[n] = max(phases[n], phases[p])
			}
		}
	}
	most := make([]phase, len(g.nodes))
	for n := range most {
		most[n] = hidden
	}
	for _, head := range in.told.phaseHeads {
		if n, known := g.number[head.node]; known {
			most[n] = min(most[n], head.phase)
		}
	}
	for n := len(most) - 1; n >= 0; n-- {
		for _, p := range g.parents[n] {
			if p != none {
				most[p] = min(most[p], most[n])
			}
		}
		phases[n] = min(phases[n], most[n])
	}
	return phases
}
