// Package hgbundle writes an invented history as a Mercurial bundle: HG20 with a changegroup of version 02, as
// mercurial/helptext/internals/bundles.txt and changegroups.txt describe them. Every line of development is a named
// branch, merges have two parents, picks are grafts, moved files remember where they came from, and tags are committed to
// .hgtags.
package hgbundle

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"gantry/bench/synth"
)

// Facts are what is known to be true of a bundle.
type Facts struct {
	Changesets    int   `json:"changesets"`
	Manifests     int   `json:"manifests"`
	FileRevisions int   `json:"file_revisions"`
	Branches      int   `json:"branches"` // named ones, as often as they were begun
	Tags          int   `json:"tags"`
	Merges        int   `json:"merges"`
	Grafts        int   `json:"grafts"`
	TextBytes     int64 `json:"text_bytes"` // of all file revisions
}

func (f *Facts) String() string {
	return fmt.Sprintf("%d changesets, %d file revisions, %d branches, %d tags, %d merges, %d MB of text",
		f.Changesets, f.FileRevisions, f.Branches, f.Tags, f.Merges, f.TextBytes/1e6)
}

// Write writes a bundle of the revisions to w. What it sends last is known first: all of it is kept until the end, as
// deltas.
func Write(w io.Writer, revisions iter.Seq[*synth.Revision]) (*Facts, error) {
	b := &bundle{lines: map[*synth.Line]*line{}, files: map[string]*revlog{}, facts: &Facts{}}
	for r := range revisions {
		b.revision(r)
	}
	b.facts.Changesets, b.facts.Manifests = len(b.changesets.chunks), len(b.manifests.chunks)
	for _, file := range b.files {
		b.facts.FileRevisions += len(file.chunks)
	}
	p := &parcel{bufio.NewWriterSize(w, 1<<20)}
	p.begin(b.facts.Changesets)
	p.group(&b.changesets)
	p.group(&b.manifests)
	for _, path := range slices.Sorted(maps.Keys(b.files)) {
		p.chunk([]byte(path))
		p.group(b.files[path])
	}
	p.end()
	if err := p.w.Flush(); err != nil {
		return nil, fmt.Errorf("hgbundle: %w", err)
	}
	return b.facts, nil
}

// bundle is what is to be sent.
type bundle struct {
	changesets, manifests revlog
	files                 map[string]*revlog
	lines                 map[*synth.Line]*line
	facts                 *Facts
}

// line is what Mercurial knows of a line of development.
type line struct {
	branch   string
	tip      *changeset // nil as long as nothing is there
	previous *changeset // before revision turned
	turned   int        // the revision that last changed the line
}

// at is what the line was after a revision, its newest or the one before it.
func (l *line) at(revision int) *changeset {
	if revision < l.turned {
		return l.previous
	}
	return l.tip
}

// turn makes c the newest changeset of the line.
func (l *line) turn(number int, c *changeset) {
	if l.turned != number {
		l.previous = l.tip
	}
	l.tip, l.turned = c, number
}

func (b *bundle) revision(r *synth.Revision) {
	for _, step := range r.Steps {
		switch step := step.(type) {
		case synth.Fork:
			b.fork(r, step)
		case synth.Commit:
			b.work(r, b.lines[step.Line], step.Changes, nil, nil)
		case synth.Merge:
			b.facts.Merges++
			b.work(r, b.lines[step.Into], step.Changes, b.lines[step.From].at(step.At), nil)
		case synth.Pick:
			b.facts.Grafts++
			source := b.lines[step.From].at(step.Revision).revision.node
			b.work(r, b.lines[step.Into], step.Changes, nil, []string{"source:" + source.String()})
		case synth.Close:
			l := b.lines[step.Line]
			delete(b.lines, step.Line)
			b.commit(r, l.branch, newDraft(l.tip, nil), []string{"close:1"})
		}
	}
}

// work commits changes of a line.
func (b *bundle) work(r *synth.Revision, l *line, changes []synth.Change, other *changeset, extras []string) {
	d := newDraft(l.tip, other)
	d.apply(changes)
	l.turn(r.Number, b.commit(r, l.branch, d, extras))
}

func (b *bundle) fork(r *synth.Revision, f synth.Fork) {
	if f.From == nil {
		b.lines[f.Line] = &line{branch: "default"}
		return
	}
	from := b.lines[f.From]
	begin := from.at(f.At)
	l := &line{branch: f.Line.Name, turned: r.Number}
	b.lines[f.Line] = l
	if f.Line.Kind == synth.Branch {
		b.facts.Branches++
		l.tip = b.commit(r, l.branch, newDraft(begin, nil), nil)
		l.previous = l.tip
		return
	}
	// A tag is a line in .hgtags of the branch that it is on. What people commit to it later is a further head there.
	b.facts.Tags++
	*l = line{from.branch, begin, begin, r.Number}
	d := newDraft(from.tip, nil)
	d.tag(fmt.Sprintf("%s %s\n", begin.revision.node, f.Line.Name))
	from.tip = b.commit(r, from.branch, d, nil)
}

// commit adds a changeset with all that is new in it.
func (b *bundle) commit(r *synth.Revision, branch string, d *draft, extras []string) *changeset {
	c := &changeset{revision: &revision{}}
	for _, path := range slices.Sorted(maps.Keys(d.fresh)) {
		file := b.files[path]
		if file == nil {
			file = &revlog{}
			b.files[path] = file
		}
		i, _ := d.find(path)
		var size int
		d.tree[i].revision, size = d.fresh[path].add(file, c.revision)
		b.facts.TextBytes += int64(size)
	}
	c.tree, c.manifest = d.tree, d.p1.manifest
	if text, patch := manifest(d.p1.tree, d.tree); len(patch) > 0 || d.p2 != nil || c.manifest == nil {
		c.manifest, _ = b.manifests.add(d.p1.manifest, d.second().manifest, text, patch, c.revision)
	}
	if branch != "default" {
		extras = append([]string{"branch:" + branch}, extras...)
	}
	text := description(r, c.manifest.node, d.touched(), extras)
	*c.revision = *newRevision(d.p1.revision, d.second().revision, text)
	b.changesets.append(c.revision, nil, appendHunk(nil, 0, 0, text), c.revision)
	return c
}

// description is the text of a changeset.
func description(r *synth.Revision, manifest node, files, extras []string) []byte {
	author := r.Author
	if author == "" {
		author = "nobody"
	}
	zones := [...]int{0, -3600, -7200, 18000} // seconds west of UTC
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n%s <%s@example.org>\n%d %d", manifest, author, author, r.Time.Unix(), zones[len(author)%len(zones)])
	if len(extras) > 0 {
		fmt.Fprintf(&text, " %s", strings.Join(extras, "\x00"))
	}
	for _, path := range files {
		fmt.Fprintf(&text, "\n%s", path)
	}
	fmt.Fprintf(&text, "\n\n%s", strings.TrimSpace(r.Message))
	return text.Bytes()
}
