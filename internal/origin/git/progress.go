package git

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"gantry/internal/gitdir"
)

// Phase is a part of a fetch or of writing a pack that git reports on, in git's words.
type Phase string

const (
	Counting  Phase = "Counting objects"
	Receiving Phase = "Receiving objects"
	Resolving Phase = "Resolving deltas"
	Writing   Phase = "Writing objects"
)

// Progress is how far a phase has come.
type Progress struct {
	Phase       Phase
	Done, Total int64
}

var progressLine = regexp.MustCompile(`^(?:remote: )?(Counting objects|Receiving objects|Resolving deltas|Writing objects): +\d+% \((\d{1,15})/(\d{1,15})\)`)

// progressWriter takes git's standard error: progress is reported, the end of everything else is kept.
type progressWriter struct {
	report func(Progress) // may be nil
	line   []byte
	rest   gitdir.Tail
}

const maxProgressLine = 4 << 10

func (w *progressWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			if len(w.line)+len(p) <= maxProgressLine {
				w.line = append(w.line, p...)
			}
			break
		}
		if len(w.line)+end <= maxProgressLine {
			w.line = append(w.line, p[:end]...)
		}
		w.endLine()
		p = p[end+1:]
	}
	return n, nil
}

func (w *progressWriter) endLine() {
	defer func() { w.line = w.line[:0] }()
	m := progressLine.FindSubmatch(w.line)
	if m == nil {
		if len(w.line) > 0 {
			_, _ = w.rest.Write(append(w.line, '\n'))
		}
		return
	}
	if w.report == nil {
		return
	}
	done, _ := strconv.ParseInt(string(m[2]), 10, 64)
	total, _ := strconv.ParseInt(string(m[3]), 10, 64)
	w.report(Progress{Phase: Phase(m[1]), Done: done, Total: total})
}

// String is what git said beside progress.
func (w *progressWriter) String() string {
	w.endLine()
	return w.rest.String()
}

// lineWriter hands each line that a command writes to a function, until that returns an error.
type lineWriter struct {
	limit int // longest line in bytes
	each  func(line []byte) error
	part  []byte
	err   error
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for w.err == nil {
		line, rest, ok := bytes.Cut(p, []byte{'\n'})
		if len(w.part)+len(line) > w.limit {
			w.err = fmt.Errorf("git: a line is longer than %d bytes", w.limit)
			break
		}
		if !ok {
			w.part = append(w.part, p...)
			return n, nil
		}
		if len(w.part) > 0 {
			line = append(w.part, line...)
			w.part = w.part[:0]
		}
		w.err = w.each(line)
		p = rest
	}
	return 0, w.err
}
