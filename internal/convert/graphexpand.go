package convert

import (
	"gantry/internal/history"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// expansion is what became of a directory and of the standins for files in it.
type expansion struct {
	tree pack.ID // with the files
	rest pack.ID // the standins that are no files
}

// expand makes the tree of a changeset: that of its manifest with files in the place of standins. It depends on nothing but
// that tree and the contents that are there, so that it is the same however the changesets came.
func (c *contents) expand(tree pack.ID, node revlog.Node) (pack.ID, error) {
	if !c.graph.state.Standins {
		return tree, nil
	}
	root, err := openDir(c.graph.store, "", history.Node{Tree: tree})
	if err != nil {
		return pack.Zero, err
	}
	standins, err := root.find(standinName)
	if err != nil || !standins.IsDir() {
		return tree, err
	}
	e := expander{contents: c, changeset: node}
	became, err := e.merge("", tree, standins.ID)
	return became.tree, err
}

const standinName = ".hglf"

// expander expands the standins of one changeset.
type expander struct {
	*contents
	changeset revlog.Node
}

// merge puts the files that standins stand for into the directory that they are for. A file or directory that is there
// already stays, and so does the standin then.
func (e *expander) merge(path string, tree, standins pack.ID) (expansion, error) {
	pair := [2]pack.ID{tree, standins}
	if became, known := e.expanded[pair]; known && path != "" { // in the root the standins themselves are left out
		return became, nil
	}
	d, err := openDir(e.graph.store, path, history.Node{Tree: tree})
	if err != nil {
		return expansion{}, err
	}
	data, err := history.Load(e.graph.store, standins)
	if err != nil {
		return expansion{}, err
	}
	var rest []byte
	for entry, err := range pack.TreeEntries(data) {
		if err != nil {
			return expansion{}, err
		}
		left, err := e.mergeEntry(d, &entry)
		if err != nil {
			return expansion{}, err
		}
		if left != pack.Zero {
			rest = pack.AppendTreeEntry(rest, entry.Mode, entry.Name, left)
		}
	}
	var became expansion
	if became.rest, err = e.graph.store.Put(pack.Tree, rest); err != nil {
		return became, err
	}
	if path == "" {
		d.set(standinName, history.DirEntry(history.Node{Tree: became.rest}))
	}
	if became.tree, err = e.fold.foldTree(d); err != nil || path == "" {
		return became, err
	}
	if len(e.expanded) == maxExpanded {
		clear(e.expanded)
	}
	e.expanded[pair] = became
	return became, nil
}

// mergeEntry puts what one entry stands for into a directory, and returns what stays of the entry, Zero for nothing.
func (e *expander) mergeEntry(d *dir, entry *pack.TreeEntry) (pack.ID, error) {
	name := firstName(string(entry.Name))
	path := d.path + history.OriginName(name)
	old, err := d.find(name)
	if err != nil || d.path == "" && name == standinName { // of which a standin cannot be told from the file
		return entry.ID, err
	}
	if entry.IsDir() {
		if old.Mode != 0 && !old.IsDir() {
			e.taken(path+"/", "")
			return entry.ID, nil
		}
		base := pack.EmptyTree
		if old.IsDir() {
			base = old.ID
		}
		became, err := e.merge(path+"/", base, entry.ID)
		if err != nil {
			return entry.ID, err
		}
		if became.tree != base {
			d.set(name, history.DirEntry(history.Node{Tree: became.tree}))
		}
		if became.rest == pack.EmptyTree {
			return pack.Zero, nil
		}
		return became.rest, nil
	}
	sum, blob, err := e.standsFor(entry)
	switch {
	case err != nil, blob.IsZero():
		return entry.ID, err
	case old.Mode != 0:
		e.taken(path, sum.String())
		return entry.ID, nil
	}
	d.set(name, history.Entry{Mode: entry.Mode, ID: blob})
	return pack.Zero, nil
}

// taken notes that a path has something of its own.
func (e *expander) taken(path, oid string) {
	e.lacks(Absent{Path: path, OID: oid, Changeset: e.changeset, Reason: "something else is at this path, beside the standin"})
}

// standsFor returns the content that an entry stands for, a zero blob for none.
func (e *expander) standsFor(entry *pack.TreeEntry) (sum revlog.Node, blob pack.ID, err error) {
	if entry.Mode != pack.ModeFile && entry.Mode != pack.ModeExec {
		return sum, pack.Zero, nil
	}
	_, size, err := e.graph.store.Stat(entry.ID)
	if err != nil || size > maxStandin {
		return sum, pack.Zero, err
	}
	_, text, err := e.graph.store.Get(entry.ID)
	if err != nil {
		return sum, pack.Zero, err
	}
	sum, ok := parseStandin(text)
	if !ok {
		return sum, pack.Zero, nil
	}
	blob, _, err = e.content(sum)
	return sum, blob, err
}

// firstName is the name of an entry that may be under its second one.
func firstName(name string) string {
	first := history.OriginName(name)
	if second, ok := history.SecondName(first); ok && second == name {
		return first
	}
	return name
}
