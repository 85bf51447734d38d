package hgfixture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gantry/internal/revlog"
)

// History is a Mercurial history written down as data: a bundle in the making, which may also have in it what hg itself
// would not commit. The same calls give the same bytes.
type History struct {
	changesets []committed
	changelog  group
	manifests  group
	files      map[string]*group
}

// committed is a changeset of a history.
type committed struct {
	node, manifest revlog.Node
	tree           map[string]file
}

type file struct {
	node   revlog.Node
	flag   byte
	text   string
	fresh  bool // it has no node before all changes are known
	header string
}

// Changeset is what a changeset says of itself. All that is empty has a default.
type Changeset struct {
	Parents     []int  // numbers of changesets, from 1, 0 for none; by default the one before
	User        string // raw, by default Alice's
	Date        string // raw: seconds, a space, seconds west of UTC; by default a minute after the one before
	Branch      string
	Closes      bool
	Extras      map[string]string
	Description string // raw
}

// NoUser is a user of no bytes.
const NoUser = "\x00"

// NewHistory begins a history without changesets.
func NewHistory() *History { return &History{files: map[string]*group{}} }

// Changesets is how many there are. The last one has this number.
func (h *History) Changesets() int { return len(h.changesets) }

// Node is the node of a changeset.
func (h *History) Node(number int) string { return h.at(number).node.String() }

// Paths are those of the files of a changeset, in order.
func (h *History) Paths(number int) []string { return slices.Sorted(maps.Keys(h.at(number).tree)) }

// Text is the content of a file of a changeset.
func (h *History) Text(number int, path string) string { return h.at(number).tree[path].text }

// Flag is the flag of a file of a changeset in the manifest; 0 for none.
func (h *History) Flag(number int, path string) byte { return h.at(number).tree[path].flag }

func (h *History) at(number int) committed {
	if number == 0 {
		return committed{}
	}
	return h.changesets[number-1]
}

// Commit adds a changeset with the files of its first parent but for the changes, and returns its number.
func (h *History) Commit(c Changeset, changes ...Change) int {
	number := len(h.changesets) + 1
	if c.Parents == nil {
		c.Parents = []int{number - 1}
	}
	parents := append(slices.Clone(c.Parents), 0)
	d := &draft{h: h, number: number, p1: h.at(parents[0]), p2: h.at(parents[1]), touched: map[string]bool{}}
	d.tree = maps.Clone(d.p1.tree)
	if d.tree == nil {
		d.tree = map[string]file{}
	}
	for _, change := range changes {
		change(d)
	}
	d.settle()
	made := committed{tree: d.tree, manifest: d.p1.manifest}
	if len(d.touched) > 0 {
		made.manifest = h.manifests.add(d.p1.manifest, d.p2.manifest, manifestText(d.tree), number)
	}
	made.node = h.changelog.add(d.p1.node, d.p2.node, c.text(made.manifest, number, d.touched), number)
	h.changesets = append(h.changesets, made)
	return number
}

func manifestText(tree map[string]file) []byte {
	var text bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		fmt.Fprintf(&text, "%s\x00%s", path, tree[path].node)
		if flag := tree[path].flag; flag != 0 {
			text.WriteByte(flag)
		}
		text.WriteByte('\n')
	}
	return text.Bytes()
}

// text is that of the changelog.
func (c *Changeset) text(manifest revlog.Node, number int, touched map[string]bool) []byte {
	user := cmp.Or(c.User, "alice <alice@example.org>")
	if user == NoUser {
		user = ""
	}
	date := cmp.Or(c.Date, fmt.Sprintf("%d -3600", 1e9+60*int64(number)))
	extras := maps.Clone(c.Extras)
	if extras == nil {
		extras = map[string]string{}
	}
	if c.Branch != "" {
		extras["branch"] = c.Branch
	}
	if c.Closes {
		extras["close"] = "1"
	}
	for i, key := range slices.Sorted(maps.Keys(extras)) {
		item := strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\r", "\\r", "\x00", "\\0").Replace(key + ":" + extras[key])
		date += map[bool]string{true: " ", false: "\x00"}[i == 0] + item
	}
	lines := append([]string{manifest.String(), user, date}, slices.Sorted(maps.Keys(touched))...)
	return []byte(strings.Join(append(lines, "", c.Description), "\n"))
}

// draft is a changeset before it is committed.
type draft struct {
	h       *History
	number  int
	p1, p2  committed
	tree    map[string]file
	touched map[string]bool
}

// Change is what a changeset does to a file.
type Change func(*draft)

// Put gives a path a regular file.
func Put(path, text string) Change {
	return func(d *draft) { d.put(path, "", text, 0) }
}

// Executable gives a path an executable file.
func Executable(path, text string) Change {
	return func(d *draft) { d.put(path, "", text, revlog.Executable) }
}

// Link gives a path a symbolic link.
func Link(path, target string) Change {
	return func(d *draft) { d.put(path, "", target, revlog.Symlink) }
}

// Flag changes the flag of a file alone: 0, 'x' or 'l'.
func Flag(path string, flag byte) Change {
	return func(d *draft) {
		f := d.tree[path]
		f.flag = flag
		d.tree[path] = f
		d.touched[path] = true
	}
}

// Remove takes a file away, or all files of a directory.
func Remove(path string) Change {
	return func(d *draft) {
		for p := range d.tree {
			if p == path || strings.HasPrefix(p, path+"/") {
				delete(d.tree, p)
				d.touched[p] = true
			}
		}
	}
}

// Copy gives a path the content of another file, of which it remembers that.
func Copy(from, to, text string) Change {
	return func(d *draft) {
		f := d.p1.tree[from]
		d.put(to, fmt.Sprintf("\x01\ncopy: %s\ncopyrev: %s\n\x01\n", from, f.node), text, f.flag)
	}
}

// Take gives a path the file that the second parent has there, or none.
func Take(path string) Change {
	return func(d *draft) {
		if f, there := d.p2.tree[path]; there {
			d.tree[path] = f
		} else {
			delete(d.tree, path)
		}
		d.touched[path] = true
	}
}

func (d *draft) put(path, header, text string, flag byte) {
	if header == "" && strings.HasPrefix(text, "\x01\n") {
		header = "\x01\n\x01\n"
	}
	d.tree[path] = file{text: text, flag: flag, fresh: true, header: header}
	d.touched[path] = true
}

// settle gives the files their nodes, and forgets those that came and went.
func (d *draft) settle() {
	maps.DeleteFunc(d.touched, func(path string, _ bool) bool {
		_, now := d.tree[path]
		_, before1 := d.p1.tree[path]
		_, before2 := d.p2.tree[path]
		return !now && !before1 && !before2
	})
	for path, f := range d.tree {
		if !f.fresh {
			continue
		}
		log := d.h.files[path]
		if log == nil {
			log = &group{}
			d.h.files[path] = log
		}
		p1, p2 := d.p1.tree[path].node, d.p2.tree[path].node
		switch {
		case strings.Contains(f.header, "copy:"):
			p1, p2 = revlog.Null, p1 // hg looks for the first one where the header says
		case p1 == p2:
			p2 = revlog.Null
		}
		d.tree[path] = file{node: log.add(p1, p2, []byte(f.header+f.text), d.number), flag: f.flag, text: f.text}
	}
}

// group is all revisions of one revlog.
type group struct {
	revisions []revision
	known     map[revlog.Node]bool
}

type revision struct {
	node, p1, p2 revlog.Node
	text         []byte
	link         int // number of the changeset that brought it
}

func (g *group) add(p1, p2 revlog.Node, text []byte, link int) revlog.Node {
	node := revlog.Sum(p1, p2, text)
	if g.known == nil {
		g.known = map[revlog.Node]bool{}
	}
	if !g.known[node] {
		g.known[node] = true
		g.revisions = append(g.revisions, revision{node, p1, p2, text, link})
	}
	return node
}

// Bundle is the history as hg bundle -t none-v1 writes it: HG10UN and a changegroup of version 01, as
// mercurial/helptext/internals/bundles.txt and changegroups.txt describe them.
func (h *History) Bundle() []byte {
	out := []byte("HG10UN")
	out = h.appendGroup(out, &h.changelog)
	out = h.appendGroup(out, &h.manifests)
	for _, path := range slices.Sorted(maps.Keys(h.files)) {
		out = binary.BigEndian.AppendUint32(out, uint32(4+len(path)))
		out = append(out, path...)
		out = h.appendGroup(out, h.files[path])
	}
	return append(out, 0, 0, 0, 0)
}

// appendGroup writes each revision as what differs from the one before: all between the ends that both have.
func (h *History) appendGroup(out []byte, g *group) []byte {
	var base []byte
	for i, r := range g.revisions {
		if i == 0 && !r.p1.IsNull() {
			panic("hgfixture: the first revision of " + r.node.String() + " has a parent")
		}
		head, tail := commonEnds(base, r.text)
		fresh := r.text[head : len(r.text)-tail]
		link := h.changesets[r.link-1].node
		out = binary.BigEndian.AppendUint32(out, uint32(4+4*len(link)+12+len(fresh)))
		for _, n := range []revlog.Node{r.node, r.p1, r.p2, link} {
			out = append(out, n[:]...)
		}
		for _, n := range []int{head, len(base) - tail, len(fresh)} {
			out = binary.BigEndian.AppendUint32(out, uint32(n))
		}
		out = append(out, fresh...)
		base = r.text
	}
	return append(out, 0, 0, 0, 0)
}

// commonEnds returns how many bytes of whole lines two texts have in common at their ends. hg itself reads the deltas of
// manifests, so that these are of lines.
func commonEnds(a, b []byte) (head, tail int) {
	shorter := min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	head = bytes.LastIndexByte(a[:head], '\n') + 1
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if line := bytes.IndexByte(a[len(a)-tail:], '\n'); line >= 0 {
		return head, tail - line - 1
	}
	return head, 0
}
