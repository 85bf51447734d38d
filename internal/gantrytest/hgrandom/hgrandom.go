// Package hgrandom invents Mercurial histories: whatever hg takes from a bundle may be in one, in an order that nobody
// would choose. The same seed gives the same history, and a shorter one of the same seed is its beginning.
package hgrandom

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"gantry/internal/gantrytest/hgfixture"
)

// New invents a history of so many changesets.
func New(seed uint64, changesets int) *hgfixture.History {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x6867)), h: hgfixture.NewHistory(), now: 1e9, branches: []string{""}}
	for g.h.Changesets() < changesets {
		g.changeset()
	}
	return g.h
}

// Bookmarks invents bookmarks of a history, by name.
func Bookmarks(seed uint64, h *hgfixture.History) map[string]string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x626d))}
	marks := map[string]string{}
	for range g.r.IntN(12) {
		if name := strings.TrimSpace(g.refName()); name != "" && !strings.Contains(name, ":") {
			marks[name] = h.Node(1 + g.r.IntN(h.Changesets()))
		}
	}
	return marks
}

const (
	maxFiles = 120
	maxPath  = 1200
)

type generator struct {
	r        *rand.Rand
	h        *hgfixture.History
	now      int64
	branches []string // by changeset; that of the empty one is ""

	tree    map[string]tracked // as the running changeset has it so far
	before  map[string]bool    // paths of its first parent
	changes []hgfixture.Change
}

// tracked is a file of the running changeset.
type tracked struct {
	text string
	flag byte
}

func pick[T any](g *generator, of []T) T { return of[g.r.IntN(len(of))] }

// chance is true so many times of a hundred.
func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// changeset commits one.
func (g *generator) changeset() {
	c := g.saying()
	c.Parents = g.parents()
	first := c.Parents[0]
	switch {
	case g.chance(85):
		c.Branch = g.branches[first]
	case g.chance(50):
		c.Branch = pick(g, g.branches) // may be one that is closed, or far away
	default:
		c.Branch = g.refName()
	}
	c.Closes = g.chance(6)
	g.begin(c.Parents)
	if !g.chance(6) {
		for range 1 + g.r.IntN(1+g.r.IntN(9)) {
			g.edit()
		}
	}
	if g.chance(8) {
		g.tag()
	}
	g.h.Commit(c, g.changes...)
	g.branches = append(g.branches, c.Branch)
}

// parents are most often the last changeset alone.
func (g *generator) parents() []int {
	last := g.h.Changesets()
	recent := func() int { return max(last-g.r.IntN(10), 0) }
	first := last
	switch {
	case g.chance(2):
		first = 0
	case g.chance(15):
		first = recent()
	case g.chance(3):
		first = g.r.IntN(last + 1)
	}
	if second := recent(); g.chance(15) && second != first && first != 0 {
		return []int{first, second}
	}
	return []int{first}
}

// begin takes the first parent's files, and of a merge some of the second one's.
func (g *generator) begin(parents []int) {
	g.tree, g.before, g.changes = map[string]tracked{}, map[string]bool{}, nil
	for _, path := range g.h.Paths(parents[0]) {
		g.tree[path] = tracked{g.h.Text(parents[0], path), g.h.Flag(parents[0], path)}
		g.before[path] = true
	}
	if len(parents) < 2 {
		return
	}
	for _, path := range g.h.Paths(parents[1]) {
		if g.chance(40) && !g.isInTheWay(path) {
			g.tree[path] = tracked{g.h.Text(parents[1], path), g.h.Flag(parents[1], path)}
			g.changes = append(g.changes, hgfixture.Take(path))
		}
	}
}

// isInTheWay reports whether a file of the path would be a directory, or have to be in a file.
func (g *generator) isInTheWay(path string) bool {
	for other := range g.tree {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return true
		}
	}
	return false
}

// clear makes room for a file.
func (g *generator) clear(path string) {
	for _, other := range g.paths() {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			g.remove(other)
		}
	}
}

func (g *generator) paths() []string { return slices.Sorted(maps.Keys(g.tree)) }

func (g *generator) remove(path string) {
	for _, other := range g.paths() {
		if other == path || strings.HasPrefix(other, path+"/") {
			delete(g.tree, other)
		}
	}
	g.changes = append(g.changes, hgfixture.Remove(path))
}

func (g *generator) put(path, text string, flag byte) {
	g.clear(path)
	g.tree[path] = tracked{text, flag}
	put := hgfixture.Put
	switch flag {
	case 'x':
		put = hgfixture.Executable
	case 'l':
		put = hgfixture.Link
	}
	g.changes = append(g.changes, put(path, text))
}

// edit does one thing.
func (g *generator) edit() {
	paths := g.paths()
	if len(paths) == 0 || len(paths) < maxFiles && g.chance(25) {
		g.put(g.newPath(paths), g.text(), pick(g, []byte{0, 0, 0, 0, 'x', 'l'}))
		return
	}
	path := pick(g, paths)
	f := g.tree[path]
	switch g.r.IntN(12) {
	case 0:
		g.remove(path)
	case 1: // with all that is beside it
		if dir, _, found := strings.Cut(path, "/"); found {
			g.remove(dir)
		}
	case 2:
		f.flag = pick(g, []byte{0, 'x', 'l'})
		g.tree[path] = f
		g.changes = append(g.changes, hgfixture.Flag(path, f.flag))
	case 3, 4: // a copy, and often the original goes
		to := g.newPath(paths)
		if g.before[path] && to != path && !strings.HasPrefix(to, path+"/") && !strings.HasPrefix(path, to+"/") {
			g.clear(to)
			text := f.text
			if g.chance(40) {
				text = g.edited(text)
			}
			g.tree[to] = tracked{text, f.flag}
			g.changes = append(g.changes, hgfixture.Copy(path, to, text))
			if g.chance(60) {
				g.remove(path)
			}
		}
	case 5: // a file becomes a directory
		g.put(path+"/"+g.name(), g.text(), 0)
	default:
		g.put(path, g.edited(f.text), f.flag)
	}
}

// newPath is most often one beside others.
func (g *generator) newPath(paths []string) string {
	dir := ""
	if len(paths) > 0 && g.chance(70) {
		path := pick(g, paths)
		dir = path[:strings.LastIndexByte(path, '/')+1]
	}
	for g.chance(25) {
		dir += g.name() + "/"
	}
	if len(dir) > maxPath {
		dir = ""
	}
	return dir + g.name()
}

// tag says something in .hgtags.
func (g *generator) tag() {
	node := strings.Repeat("0", 40)
	if last := g.h.Changesets(); last > 0 && g.chance(85) {
		node = g.h.Node(1 + g.r.IntN(last))
	}
	text := g.tree[".hgtags"].text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if g.chance(3) {
		text = g.edited(text)
	}
	g.put(".hgtags", text+fmt.Sprintf("%s %s\n", node, g.refName()), 0)
}
