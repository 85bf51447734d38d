// Package svnrandom invents Subversion histories: whatever svnadmin load accepts may be in one, in an order that nobody
// would choose. The same seed gives the same history, and a shorter one of the same seed is its beginning.
package svnrandom

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"gantry/internal/gantrytest/svnfixture"
)

// New invents a history of so many revisions.
func New(seed uint64, revisions int) *svnfixture.History {
	g := &generator{
		r: rand.New(rand.NewPCG(seed, 0x5eed)), h: svnfixture.NewHistory(fmt.Sprintf("00000000-0000-4000-8000-%012x", seed)),
		root: newDir(map[string]*node{}, nil), now: svnfixture.Start,
	}
	g.roots = []*node{g.root}
	g.layout = layouts[seed%uint64(len(layouts))]
	for len(g.roots) <= revisions {
		g.focus = ""
		g.revision()
		g.commit()
	}
	return g.h
}

const (
	maxTree = 600 // nodes: copies of copies grow without end
	maxPath = 1200
)

type generator struct {
	r      *rand.Rand
	h      *svnfixture.History
	layout func(*generator, int64) bool
	now    time.Time

	roots []*node // by revision
	root  *node   // as the running revision has it so far
	nodes []svnfixture.Node

	focus   string // where the running revision works
	deleted string // what its last change deleted, "" for none
}

// pick chooses one.
func pick[T any](g *generator, of []T) T { return of[g.r.IntN(len(of))] }

// chance is true so many times of a hundred.
func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// Layouts say what the first revisions set up and what later ones do with it; false leaves a revision to chance.
var layouts = []func(*generator, int64) bool{standard(""), wild, late, standard("project"), several, standard("")}

// wild has no layout at all.
func wild(*generator, int64) bool { return false }

// standard has trunk, branches and tags in a directory.
func standard(project string) func(*generator, int64) bool {
	return func(g *generator, revision int64) bool {
		if revision == 1 {
			if project != "" {
				g.mkdir(project)
			}
			for _, name := range []string{"trunk", "branches", "tags"} {
				g.mkdir(join(project, name))
			}
			return true
		}
		return g.chance(40) && g.develop(project)
	}
}

// late begins with files at the root, which then become a trunk.
func late(g *generator, revision int64) bool {
	switch {
	case revision == 12:
		g.mkdirOver("trunk")
		for _, name := range g.roots[11].names() {
			if name != "trunk" && g.root.find(name) != nil {
				g.move(name, join("trunk", name))
			}
		}
		g.mkdirOver("branches")
		g.mkdirOver("tags")
		return true
	case revision < 12:
		return false
	}
	return g.chance(40) && g.develop("")
}

// several has projects side by side, one of which moves.
func several(g *generator, revision int64) bool {
	if revision <= 3 {
		project := fmt.Sprintf("p%d", revision)
		g.mkdir(project)
		for _, name := range []string{"trunk", "branches", "tags"} {
			g.mkdir(join(project, name))
		}
		g.put(join(project, "trunk/README"), g.lines(3))
		return true
	}
	if revision == 20 && g.isDir("p1") && g.root.find("moved") == nil {
		g.move("p1", "moved")
		return true
	}
	return g.chance(50) && g.develop(pick(g, []string{"p1", "p2", "p3", "moved"}))
}

// develop does what developers do with a layout, as far as it is still there.
func (g *generator) develop(project string) bool {
	trunk, branches, tags := join(project, "trunk"), join(project, "branches"), join(project, "tags")
	if !g.isDir(trunk) || !g.isDir(branches) || !g.isDir(tags) {
		return false
	}
	g.focus = trunk
	if living := g.root.find(branches).names(); len(living) > 0 && g.chance(40) {
		if branch := join(branches, pick(g, living)); g.isDir(branch) {
			g.focus = branch
		}
	}
	into := branches
	switch g.r.IntN(14) {
	case 0, 1: // a branch
		g.copyTo(g.focus, g.recent(), join(into, g.name()))
	case 2: // a tag
		g.copyTo(g.focus, g.recent(), join(tags, g.name()))
	case 3: // the end of a branch or tag
		into = pick(g, []string{branches, tags})
		if living := g.root.find(into).names(); len(living) > 0 {
			g.remove(join(into, pick(g, living)))
		}
	case 4: // a merge
		n := g.root.find(trunk)
		g.setProps(trunk, merged(n, branches, g))
	case 5: // trunk is lost and comes back
		g.remove(trunk)
		g.commit()
		g.copyTo(trunk, int64(len(g.roots)-2), trunk)
	case 6: // a branch of branches, or a part of trunk as one
		g.copyTo(g.somewhere(g.roots[len(g.roots)-1], true), g.recent(), join(into, g.name()))
	case 7: // a branch takes the place of trunk
		if g.focus != trunk {
			g.remove(trunk)
			g.copyTo(g.focus, int64(len(g.roots)-1), trunk)
		}
	case 8: // trunk is called otherwise for a while
		g.move(trunk, join(project, "Trunk"))
		g.commit()
		g.edits()
		g.commit()
		g.move(join(project, "Trunk"), trunk)
	case 9: // a tag in trunk, trunk in a branch, a branch in a tag
		g.focus = pick(g, []string{trunk, branches, tags})
		from := g.somewhere(g.root, true)
		g.focus = pick(g, []string{trunk, branches, tags})
		g.copyTo(from, g.recent(), g.newPath())
	default:
		g.edits()
	}
	if g.chance(20) {
		g.edits()
	}
	return true
}

func merged(n *node, branches string, g *generator) map[string]string {
	props := map[string]string{}
	for name, value := range n.props {
		props[name] = value
	}
	from := 1 + g.r.IntN(len(g.roots))
	names := append(g.root.find(branches).names(), "gone")
	props["svn:mergeinfo"] += fmt.Sprintf("/%s/%s:%d-%d\n", branches, pick(g, names), from, from+g.r.IntN(len(g.roots)))
	return props
}

// commit ends the running revision and begins another.
func (g *generator) commit() {
	g.h.CommitProps(g.revisionProps(), g.nodes...)
	g.roots = append(g.roots, g.root)
	g.nodes, g.deleted = nil, ""
}

func (g *generator) revision() {
	revision := int64(len(g.roots))
	if g.layout(g, revision) || g.chance(4) {
		return // or nothing happens
	}
	g.edits()
}

// edits does a few things near each other.
func (g *generator) edits() {
	for range 1 + g.r.IntN(1+g.r.IntN(8)) {
		g.edit()
	}
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// recent is a revision, most often a late one.
func (g *generator) recent() int64 {
	last := len(g.roots) - 1
	if g.chance(60) {
		return int64(last)
	}
	return int64(g.r.IntN(last + 1))
}

// somewhere chooses a path in a tree; dir says of which kind. It is "" when there is none but the root.
func (g *generator) somewhere(root *node, dir bool) string {
	wanted := func(p string, n *node) bool { return n.isDir() == dir && p != "" }
	at := root.find(g.focus)
	if at == nil || !g.chance(80) {
		at = root
	}
	start := ""
	if at != root {
		start = g.focus
	}
	paths := at.paths(start, wanted)
	if len(paths) == 0 {
		paths = slices.Concat(root.paths("", wanted), []string{""})
	}
	return pick(g, paths)
}
