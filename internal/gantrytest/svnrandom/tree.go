package svnrandom

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// node is a directory or a file. Nodes are never changed, so that revisions and copies share them.
type node struct {
	entries map[string]*node // nil: a file
	props   map[string]string
	text    string
	size    int // nodes in it, itself included
}

func newDir(entries map[string]*node, props map[string]string) *node {
	n := &node{entries: entries, props: props, size: 1}
	for _, child := range entries {
		n.size += child.size
	}
	return n
}

func newFile(text string, props map[string]string) *node {
	return &node{text: text, props: props, size: 1}
}

func (n *node) isDir() bool { return n.entries != nil }

// names are the names in a directory, in order.
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.entries)) }

// find returns what is at a path, nil for nothing.
func (n *node) find(p string) *node {
	for name := range strings.SplitSeq(p, "/") {
		if p == "" || n == nil {
			break
		}
		n = n.entries[name]
	}
	return n
}

// with returns the tree with something else at a path, nil for nothing.
func (n *node) with(p string, child *node) *node {
	if p == "" {
		return child
	}
	name, rest, _ := strings.Cut(p, "/")
	if rest != "" {
		child = n.entries[name].with(rest, child)
	}
	entries := maps.Clone(n.entries)
	if child == nil {
		delete(entries, name)
	} else {
		entries[name] = child
	}
	return newDir(entries, n.props)
}

// paths lists everything below a path for which a test holds, the path itself included.
func (n *node) paths(at string, test func(p string, n *node) bool) []string {
	var found []string
	if test(at, n) {
		found = append(found, at)
	}
	for _, name := range n.names() {
		found = append(found, n.entries[name].paths(path.Join(at, name), test)...)
	}
	return found
}
