package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// goal is a figure that gantry is to keep, made from rows of one run.
type goal struct {
	text   string
	a, b   key // b's figure against a's
	figure func(a, b Row) float64
	bound  float64
	atMost bool // else at least
}

// key finds a row.
type key struct{ name, input string }

var overSVN = key{gantryName, bySVN}

// goals for two cores, which gantry shares with the server.
var goals = []goal{
	{"times as fast as svn-all-fast-export", overSVN, key{allFastExportName, byFiles}, faster, 10, false},
	{"times as fast as reposurgeon with its dump", overSVN, key{reposurgeonName, byDump}, faster, 5, false},
	{"times as fast as git svn", overSVN, key{gitSVNName, bySVN}, faster, 100, false},
	{"times the time of svnrdump over svn://", key{svnrdumpName, bySVN}, overSVN, faster, 2, true},
	{"times the time of svnrdump over http", key{svnrdumpName, byHTTP}, key{gantryName, byHTTP}, faster, 1.5, true},
	{"times as fast as svnrdump over http, far away", key{gantryName, byFar}, key{svnrdumpName, byFar}, faster, 10, false},
	{"MB of memory", overSVN, overSVN, func(a, _ Row) float64 { return float64(a.Peak) / 1e6 }, 300, true},
	{"times the memory for a quarter of the history", key{smallName, bySVN}, overSVN, func(a, b Row) float64 { return float64(b.Peak) / float64(a.Peak) }, 1.2, true},
	{"times the size of what git repack -adf makes", key{repackName, byRepository}, overSVN, func(a, b Row) float64 { return float64(b.Bytes) / float64(a.Bytes) }, 2, true},
	{"seconds to map again", key{remapName, byStaging}, key{remapName, byStaging}, func(a, _ Row) float64 { return a.Wall.Seconds() }, 2, true},
}

// faster is how many times as many revisions a second a converts as b.
func faster(a, b Row) float64 { return a.rate() / b.rate() }

func (r *Report) row(k key) (Row, bool) {
	for _, row := range r.Rows {
		if row.Name == k.name && row.Input == k.input {
			return row, true
		}
	}
	return Row{}, false
}

// printGoals writes the figures whose rows are there.
func (r *Report) printGoals(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range goals {
		a, okA := r.row(g.a)
		b, okB := r.row(g.b)
		if !okA || !okB {
			continue
		}
		figure, relation, met := g.figure(a, b), "at least", "reached"
		if g.atMost {
			relation = "at most"
		}
		if g.atMost != (figure <= g.bound) {
			met = "MISSED"
		}
		fmt.Fprintf(t, "%.2f\t%s\t%s %g\t%s\n", figure, g.text, relation, g.bound, met)
	}
	t.Flush()
}
