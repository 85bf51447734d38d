// Package svndump writes an invented history as a Subversion dump: format 2, as subversion/notes/dump-load-format.txt
// describes it, with the usual trunk, branches and tags, copies with history and svn:mergeinfo.
package svndump

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"iter"
	"path"
	"time"

	"gantry/bench/synth"
)

// Facts are what is known to be true of a dump.
type Facts struct {
	Revisions int     `json:"revisions"`
	Branches  int     `json:"branches"`
	Tags      int     `json:"tags"`
	TextBytes int64   `json:"text_bytes"` // of all file versions that were written
	Merges    []Merge `json:"merges"`
	Picks     []Merge `json:"picks"` // only revision At was taken
}

func (f *Facts) String() string {
	return fmt.Sprintf("%d revisions, %d branches, %d tags, %d merges, %d MB of text",
		f.Revisions, f.Branches, f.Tags, len(f.Merges), f.TextBytes/1e6)
}

// Merge says that in a revision all that a path had at At came into another.
type Merge struct {
	Revision int    `json:"revision"`
	Into     string `json:"into"`
	From     string `json:"from"`
	At       int    `json:"at"`
}

// Write writes a dump of the revisions to w.
func Write(w io.Writer, uuid string, revisions iter.Seq[*synth.Revision]) (*Facts, error) {
	d := &dump{w: bufio.NewWriterSize(w, 1<<20), lines: map[*synth.Line]*line{}, facts: &Facts{}}
	fmt.Fprintf(d.w, "SVN-fs-dump-format-version: 2\n\nUUID: %s\n\n", uuid)
	for r := range revisions {
		if r.Number == 1 {
			d.revision(&synth.Revision{Time: r.Time.Add(-time.Hour)})
		}
		d.revision(r)
		if err := d.w.Flush(); err != nil {
			return nil, fmt.Errorf("svndump: r%d: %w", r.Number, err)
		}
		d.facts.Revisions = r.Number
	}
	return d.facts, nil
}

// dump is a dump being written. Errors of w stick until Flush.
type dump struct {
	w     *bufio.Writer
	lines map[*synth.Line]*line
	facts *Facts
	text  []byte // reused
}

// line is what Subversion knows of a line of development.
type line struct {
	path     string
	born     int // the revision that made it
	at       int // the revision of its source that it began as
	info     mergeinfo
	previous mergeinfo // before revision turned
	turned   int       // the revision that last changed info
}

func linePath(l *synth.Line) string {
	switch l.Kind {
	case synth.Trunk:
		return "trunk"
	case synth.Tag:
		return "tags/" + l.Name
	default:
		return "branches/" + l.Name
	}
}

func (d *dump) revision(r *synth.Revision) {
	var props []string
	if r.Author != "" {
		props = append(props, "svn:author", r.Author)
	}
	props = append(props, "svn:date", r.Time.Format("2006-01-02T15:04:05.000000Z"))
	if r.Number > 0 {
		props = append(props, "svn:log", r.Message)
	}
	block := properties(props...)
	fmt.Fprintf(d.w, "Revision-number: %d\nProp-content-length: %d\nContent-length: %d\n\n%s\n", r.Number, len(block), len(block), block)
	for _, step := range r.Steps {
		switch step := step.(type) {
		case synth.Fork:
			d.fork(r.Number, step)
		case synth.Commit:
			d.changes(r.Number, step.Line, step.Changes, nil, 0)
		case synth.Merge:
			d.merge(r.Number, step)
		case synth.Pick:
			d.pick(r.Number, step)
		case synth.Close:
			d.node(node{path: d.lines[step.Line].path, action: "delete"})
			delete(d.lines, step.Line)
		}
	}
}

func (d *dump) fork(number int, f synth.Fork) {
	l := &line{path: linePath(f.Line), born: number, at: f.At}
	d.lines[f.Line] = l
	if f.From == nil {
		for _, dir := range []string{"trunk", "branches", "tags"} {
			d.node(node{path: dir, kind: "dir", action: "add"})
		}
		return
	}
	from := d.lines[f.From]
	l.info = from.info
	if f.At < from.turned {
		l.info = from.previous
	}
	l.previous = l.info
	d.node(node{path: l.path, kind: "dir", action: "add", copyPath: from.path, copyRev: f.At})
	if f.Line.Kind == synth.Tag {
		d.facts.Tags++
	} else {
		d.facts.Branches++
	}
}

func (d *dump) merge(number int, m synth.Merge) {
	into, from := d.lines[m.Into], d.lines[m.From]
	first := from.born
	if m.From.Kind == synth.Trunk {
		first = into.at + 1
	}
	info := into.info.with(from.path, span{first, m.At})
	for p, spans := range from.info {
		if p != into.path {
			info = info.with(p, spans...)
		}
	}
	d.setInfo(number, into, info)
	d.changes(number, m.Into, m.Changes, from, m.At)
	d.facts.Merges = append(d.facts.Merges, Merge{number, into.path, from.path, m.At})
}

func (d *dump) pick(number int, p synth.Pick) {
	into, from := d.lines[p.Into], d.lines[p.From]
	d.setInfo(number, into, into.info.with(from.path, span{p.Revision, p.Revision}))
	d.changes(number, p.Into, p.Changes, nil, 0)
	d.facts.Picks = append(d.facts.Picks, Merge{number, into.path, from.path, p.Revision})
}

func (d *dump) setInfo(number int, l *line, info mergeinfo) {
	l.previous, l.info, l.turned = l.info, info, number
	d.node(node{path: l.path, kind: "dir", action: "change", props: properties("svn:mergeinfo", info.String())})
}

// changes writes the edits of a line. What a merge adds is copied from another line, as Subversion's own merge does it.
func (d *dump) changes(number int, l *synth.Line, changes []synth.Change, from *line, at int) {
	root := d.lines[l].path
	for _, c := range changes {
		n := node{path: path.Join(root, c.Path)}
		switch c.Action {
		case synth.Add:
			n.action = "add"
			switch {
			case c.File == nil:
				n.kind = "dir"
			case from != nil:
				n.kind, n.copyPath, n.copyRev = "file", path.Join(from.path, c.Path), at
			default:
				n.kind, n.props, n.file = "file", fileProperties(c.File), c.File
			}
		case synth.Edit:
			n.action, n.kind = "change", "file"
			if c.Was.Kind != c.File.Kind {
				n.props = fileProperties(c.File)
			}
			if !c.Was.SameContent(c.File) {
				n.file = c.File
			}
		case synth.Move:
			d.node(node{path: path.Join(root, c.From), action: "delete"})
			n.action, n.copyPath, n.copyRev = "add", path.Join(root, c.From), number-1
			n.kind = "file"
			if c.Dir {
				n.kind = "dir"
			}
		case synth.Remove:
			n.action = "delete"
		}
		d.node(n)
	}
}

// node is one node record. Without props and file the node keeps what it has.
type node struct {
	path, kind, action string
	copyPath           string
	copyRev            int
	props              []byte
	file               *synth.File
}

func (d *dump) node(n node) {
	fmt.Fprintf(d.w, "Node-path: %s\n", n.path)
	if n.kind != "" {
		fmt.Fprintf(d.w, "Node-kind: %s\n", n.kind)
	}
	fmt.Fprintf(d.w, "Node-action: %s\n", n.action)
	if n.copyPath != "" {
		fmt.Fprintf(d.w, "Node-copyfrom-rev: %d\nNode-copyfrom-path: %s\n", n.copyRev, n.copyPath)
	}
	if n.props != nil {
		fmt.Fprintf(d.w, "Prop-content-length: %d\n", len(n.props))
	}
	d.text = d.text[:0]
	if n.file != nil {
		if n.file.Kind == synth.Link {
			d.text = append(d.text, "link "...)
		}
		d.text = n.file.AppendTo(d.text)
		d.facts.TextBytes += int64(len(d.text))
		fmt.Fprintf(d.w, "Text-content-length: %d\nText-content-md5: %x\n", len(d.text), md5.Sum(d.text))
	}
	if n.props != nil || n.file != nil {
		fmt.Fprintf(d.w, "Content-length: %d\n", len(n.props)+len(d.text))
	}
	d.w.WriteString("\n")
	d.w.Write(n.props)
	d.w.Write(d.text)
	d.w.WriteString("\n\n")
}

func fileProperties(f *synth.File) []byte {
	switch f.Kind {
	case synth.Executable:
		return properties("svn:executable", "*")
	case synth.Link:
		return properties("svn:special", "*")
	case synth.Binary:
		return properties("svn:mime-type", "image/png")
	default:
		return properties()
	}
}

// properties is a property block of names and values in turn.
func properties(pairs ...string) []byte {
	var b bytes.Buffer
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "K %d\n%s\nV %d\n%s\n", len(pairs[i]), pairs[i], len(pairs[i+1]), pairs[i+1])
	}
	b.WriteString("PROPS-END\n")
	return b.Bytes()
}
