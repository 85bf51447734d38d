package history

import (
	"math"
	"slices"
	"strings"
)

// layout tells of each path which branch it lies in. Its rules may change at some revisions.
type layout struct {
	rules *Rules
	scope string  // what is outside of all branches is kept from here on down
	base  string  // of names: where the trunk is
	ends  []int64 // the last revisions of the times in which the same rules are in force, in order; the last is endless
	root  *ruleNode
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
	l := &layout{rules: rules, scope: scope, ends: []int64{endless}, root: &ruleNode{}}
	for i := range rules.list {
		l.ends = append(l.ends, rules.list[i].until)
		l.root.add(&rules.list[i], i)
	}
	slices.Sort(l.ends)
	l.ends = slices.Compact(l.ends)
	for i := range rules.list {
		if r := &rules.list[i]; r.kind == trunk && r.until == endless && r.path.holes() == 0 {
			l.base, _ = split(r.path.fill(nil))
			break
		}
	}
	return l
}

// eraAt numbers the times in which the same rules are in force.
func (l *layout) eraAt(revision int64) int {
	n, _ := slices.BinarySearch(l.ends, revision)
	return n
}

func (l *layout) decide(p string, revision int64) decision {
	d := decision{rule: noRule}
	l.root.decide(p, 0, revision, &d)
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
