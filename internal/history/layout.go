package history

import (
	"math"
	"slices"
	"strings"
)

// layout tells of each path which branch it lies in. Its rules may change at some revisions.
type layout struct {
	rules *Rules
	scope string // what is outside of all branches is kept from here on down
	base  string // of names: where the trunk is
	eras  []era  // in their order; the last one never ends
}

// era is what is in force up to a revision.
type era struct {
	until int64
	root  *ruleNode
}

// ruleNode is a directory in the tree of all rules.
type ruleNode struct {
	children map[string]*ruleNode
	globs    []globNode
	here     int // the first rule that ends here
	below    int // the first rule, other than to ignore, that ends below
}

type globNode struct {
	glob glob
	*ruleNode
}

const noRule = math.MaxInt

// loose is where files above all branches are, in place of a path: no path begins with a slash.
const loose = "/loose"

// LoosePath is what is told to others in its place.
const LoosePath = "(outside)"

// location is where a path lies.
type location struct {
	root string // of the branch, when in; loose for a directory above branches
	rest string // of the path, below root
	kind kind
	in   bool // in a branch, be it one that no rule made
	rule int  // noRule for what lies outside

	above   bool // branches may lie below
	outside bool // no rule made this branch
}

func newLayout(rules *Rules, scope string) *layout {
	l := &layout{rules: rules, scope: scope}
	ends := []int64{endless}
	for i := range rules.list {
		ends = append(ends, rules.list[i].until)
	}
	slices.Sort(ends)
	for _, until := range slices.Compact(ends) {
		e := era{until: until, root: newRuleNode()}
		for i := range rules.list {
			if r := &rules.list[i]; r.until >= until {
				e.root.add(r, i)
			}
		}
		l.eras = append(l.eras, e)
	}
	for i := range rules.list {
		if r := &rules.list[i]; r.kind == trunk && r.until == endless && r.path.holes() == 0 {
			l.base, _ = split(r.path.fill(nil))
			break
		}
	}
	return l
}

func newRuleNode() *ruleNode { return &ruleNode{here: noRule, below: noRule} }

func (n *ruleNode) add(r *rule, order int) {
	for _, g := range r.path {
		if r.kind != ignored {
			n.below = min(n.below, order)
		}
		n = n.child(g)
	}
	n.here = min(n.here, order)
}

func (n *ruleNode) child(g glob) *ruleNode {
	if len(g) > 1 {
		for _, child := range n.globs {
			if slices.Equal(child.glob, g) {
				return child.ruleNode
			}
		}
		child := newRuleNode()
		n.globs = append(n.globs, globNode{g, child})
		return child
	}
	if n.children == nil {
		n.children = map[string]*ruleNode{}
	}
	child := n.children[g[0]]
	if child == nil {
		child = newRuleNode()
		n.children[g[0]] = child
	}
	return child
}

// decision is the first rule that says something of a path.
type decision struct {
	rule  int
	end   int  // of the branch root in the path
	above bool // the rule is about what is below the path
}

// decide looks at a path from a place in it on.
func (n *ruleNode) decide(p string, at int, d *decision) {
	if n.here < d.rule {
		*d = decision{rule: n.here, end: at}
	}
	if at == len(p) {
		if n.below < d.rule {
			*d = decision{rule: n.below, above: true}
		}
		return
	}
	start := at
	if at > 0 {
		start++
	}
	end := len(p)
	if i := strings.IndexByte(p[start:], '/'); i >= 0 {
		end = start + i
	}
	if child := n.children[p[start:end]]; child != nil {
		child.decide(p, end, d)
	}
	for i := range n.globs {
		if n.globs[i].glob.fits(p[start:end]) {
			n.globs[i].decide(p, end, d)
		}
	}
}

// eraAt returns the place in eras of the one that a revision lies in.
func (l *layout) eraAt(revision int64) int {
	n := 0
	for l.eras[n].until < revision {
		n++
	}
	return n
}

func (l *layout) decide(p string, revision int64) decision {
	d := decision{rule: noRule}
	l.eras[l.eraAt(revision)].root.decide(p, 0, &d)
	return d
}

// at tells where a path lies in a revision.
func (l *layout) at(p string, revision int64) location {
	d := l.decide(p, revision)
	switch {
	case d.above:
		at := location{above: true, rule: noRule}
		if isBelow(p, l.scope) {
			at.root, at.rest = loose, p
		}
		return at
	case d.rule == noRule:
		return l.outside(p, revision)
	}
	r := &l.rules.list[d.rule]
	switch {
	case r.kind == ignored:
		return location{rule: d.rule}
	case d.end < len(p) && l.decide(p[:d.end], revision).above:
		return l.outside(p, revision) // beside what an earlier rule takes for branches
	}
	return location{root: p[:d.end], rest: strings.TrimPrefix(p[d.end:], "/"), kind: r.kind, in: true, rule: d.rule}
}

// outside finds the branch of what no rule is about: the highest directory that no branches lie below.
func (l *layout) outside(p string, revision int64) location {
	below, ok := cutDir(p, l.scope)
	if !ok {
		return location{rule: noRule, above: isBelow(l.scope, p)}
	}
	root := l.scope
	for below != "" && l.decide(root, revision).above {
		var name string
		name, below, _ = strings.Cut(below, "/")
		root = joined(root, name)
	}
	return location{root: root, rest: below, kind: branch, in: true, outside: true, rule: noRule}
}

// name is what the ref of a branch is called, "" for the default branch.
func (l *layout) name(root string, rule int) string {
	switch {
	case root == loose:
		return looseName
	case rule == noRule:
		return relative(root, l.base)
	}
	return l.rules.list[rule].name(root, l.base)
}

// looseName is the name of the branch of files above all others.
const looseName = "outside"

// cutDir returns the part of a path below a directory, "" for the directory itself.
func cutDir(p, dir string) (below string, ok bool) {
	switch {
	case dir == "":
		return p, true
	case p == dir:
		return "", true
	}
	return strings.CutPrefix(p, dir+"/")
}

func isBelow(p, dir string) bool {
	_, ok := cutDir(p, dir)
	return ok
}

// split cuts the last name off a path.
func split(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p
	}
	return p[:i], p[i+1:]
}
