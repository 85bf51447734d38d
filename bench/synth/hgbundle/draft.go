package hgbundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gantry/bench/synth"
)

// changeset is a changeset and its files.
type changeset struct {
	revision *revision
	manifest *revision
	tree     []entry // sorted; never changed
}

var none = &changeset{}

type entry struct {
	path     string
	flag     byte // 0, 'x' or 'l', as in manifests
	revision *fileRevision
}

func byPath(e entry, path string) int { return strings.Compare(e.path, path) }

// draft is a changeset before it is committed.
type draft struct {
	p1, p2  *changeset // p2 is nil unless it is a merge; p1 may be none
	tree    []entry    // those in fresh have their new revision only when it is committed
	fresh   map[string]*fileDraft
	removed map[string]bool
	flagged map[string]bool // only their flag is another
}

func newDraft(p1, p2 *changeset) *draft {
	if p1 == nil {
		p1 = none
	}
	return &draft{p1, p2, slices.Clone(p1.tree), map[string]*fileDraft{}, map[string]bool{}, map[string]bool{}}
}

// second is the second parent, none as the case may be.
func (d *draft) second() *changeset {
	if d.p2 == nil {
		return none
	}
	return d.p2
}

func (d *draft) find(path string) (int, bool) { return slices.BinarySearchFunc(d.tree, path, byPath) }

// touched are the paths that the changeset tells to have changed.
func (d *draft) touched() []string {
	all := map[string]bool{}
	maps.Copy(all, d.removed)
	maps.Copy(all, d.flagged)
	for path := range d.fresh {
		all[path] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// apply makes the changes, as Mercurial's own commands would.
func (d *draft) apply(changes []synth.Change) {
	for _, c := range changes {
		switch c.Action {
		case synth.Add:
			if c.File != nil { // Mercurial knows no directories
				d.put(c.Path, flagOf(c.File), &fileDraft{content: c.File})
			}
		case synth.Edit:
			d.edit(c)
		case synth.Move:
			d.move(c.From, c.Path)
		case synth.Remove:
			for _, e := range d.take(c.Path) {
				d.removed[e.path] = true
			}
		}
	}
}

// put gives a path a new revision, unless the other parent of a merge has it.
func (d *draft) put(path string, flag byte, f *fileDraft) {
	i, found := d.find(path)
	if !found {
		d.tree = slices.Insert(d.tree, i, entry{path: path})
	}
	d.tree[i].flag = flag
	if j, there := slices.BinarySearchFunc(d.second().tree, path, byPath); there {
		theirs := d.p2.tree[j].revision
		if theirs.content == f.content {
			d.tree[i].revision = theirs
			return
		}
		f.p2 = theirs
	}
	d.fresh[path] = f
}

func (d *draft) edit(c synth.Change) {
	i, _ := d.find(c.Path)
	switch f := d.fresh[c.Path]; {
	case f != nil: // moved just now
		f.content = c.File
		d.tree[i].flag = flagOf(c.File)
	case c.Was.Kind != c.File.Kind && c.Was.SameContent(c.File):
		d.tree[i].flag = flagOf(c.File)
		d.flagged[c.Path] = true
	default:
		d.put(c.Path, flagOf(c.File), &fileDraft{content: c.File, p1: d.tree[i].revision})
	}
}

// move moves a file or all files of a directory.
func (d *draft) move(from, to string) {
	for _, e := range d.take(from) {
		d.removed[e.path] = true
		path := to + e.path[len(from):]
		header := fmt.Sprintf("\x01\ncopy: %s\ncopyrev: %s\n\x01\n", e.path, e.revision.node)
		d.put(path, e.flag, &fileDraft{content: e.revision.content, header: header})
	}
}

// take takes a file or all files of a directory away.
func (d *draft) take(path string) (taken []entry) {
	d.tree = slices.DeleteFunc(d.tree, func(e entry) bool {
		found := e.path == path || strings.HasPrefix(e.path, path+"/")
		if found {
			taken = append(taken, e)
		}
		return found
	})
	return taken
}

// tag adds a line to .hgtags.
func (d *draft) tag(line string) {
	f := &fileDraft{content: words(line)}
	if i, found := d.find(".hgtags"); found {
		f.p1 = d.tree[i].revision
		f.content = f.p1.content.(words) + words(line)
	}
	d.put(".hgtags", 0, f)
}

func flagOf(f *synth.File) byte {
	switch f.Kind {
	case synth.Executable:
		return 'x'
	case synth.Link:
		return 'l'
	default:
		return 0
	}
}

// content is what is in a file.
type content interface{ AppendTo([]byte) []byte }

// words are a content of known words.
type words string

func (w words) AppendTo(dst []byte) []byte { return append(dst, w...) }

// fileRevision is a revision of a file, with what can tell its text again.
type fileRevision struct {
	*revision
	content
	header string // about where it was copied from
	p1, p2 *fileRevision
}

func (r *fileRevision) text() []byte {
	if r == nil {
		return nil
	}
	return r.AppendTo([]byte(r.header))
}

// fileDraft is a revision of a file before it is committed.
type fileDraft struct {
	content
	header string
	p1, p2 *fileRevision
}

// add adds the revision to those of its file and returns it with the size of its text.
func (f *fileDraft) add(log *revlog, link *revision) (*fileRevision, int) {
	// Of two parents, one of which comes from the other, only the younger counts.
	switch {
	case f.p1.comesFrom(f.p2):
		f.p2 = nil
	case f.p2.comesFrom(f.p1):
		f.p1, f.p2 = f.p2, nil
	}
	r := &fileRevision{content: f.content, header: f.header, p1: f.p1, p2: f.p2}
	text := r.text()
	r.revision, _ = log.add(f.p1.plain(), f.p2.plain(), text, diff(f.p1.text(), text), link)
	return r, len(text)
}

func (r *fileRevision) plain() *revision {
	if r == nil {
		return nil
	}
	return r.revision
}

// comesFrom reports whether r is q or has it among its ancestors.
func (r *fileRevision) comesFrom(q *fileRevision) bool {
	if q == nil {
		return true
	}
	seen := map[*fileRevision]bool{nil: true}
	for wait := []*fileRevision{r}; len(wait) > 0; {
		r := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		if seen[r] || r.number < q.number {
			continue
		}
		if r.revision == q.revision {
			return true
		}
		seen[r] = true
		wait = append(wait, r.p1, r.p2)
	}
	return false
}
