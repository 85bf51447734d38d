package contest

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"gantry/bench/measure"
)

// Report is what one run of the benchmark found out.
type Report struct {
	Project fmt.Stringer `json:"project"` // what is known of it
	Rows    []Row        `json:"rows"`
}

// Row is one converter's result.
type Row struct {
	Name      string `json:"name"`
	Input     string `json:"input"`
	Revisions int    `json:"revisions"`
	measure.Cost
	Server  time.Duration `json:"server_cpu_ns"` // of the server
	Commits int           `json:"commits"`
	Merges  int           `json:"merges"`
	Bytes   int64         `json:"object_bytes"`
}

// rate is revisions a second.
func (r Row) rate() float64 { return float64(r.Revisions) / r.Wall.Seconds() }

// each is the processor time for one revision, without the server's.
func (r Row) each() float64 { return r.CPU.Seconds() / float64(r.Revisions) }

// Print writes the table. The last two columns say how many times as much time as the first row a converter takes for
// each revision, since not every one of them does all.
func (r *Report) Print(w io.Writer) {
	if len(r.Rows) == 0 {
		return
	}
	fmt.Fprintf(w, "%s\n\n", r.Project)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "converter\tinput\trevisions\twall s\tCPU s\tserver CPU s\tpeak MB\tobjects MB\tcommits\tmerges\trev/s\twall x\tCPU x\t")
	first := r.Rows[0]
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%.2f\t%.2f\t%.2f\t%d\t%.1f\t%d\t%d\t%.0f\t%.1f\t%.1f\t\n",
			row.Name, row.Input, row.Revisions, row.Wall.Seconds(), row.CPU.Seconds(), row.Server.Seconds(), row.Peak/1e6,
			float64(row.Bytes)/1e6, row.Commits, row.Merges, row.rate(), first.rate()/row.rate(), row.each()/first.each())
	}
	t.Flush()
	fmt.Fprintln(w)
}
