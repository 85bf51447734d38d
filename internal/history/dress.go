package history

import (
	"path"
	"slices"

	"gantry"
	"gantry/internal/pack"
)

// Files that dressing adds.
const (
	ignoreFile     = ".gitignore"
	attributesFile = ".gitattributes"
	modulesFile    = ".gitmodules"
	keepFile       = ".gitkeep"
)

// maxDressed is how large a versioned file may be that generated lines are put before; a larger one stays as it is.
const maxDressed = 1 << 20

// dresser adds to trees what was asked for. Below a directory without kept properties, and without empty directories, there
// is nothing to add; what was added to others is remembered, so that only what a revision changed is looked at.
type dresser struct {
	store      *pack.Store
	wants      gantry.Dressing
	trees      map[undressed]pack.ID
	attributes map[pack.ID]string // by the blob of a file's kept properties
	modules    modules
}

// undressed is a directory, and the patterns of ignored names that come from above it.
type undressed struct {
	Node
	above string
}

// maxKnown is how many results a dresser remembers of each kind.
const maxKnown = 1 << 16

func newDresser(store *pack.Store, wants gantry.Dressing) dresser {
	return dresser{
		store: store, wants: wants, trees: map[undressed]pack.ID{}, attributes: map[pack.ID]string{},
		modules: modules{below: map[pack.ID][]external{}, listed: map[external]bool{}},
	}
}

// dressed is the tree of a branch's commit.
func (m *mapper) dressed(r *Record, b *life) (pack.ID, error) {
	wants := m.opt.Dress
	if b.path == loose || !wants.Ignores && !wants.Externals && !wants.Attributes && !wants.EmptyDirs {
		return b.node.Tree, nil
	}
	var above string
	if wants.Ignores {
		var err error
		if above, err = m.dress.ignoredAbove(r.Root, b.path); err != nil {
			return pack.Zero, err
		}
	}
	tree, err := m.dress.tree(undressed{b.node, above})
	if err != nil || !wants.Externals {
		return tree, err
	}
	return m.withModules(r, b, tree)
}

// message is what a commit says.
func (m *mapper) message(r *Record, b *life) string {
	message := gitMessage(r.Message)
	if !m.opt.Dress.Trailers {
		return message
	}
	if message != "" {
		message += "\n"
	}
	place := oneLine([]byte(path.Join(m.opt.Base, b.shown())))
	return message + "Subversion: " + place + "@" + revisions{{r.Number, r.Number}}.String() + "\n"
}

// tree dresses a directory.
func (d *dresser) tree(dir undressed) (pack.ID, error) {
	if dir.Side.IsZero() && dir.above == "" {
		return dir.Tree, nil
	}
	if id, ok := d.trees[dir]; ok {
		return id, nil
	}
	id, err := d.rewrite(dir)
	if err != nil {
		return pack.Zero, err
	}
	if len(d.trees) == maxKnown {
		clear(d.trees)
	}
	d.trees[dir] = id
	return id, nil
}

func (d *dresser) rewrite(dir undressed) (pack.ID, error) {
	data, err := Load(d.store, dir.Tree)
	if err != nil {
		return pack.Zero, err
	}
	side, err := Load(d.store, dir.Side)
	if err != nil {
		return pack.Zero, err
	}
	edits := edits{}
	ignores, attributes := dir.above, ""
	dirs := cursor{data}
	for e, err := range pack.TreeEntries(side) {
		if err != nil {
			return pack.Zero, err
		}
		name := string(e.Name[1:])
		switch kind := string(e.Name[:1]); {
		case kind == SideDir:
			err = d.directory(edits, &dirs, name, e.ID)
		case kind == SideFile && name != "":
			var words string
			if words, err = d.attributesOf(e.ID); words != "" {
				attributes += attributesLine(name, words)
			}
		case kind == SideSelf:
			var own string
			own, err = d.ignoredIn(e.ID)
			ignores += own
		}
		if err != nil {
			return pack.Zero, err
		}
	}
	for name, lines := range map[string]string{ignoreFile: ignores, attributesFile: attributes} {
		if err := d.prepend(edits, data, name, lines); err != nil {
			return pack.Zero, err
		}
	}
	return d.apply(edits, dir.Tree, data)
}

// directory dresses a subdirectory that has a side.
func (d *dresser) directory(edits edits, dirs *cursor, name string, side pack.ID) error {
	tree, err := dirs.seek([]byte(name), true)
	if err != nil {
		return err
	}
	child := Node{Tree: tree, Side: side}
	if tree.IsZero() {
		child.Tree = pack.EmptyTree
	}
	if side == pack.EmptyTree {
		child.Side = pack.Zero
	}
	id, err := d.tree(undressed{Node: child})
	if err == nil && id == pack.EmptyTree && d.wants.EmptyDirs {
		id, err = d.placeholder()
	}
	if err == nil && id != child.Tree {
		edits[name] = Entry{Mode: pack.ModeTree, ID: id}
	}
	return err
}

// placeholder is the tree of a directory that is empty at the origin.
func (d *dresser) placeholder() (pack.ID, error) {
	empty, err := d.store.Put(pack.Blob, nil)
	if err != nil {
		return pack.Zero, err
	}
	return d.store.Put(pack.Tree, pack.AppendTreeEntry(nil, pack.ModeFile, keepFile, empty))
}

// edits are the entries of a directory that are new or different.
type edits map[string]Entry

// prepend puts generated lines into a file, before those that are versioned: whoever wrote these knows better.
func (d *dresser) prepend(edits edits, tree []byte, name, lines string) error {
	if lines == "" {
		return nil
	}
	file, err := find(tree, "", name)
	if err != nil {
		return err
	}
	text := []byte(lines)
	switch file.Mode {
	case 0:
		file.Mode = pack.ModeFile
	case pack.ModeFile, pack.ModeExec:
		_, size, err := d.store.Stat(file.ID)
		if err != nil {
			return err
		}
		if size > maxDressed {
			return nil
		}
		_, versioned, err := d.store.Get(file.ID)
		if err != nil {
			return err
		}
		text = append(text, versioned...)
	default: // a directory or a link has the name
		return nil
	}
	if file.ID, err = d.store.Put(pack.Blob, text); err == nil {
		edits[name] = file
	}
	return err
}

// apply writes a directory with edits, its tree being data.
func (d *dresser) apply(edits edits, tree pack.ID, data []byte) (pack.ID, error) {
	if len(edits) == 0 {
		return tree, nil
	}
	var entries []pack.TreeEntry
	for e, err := range pack.TreeEntries(data) {
		if err != nil {
			return pack.Zero, err
		}
		if _, ok := edits[string(e.Name)]; !ok {
			entries = append(entries, e)
		}
	}
	for name, e := range edits {
		entries = append(entries, pack.TreeEntry{Mode: e.Mode, Name: []byte(name), ID: e.ID})
	}
	slices.SortFunc(entries, func(a, b pack.TreeEntry) int { return pack.CompareEntries(a.Name, a.IsDir(), b.Name, b.IsDir()) })
	var out []byte
	for _, e := range entries {
		out = pack.AppendTreeEntry(out, e.Mode, e.Name, e.ID)
	}
	return d.store.Put(pack.Tree, out)
}
