package history

import (
	"fmt"
	"strings"
)

// ruleNode is a directory in the tree of all rules.
type ruleNode struct {
	children map[string]*ruleNode
	globs    []globNode
	byGlob   map[string]*ruleNode // those in globs, by their parts
	here     deciding             // the first rule that ends here
	below    deciding             // the first rule, other than to ignore, that ends below
}

type globNode struct {
	glob glob
	*ruleNode
}

// deciding is the first of some rules that is in force, for every revision: each one is in force longer than those before.
type deciding []struct {
	rule  int
	until int64
}

func (d *deciding) add(rule int, until int64) {
	if n := len(*d); n == 0 || (*d)[n-1].until < until {
		*d = append(*d, struct {
			rule  int
			until int64
		}{rule, until})
	}
}

func (d deciding) at(revision int64) int {
	for i := range d {
		if d[i].until >= revision {
			return d[i].rule
		}
	}
	return noRule
}

// add adds a rule that comes after all others, and returns how many nodes it made.
func (n *ruleNode) add(r *rule, order int) (nodes int) {
	for _, g := range r.path {
		if r.kind != ignored {
			n.below.add(order, r.until)
		}
		child, isNew := n.child(g)
		if isNew {
			nodes++
		}
		n = child
	}
	n.here.add(order, r.until)
	return nodes
}

func (n *ruleNode) child(g glob) (child *ruleNode, isNew bool) {
	named, key := &n.children, g[0]
	if len(g) > 1 {
		named, key = &n.byGlob, strings.Join(g, "\x00") // no name has a NUL
	}
	if child = (*named)[key]; child != nil {
		return child, false
	}
	if *named == nil {
		*named = map[string]*ruleNode{}
	}
	child = &ruleNode{}
	(*named)[key] = child
	if len(g) > 1 {
		n.globs = append(n.globs, globNode{g, child})
	}
	return child, true
}

// Bounds of the rules that somebody writes: what they take in memory, and for each path that is looked at.
const (
	maxRuleNames  = 1 << 17
	maxComparable = 1000
)

// checkSize reports rules that would take too much memory or time.
func (r *Rules) checkSize() error {
	root, names := &ruleNode{}, 0
	for i := range r.list {
		if names += root.add(&r.list[i], i); names > maxRuleNames {
			return fmt.Errorf("the paths of all rules have more than %d names; leave some rules out", maxRuleNames)
		}
	}
	if n := root.comparable(); n > maxComparable {
		return fmt.Errorf("there are paths on which rules with %d * together would have to be tried; %d are allowed: put rules together", n, maxComparable)
	}
	return nil
}

// comparable bounds the holes of all globs that a path is compared with.
func (n *ruleNode) comparable() (holes int) {
	for _, child := range n.children {
		holes = max(holes, child.comparable())
	}
	for i := range n.globs {
		holes += len(n.globs[i].glob) - 1 + n.globs[i].comparable()
	}
	return holes
}

// decision is the first rule that says something of a path.
type decision struct {
	rule  int
	end   int  // of the branch root in the path
	above bool // the rule is about what is below the path
}

// decide looks at a path in a revision, from a place in it on.
func (n *ruleNode) decide(p string, at int, revision int64, d *decision) {
	if here := n.here.at(revision); here < d.rule {
		*d = decision{rule: here, end: at}
	}
	if at == len(p) {
		if below := n.below.at(revision); below < d.rule {
			*d = decision{rule: below, above: true}
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
		child.decide(p, end, revision, d)
	}
	for i := range n.globs {
		if n.globs[i].glob.fits(p[start:end]) {
			n.globs[i].decide(p, end, revision, d)
		}
	}
}
