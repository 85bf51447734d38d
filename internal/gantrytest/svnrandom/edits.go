package svnrandom

import (
	"strings"

	fixture "gantry/internal/gantrytest/svnfixture"
)

// edit does one thing, or nothing where it is not possible.
func (g *generator) edit() {
	switch g.r.IntN(24) {
	case 0, 1, 2:
		g.put(g.newPath(), g.text())
	case 3:
		g.mkdir(g.newPath())
	case 4, 5, 6, 7:
		if p := g.somewhere(g.root, false); p != "" {
			g.setText(p, g.edited(g.root.find(p).text))
		}
	case 8:
		g.remove(g.somewhere(g.root, g.chance(30)))
	case 9, 10:
		source := g.recent()
		g.copyTo(g.somewhere(g.roots[source], g.chance(60)), source, g.newPath())
	case 11: // in place of something else
		if p := g.somewhere(g.root, g.chance(40)); p != "" {
			g.remove(p)
			if g.chance(50) {
				g.put(p, g.text())
			} else {
				g.mkdir(p)
			}
		}
	case 12: // a copy in place of something else, or of itself as it was
		source := g.recent()
		p := g.somewhere(g.root, g.chance(50))
		from := p
		if g.chance(60) || g.roots[source].find(from) == nil {
			from = g.somewhere(g.roots[source], g.chance(50))
		}
		if p != "" && g.fits(from, source, p) {
			g.remove(p)
			g.copyTo(from, source, p)
		}
	case 13, 14, 15:
		p := g.somewhere(g.root, g.chance(40))
		n := g.root.find(p)
		g.setProps(p, g.changedProps(n.props, n.isDir()))
	case 16:
		if p := g.somewhere(g.root, g.chance(40)); p != "" {
			g.move(p, g.newPath())
		}
	case 17: // text and properties at once
		if p := g.somewhere(g.root, false); p != "" {
			n := g.root.find(p)
			props, text := g.changedProps(n.props, false), g.edited(n.text)
			g.do(p, newFile(text, props), withProps(fixture.Edit(p, text), props))
		}
	case 18: // added, changed or deleted, and perhaps added again
		p := g.newPath()
		g.put(p, g.text())
		g.remove(p)
		if g.chance(50) {
			g.put(p, g.text())
		}
	case 19: // the root itself
		g.setProps("", g.changedProps(g.root.props, true))
	case 20: // two change places
		a, b := g.somewhere(g.root, g.chance(60)), g.somewhere(g.root, g.chance(60))
		if last := int64(len(g.roots) - 1); g.fits(a, last, b) && g.fits(b, last, a) && !isWithin(a, b) && !isWithin(b, a) {
			g.remove(a)
			g.remove(b)
			g.copyTo(a, last, b)
			g.copyTo(b, last, a)
		}
	case 21: // what is below takes the place of what is above
		source := g.recent()
		if p := g.somewhere(g.root, true); p != "" && g.roots[source].find(p) != nil {
			below := g.roots[source].find(p).paths(p, func(at string, _ *node) bool { return at != p })
			if len(below) > 0 {
				g.remove(p)
				g.copyTo(pick(g, below), source, p)
			}
		}
	case 22: // everything as it was, one by one
		source := g.recent()
		for _, name := range g.roots[source].names() {
			if g.chance(50) && g.fits(name, source, name) {
				g.remove(name)
				g.copyTo(name, source, name)
			}
		}
	case 23: // deep down
		p := g.newPath()
		for range g.r.IntN(20) {
			g.mkdir(p)
			p = join(p, "d")
		}
		g.put(p, g.text())
	}
}

// do applies one change. A deletion and an addition at its path may be written as one replacement.
func (g *generator) do(p string, n *node, change fixture.Node) {
	if n != nil && p != "" && g.deleted == p && g.chance(50) {
		g.nodes, change = g.nodes[:len(g.nodes)-1], change.Replacing()
	}
	g.deleted = ""
	if n == nil {
		g.deleted = p
	}
	g.root = g.root.with(p, n)
	g.nodes = append(g.nodes, change)
}

func (g *generator) isDir(p string) bool {
	n := g.root.find(p)
	return n != nil && n.isDir()
}

// newPath is a path at which there is nothing, in a directory that is there.
func (g *generator) newPath() string {
	dir := g.somewhere(g.root, true)
	for {
		if p := join(dir, g.name()); g.root.find(p) == nil {
			return p
		}
	}
}

// free reports whether something may be added at a path.
func (g *generator) free(p string) bool {
	dir := ""
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		dir = p[:i]
	}
	return p != "" && len(p) < maxPath && g.isDir(dir) && g.root.find(p) == nil && g.root.size < maxTree
}

func (g *generator) mkdir(p string) {
	if g.free(p) {
		g.do(p, newDir(map[string]*node{}, nil), fixture.Mkdir(p))
	}
}

// mkdirOver makes a directory, in place of a file if need be.
func (g *generator) mkdirOver(p string) {
	if !g.isDir(p) {
		g.remove(p)
		g.mkdir(p)
	}
}

func (g *generator) put(p, text string) {
	if !g.free(p) {
		return
	}
	change := fixture.Put(p, text)
	var props map[string]string
	if g.chance(20) {
		props = g.changedProps(nil, false)
		change = withProps(change, props)
	}
	g.do(p, newFile(text, props), change)
}

func (g *generator) setText(p, text string) {
	g.do(p, newFile(text, g.root.find(p).props), fixture.Edit(p, text))
}

func (g *generator) setProps(p string, props map[string]string) {
	n := g.root.find(p)
	if n.isDir() {
		g.do(p, newDir(n.entries, props), withProps(fixture.TouchDir(p), props))
	} else {
		g.do(p, newFile(n.text, props), withProps(fixture.Touch(p), props))
	}
}

func (g *generator) remove(p string) {
	if p != "" && g.root.find(p) != nil {
		g.do(p, nil, fixture.Delete(p))
	}
}

// fits reports whether a copy would leave the tree within its bounds.
func (g *generator) fits(from string, revision int64, to string) bool {
	source := g.roots[revision].find(from)
	return source != nil && g.root.size+source.size < maxTree && len(from)+len(to) < maxPath
}

// copyTo copies, and mostly goes on to work in what it copied.
func (g *generator) copyTo(from string, revision int64, to string) {
	if !g.free(to) || !g.fits(from, revision, to) {
		return
	}
	n := g.roots[revision].find(from)
	if n.isDir() {
		g.do(to, n, fixture.CopyDir(from, revision, to))
		if g.chance(70) {
			g.focus = to
		}
		return
	}
	if g.chance(40) {
		text := g.edited(n.text)
		g.do(to, newFile(text, n.props), fixture.CopyFile(from, revision, to).Text(text))
		return
	}
	g.do(to, n, fixture.CopyFile(from, revision, to))
}

// move copies what was there before this revision, if anything was, and deletes it.
func (g *generator) move(from, to string) {
	last := int64(len(g.roots) - 1)
	if g.free(to) && g.fits(from, last, to) && !isWithin(to, from) {
		g.copyTo(from, last, to)
		g.remove(from)
	}
}

// isWithin reports whether a path is a directory or something in it.
func isWithin(p, dir string) bool { return dir == "" || p == dir || strings.HasPrefix(p, dir+"/") }

func withProps(n fixture.Node, props map[string]string) fixture.Node {
	n = n.WithNone()
	for name, value := range props {
		n = n.With(name, value)
	}
	return n
}
