package contest

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Goal is a bound of a figure that is made from two rows of one run.
type Goal struct {
	bound  float64
	atMost bool // else at least
	text   string
	figure Figure
	a, b   Key
}

// Figure says something of b, or of b against a.
type Figure func(a, b Row) float64

// AtLeast is a goal for the figure of two rows. The text says what the figure counts.
func AtLeast(bound float64, text string, figure Figure, a, b Key) Goal {
	return Goal{bound, false, text, figure, a, b}
}

// AtMost is a goal like AtLeast.
func AtMost(bound float64, text string, figure Figure, a, b Key) Goal {
	return Goal{bound, true, text, figure, a, b}
}

// Faster is how many times as many revisions a second a converts as b.
func Faster(a, b Row) float64 { return a.rate() / b.rate() }

// Larger is how many times as large b's result is as a's.
func Larger(a, b Row) float64 { return float64(b.Bytes) / float64(a.Bytes) }

// Megabytes is b's memory.
func Megabytes(_, b Row) float64 { return float64(b.Peak) / 1e6 }

// MoreMemory is how many times as much memory b takes as a.
func MoreMemory(a, b Row) float64 { return float64(b.Peak) / float64(a.Peak) }

// Seconds is b's time.
func Seconds(_, b Row) float64 { return b.Wall.Seconds() }

// CPUSeconds is b's processor time.
func CPUSeconds(_, b Row) float64 { return b.CPU.Seconds() }

// Row returns the row of a contestant, if it ran.
func (r *Report) Row(k Key) (Row, bool) {
	for _, row := range r.Rows {
		if row.Name == k.Name && row.Input == k.Input {
			return row, true
		}
	}
	return Row{}, false
}

// PrintGoals writes the figures whose rows are there.
func (r *Report) PrintGoals(w io.Writer, goals []Goal) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range goals {
		a, okA := r.Row(g.a)
		b, okB := r.Row(g.b)
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
