package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"gantry/internal/convert"
)

// convertOutput shows a conversion: one live line on a terminal, plain lines now and then elsewhere, JSON lines if asked.
type convertOutput struct {
	con    console
	asJSON bool
	live   bool
	every  time.Duration
	now    func() time.Time

	phase     convert.Phase
	begun     time.Time // of the phase
	first     int64     // what was done before it, by an earlier run
	shown     time.Time
	lineShown bool
}

func newConvertOutput(con console, asJSON bool) *convertOutput {
	out := &convertOutput{con: con, asJSON: asJSON, every: 10 * time.Second, now: time.Now}
	if file, ok := con.err.(*os.File); ok && !asJSON && term.IsTerminal(int(file.Fd())) {
		out.live, out.every = true, 200*time.Millisecond
	}
	if asJSON {
		out.every = time.Second
	}
	return out
}

// progress is told of every step, and shows some.
func (o *convertOutput) progress(p convert.Progress) {
	now := o.now()
	if p.Phase != o.phase {
		o.phase, o.begun, o.first, o.shown = p.Phase, now, p.Done, time.Time{}
	}
	if done := p.Total >= 0 && p.Done >= p.Total; !done && now.Sub(o.shown) < o.every {
		return
	}
	o.shown = now
	switch {
	case o.asJSON:
		_ = o.writeLine(progressLine{ // when nobody reads any more the report fails, too

			Type: "progress", Phase: p.Phase, Done: p.Done, Total: p.Total, Bytes: p.Bytes, Seconds: now.Sub(o.begun).Seconds(),
		})
	case o.live:
		fmt.Fprintf(o.con.err, "\r\x1b[K%s", o.line(p, now))
		o.lineShown = true
	default:
		fmt.Fprintln(o.con.err, o.line(p, now))
	}
}

type progressLine struct {
	Type    string        `json:"type"`
	Phase   convert.Phase `json:"phase"`
	Done    int64         `json:"done"`
	Total   int64         `json:"total"` // -1 while unknown
	Bytes   int64         `json:"bytes"`
	Seconds float64       `json:"seconds"`
}

// units are what the phases count.
var units = map[convert.Phase]string{convert.Reading: "revisions", convert.Mapping: "revisions", convert.Packing: "objects"}

// line is one state in words: how far, how fast, how long still.
func (o *convertOutput) line(p convert.Progress, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", p.Phase, p.Done)
	if p.Total >= 0 {
		fmt.Fprintf(&b, " of %d", p.Total)
	}
	unit := units[p.Phase]
	fmt.Fprintf(&b, " %s", unit)
	if p.Phase == convert.Reading && p.Bytes > 0 {
		fmt.Fprintf(&b, ", %s", formatBytes(p.Bytes))
	}
	elapsed := now.Sub(o.begun)
	if elapsed < time.Second || p.Done <= o.first {
		return b.String()
	}
	rate := float64(p.Done-o.first) / elapsed.Seconds()
	fmt.Fprintf(&b, ", %.0f/s", rate)
	if left := p.Total - p.Done; left > 0 {
		fmt.Fprintf(&b, ", %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
	}
	return b.String()
}

// writeLine writes one JSON value on a line of its own.
func (o *convertOutput) writeLine(v any) error { return json.NewEncoder(o.con.out).Encode(v) }

// stop ends a live line, so that what follows begins on its own.
func (o *convertOutput) stop() {
	if o.lineShown {
		fmt.Fprintln(o.con.err)
		o.lineShown = false
	}
}

func formatBytes(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
