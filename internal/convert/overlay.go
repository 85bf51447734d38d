package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gantry/internal/delta"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// dir is a directory that the running revision looks into: what it was, and the edits so far. Only directories on the
// way to an edit are opened; of the others their ids are all that is needed.
type dir struct {
	path   string        // at the origin
	action origin.Action // Modify, or Add for one that the revision made
	base   history.Node  // what the edits apply to: the directory before, or what it is a copy of
	tree   []byte        // of base
	side   []byte
	before history.Directory // finds what is in them

	copied   bool
	copyPath string
	copyRev  int64

	dirs  map[string]*dir             // opened subdirectories by Git name; they count, whatever edits say
	edits map[string]history.Entry    // of other entries by Git name; a zero Entry is removed
	files map[string]history.FileCopy // that are copies, by Git name
	gone  map[string]string           // subdirectories that were there before and are deleted: Git names to paths
	props []origin.Prop               // kept properties of the directory itself, when newProps
	node  history.Node                // the outcome, after fold

	newProps bool
	newFiles bool // a file directly in it was added, changed or removed
	touched  bool // something was told of the directory itself
}

// openDir loads a directory.
func openDir(store *pack.Store, path string, base history.Node) (*dir, error) {
	tree, err := history.Load(store, base.Tree)
	if err != nil {
		return nil, err
	}
	side, err := history.Load(store, base.Side)
	if err != nil {
		return nil, err
	}
	return &dir{path: path, base: base, tree: tree, side: side, before: history.NewDirectory(tree, side)}, nil
}

// find returns what the directory holds under a Git name as of now, a zero Entry for nothing. Of an opened subdirectory
// the ids are those before its edits.
func (d *dir) find(name string) (history.Entry, error) {
	if child := d.dirs[name]; child != nil {
		return history.DirEntry(child.base), nil
	}
	if e, ok := d.edits[name]; ok {
		return e, nil
	}
	return d.before.Find(name)
}

// set puts a file under a name.
func (d *dir) set(name string, e history.Entry) {
	if d.edits == nil {
		d.edits = map[string]history.Entry{}
	}
	d.edits[name] = e
	d.newFiles = d.newFiles || e.Mode != 0 && !e.IsDir()
}

// attach puts an opened directory under a name.
func (d *dir) attach(name string, child *dir) {
	if d.dirs == nil {
		d.dirs = map[string]*dir{}
	}
	d.dirs[name] = child
}

// remove takes away what is under a name: e, as find returned it.
func (d *dir) remove(name, path string, e history.Entry) {
	child := d.dirs[name]
	delete(d.dirs, name)
	delete(d.files, name)
	if e.IsDir() && (child == nil || child.action == origin.Modify) {
		if d.gone == nil {
			d.gone = map[string]string{}
		}
		d.gone[name] = path
	}
	d.set(name, history.Entry{})
	d.newFiles = d.newFiles || !e.IsDir()
}

// copyFile notes that the file of a name is a copy.
func (d *dir) copyFile(name string, c history.FileCopy) {
	if d.files == nil {
		d.files = map[string]history.FileCopy{}
	}
	d.files[name] = c
}

// folder writes the trees of a revision.
type folder struct {
	store *pack.Store
	delta *delta.Builder
	out   []byte
	edits []treeEdit

	renamed int64 // entries under second names, since somebody last looked
}

// treeEdit gives an entry of a tree another value; without a mode it is removed.
type treeEdit struct {
	name string
	mode uint32
	id   pack.ID
}

func (e *treeEdit) isDir() bool { return e.mode == pack.ModeTree }

// fold writes a directory with all its edits, those below it first, and sets its node.
func (f *folder) fold(d *dir) error {
	for _, name := range slices.Sorted(maps.Keys(d.dirs)) {
		child := d.dirs[name]
		if err := f.fold(child); err != nil {
			return err
		}
		if child.action == origin.Modify && child.node == child.base {
			continue
		}
		d.set(name, history.DirEntry(child.node))
	}
	d.node = d.base
	if len(d.edits) == 0 && !d.newProps {
		return nil
	}
	var err error
	if d.node.Tree, err = f.foldTree(d); err != nil {
		return fmt.Errorf("tree of %q: %w", d.path, err)
	}
	if d.node.Side, err = f.foldSide(d); err != nil {
		return fmt.Errorf("side tree of %q: %w", d.path, err)
	}
	return nil
}

func (f *folder) foldTree(d *dir) (pack.ID, error) {
	f.edits = f.edits[:0]
	seconds := map[string]bool{} // which may be there already
	for name, e := range d.edits {
		if name == "" {
			continue // it is in the side
		}
		edit := treeEdit{name: name, mode: e.Mode, id: e.ID}
		if e.IsDir() && e.ID == pack.EmptyTree {
			edit.mode = 0
		}
		if second, ok := history.SecondName(name); ok {
			seconds[second] = true
			needed, err := history.NeedsSecondName(f.store, name, e)
			if err != nil {
				return pack.Zero, err
			}
			if needed && edit.mode != 0 {
				edit.name = second
				f.renamed++
			}
		}
		f.edits = append(f.edits, edit)
	}
	return f.merge(d.base.Tree, d.tree, func(name []byte) bool {
		_, ok := d.edits[string(name)]
		return ok || seconds[string(name)]
	})
}

func (f *folder) foldSide(d *dir) (pack.ID, error) {
	edits := map[string]treeEdit{}
	set := func(e treeEdit) {
		if e.mode != 0 || len(d.side) > 0 {
			edits[e.name] = e
		}
	}
	for name, e := range d.edits {
		asDir, asFile := treeEdit{name: history.SideDir + name}, treeEdit{name: history.SideFile + name}
		switch {
		case e.IsDir() && !e.Side.IsZero():
			asDir.mode, asDir.id = pack.ModeTree, e.Side
		case e.IsDir() && e.ID == pack.EmptyTree:
			asDir.mode, asDir.id = pack.ModeTree, pack.EmptyTree
		case !e.IsDir() && !e.Side.IsZero():
			asFile.mode, asFile.id = pack.ModeFile, e.Side
		}
		if name == "" {
			asDir = treeEdit{name: history.SideText, mode: e.Mode, id: e.ID}
		}
		set(asDir)
		set(asFile)
	}
	if d.newProps {
		own, err := putProps(f.store, d.props)
		if err != nil {
			return pack.Zero, err
		}
		edit := treeEdit{name: history.SideSelf, id: own}
		if !own.IsZero() {
			edit.mode = pack.ModeFile
		}
		set(edit)
	}
	if len(edits) == 0 {
		return d.base.Side, nil
	}
	f.edits = slices.AppendSeq(f.edits[:0], maps.Values(edits))
	id, err := f.merge(d.base.Side, d.side, func(name []byte) bool { _, ok := edits[string(name)]; return ok })
	if id == pack.EmptyTree {
		id = pack.Zero
	}
	return id, err
}

// merge writes a tree with f.edits applied. The delta against the tree before comes from the edits themselves.
func (f *folder) merge(baseID pack.ID, base []byte, edited func(name []byte) bool) (pack.ID, error) {
	added := slices.DeleteFunc(f.edits, func(e treeEdit) bool { return e.mode == 0 })
	slices.SortFunc(added, func(a, b treeEdit) int { return pack.CompareEntries(a.name, a.isDir(), b.name, b.isDir()) })
	f.delta.Reset(int64(len(base)))
	f.out = f.out[:0]

	kept := 0 // where the run of unchanged entries begins
	keep := func(end int) {
		f.out = append(f.out, base[kept:end]...)
		f.delta.Copy(int64(kept), int64(end-kept))
		kept = end
	}
	add := func(e *treeEdit) {
		start := len(f.out)
		f.out = pack.AppendTreeEntry(f.out, e.mode, e.name, e.id)
		f.delta.Insert(f.out[start:])
	}
	for at := 0; at < len(base); {
		e, rest, err := pack.NextEntry(base[at:])
		if err != nil {
			return pack.Zero, err
		}
		for len(added) > 0 && pack.CompareEntries(added[0].name, added[0].isDir(), e.Name, e.IsDir()) < 0 {
			keep(at)
			add(&added[0])
			added = added[1:]
		}
		end := len(base) - len(rest)
		if edited(e.Name) {
			keep(at)
			kept = end
		}
		at = end
	}
	keep(len(base))
	for i := range added {
		add(&added[i])
	}
	if len(base) == 0 {
		return f.store.Put(pack.Tree, f.out)
	}
	return f.store.PutDelta(pack.Tree, baseID, f.delta.Finish(), f.out)
}

// list adds to a record what the revision did to a directory and to those in it, in the order of a walk.
func (d *dir) list(r *history.Record, replaced bool) {
	change := history.DirChange{
		Path: d.path, Action: d.action, Node: d.node, SameFiles: !d.newFiles,
		Copied: d.copied, CopyPath: d.copyPath, CopyRev: d.copyRev,
	}
	if replaced {
		change.Action = origin.Replace
	}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		r.Copies = append(r.Copies, d.files[name])
	}
	before := len(r.Dirs)
	r.Dirs = append(r.Dirs, change)
	names := slices.Collect(maps.Keys(d.dirs))
	for name := range d.gone {
		if d.dirs[name] == nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(history.OriginName(a), history.OriginName(b)) })
	for _, name := range names {
		path, gone := d.gone[name]
		if child := d.dirs[name]; child != nil {
			child.list(r, gone)
		} else {
			r.Dirs = append(r.Dirs, history.DirChange{Path: path, Action: origin.Delete})
		}
	}
	if len(r.Dirs) == before+1 && d.action == origin.Modify && d.node == d.base { // nothing happened that counts
		r.Dirs = r.Dirs[:before]
		if d.touched || d.newFiles {
			r.Unchanged = append(r.Unchanged, d.path)
		}
	}
}
