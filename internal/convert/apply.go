package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gantry/internal/delta"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// applier turns the edits of revisions into raw trees and records.
type applier struct {
	store *pack.Store
	texts texts
	fold  folder
	roots roots
	last  int64 // newest revision applied
	large int64 // size in bytes above which a file is a large file

	hidden  hidden
	known   map[history.LargeFile]bool
	record  history.Record // of the running revision
	root    *dir
	running Counts
}

// Counts is what was read and how it was checked.
type Counts struct {
	Revisions int64 `json:"revisions"`
	Files     int64 `json:"files"`              // file versions
	Bytes     int64 `json:"bytes"`              // their content
	Verified  int64 `json:"verified"`           // file versions that matched the origin's checksum
	Unchecked int64 `json:"unchecked"`          // file versions that the origin told no checksum of
	Renamed   int64 `json:"renamed"`            // added entries whose names Git cannot hold
	Censored  int64 `json:"censored,omitempty"` // of files, file versions whose content was taken away
	Pointers  int64 `json:"pointers,omitempty"` // of files, those that are pointers to large files kept elsewhere
}

func (c *Counts) add(more Counts) {
	c.Revisions += more.Revisions
	c.Files += more.Files
	c.Bytes += more.Bytes
	c.Verified += more.Verified
	c.Unchecked += more.Unchecked
	c.Renamed += more.Renamed
	c.Censored += more.Censored
	c.Pointers += more.Pointers
}

func newApplier(store *pack.Store, tempDir string, large int64) *applier {
	return &applier{
		store: store,
		texts: texts{store: store, dir: tempDir, git: delta.NewBuilder(nil, 0)},
		fold:  folder{store: store, delta: delta.NewBuilder(nil, 0)},
		roots: newRoots(tempDir),
		large: large,
		known: map[history.LargeFile]bool{},

		hidden: hidden{found: map[string]source{}},
	}
}

// adopt takes in a record that was applied before.
func (a *applier) adopt(r *history.Record) error {
	for _, f := range r.Large {
		a.known[f] = true
	}
	if a.hidden.copies != nil {
		a.hidden.copies.Add(r)
	}
	a.last = r.Number
	return a.roots.add(r.Number, r.Root)
}

// begin starts a revision. One that was begun and not ended is forgotten.
func (a *applier) begin(r *origin.Revision) error {
	if r.Number <= a.last {
		return corrupt("r%d comes after r%d", r.Number, a.last)
	}
	a.record = history.Record{Number: r.Number, Time: r.Time, Message: []byte(r.Message), Props: r.Props}
	if r.HasAuthor {
		a.record.Author = []byte(r.Author)
	}
	a.running = Counts{Revisions: 1}
	var err error
	a.root, err = openDir(a.store, "", a.roots.newest)
	return err
}

// end finishes the revision and returns its record, valid until the next begin.
func (a *applier) end() (*history.Record, error) {
	if err := a.fold.fold(a.root); err != nil {
		return nil, fmt.Errorf("r%d: %w", a.record.Number, err)
	}
	a.running.Renamed += a.fold.renamed
	a.fold.renamed = 0
	a.record.Root = a.root.node
	a.root.list(&a.record, a.root.action == origin.Add)
	return &a.record, a.adopt(&a.record)
}

// change applies one edit.
func (a *applier) change(c *origin.Change) error {
	err := a.apply(c)
	if m, ok := errors.AsType[*missing](err); ok {
		hid, askErr := a.hid(m.path, m.revision)
		switch {
		case askErr != nil:
			err = askErr
		case hid && c.Action == origin.Replace && m.path == c.Path:
			added := *c
			added.Action = origin.Add
			return a.change(&added)
		case hid:
			if !strings.HasPrefix(c.Path+"/", m.path+"/") { // a copy of it
				a.hidden.found[c.Path] = source{c.CopyPath, c.CopyRev}
				a.record.Copies = append(a.record.Copies, history.FileCopy{Path: c.Path, From: c.CopyPath, Rev: c.CopyRev})
			}
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("r%d: %q: %w", a.record.Number, c.Path, err)
	}
	return nil
}

func (a *applier) apply(c *origin.Change) error {
	if c.Path == "" {
		return a.applyRoot(c)
	}
	base := baseName(c.Path)
	if base == "" {
		return corrupt("a path has an empty name in it")
	}
	parent, err := a.open(strings.TrimSuffix(c.Path[:len(c.Path)-len(base)], "/"))
	if err != nil {
		return err
	}
	name := history.GitName(base)
	switch c.Action {
	case origin.Modify:
		return a.modify(parent, name, c)
	case origin.Delete:
		return a.remove(parent, name, c)
	case origin.Replace:
		if err := a.remove(parent, name, c); err != nil {
			return err
		}
	}
	if name != base {
		a.running.Renamed++
	}
	return a.add(parent, name, c)
}

// applyRoot applies an edit of the root itself. It is replaced when the origin is read from below its own root, and the
// directory there is deleted and comes back. In between it may be a file, which is kept for what is copied from it.
func (a *applier) applyRoot(c *origin.Change) (err error) {
	switch {
	case c.Action == origin.Add, c.Action == origin.Delete:
		return corrupt("the root is added or deleted")
	case c.Action == origin.Modify && c.Dir:
		return a.dirProps(a.root, c)
	case c.Action == origin.Modify:
		return a.modify(a.root, "", c)
	case c.Dir:
		if a.root, err = a.newDir(c); err != nil {
			return err
		}
		return a.dirProps(a.root, c)
	}
	if a.root, err = a.newDir(&origin.Change{Dir: true}); err != nil {
		return err
	}
	var source history.Entry
	if c.Copied {
		if source, err = a.source(c); err != nil {
			return err
		}
	}
	return a.setFile(a.root, "", c, source)
}

func (a *applier) modify(parent *dir, name string, c *origin.Change) error {
	old, err := parent.find(name)
	if err != nil {
		return err
	}
	if old.Mode == 0 {
		return &missing{c.Path, a.record.Number, "it is modified"}
	}
	if old.IsDir() != c.Dir {
		return corrupt("it is modified and is of another kind")
	}
	if c.Dir {
		d, err := a.open(c.Path)
		if err != nil {
			return err
		}
		return a.dirProps(d, c)
	}
	return a.setFile(parent, name, c, old)
}

func (a *applier) remove(parent *dir, name string, c *origin.Change) error {
	old, err := parent.find(name)
	if err != nil {
		return err
	}
	if old.Mode == 0 {
		return &missing{c.Path, a.record.Number, "it is deleted"}
	}
	parent.remove(name, c.Path, old)
	return nil
}

func (a *applier) add(parent *dir, name string, c *origin.Change) error {
	old, err := parent.find(name)
	if err != nil {
		return err
	}
	if old.Mode != 0 {
		return corrupt("it is added and exists already")
	}
	if c.Dir {
		d, err := a.newDir(c)
		if err != nil {
			return err
		}
		parent.attach(name, d)
		return a.dirProps(d, c)
	}
	var source history.Entry
	if c.Copied {
		if source, err = a.source(c); err != nil {
			return err
		}
		parent.copyFile(name, history.FileCopy{Path: c.Path, From: c.CopyPath, Rev: c.CopyRev})
	}
	return a.setFile(parent, name, c, source)
}

func (a *applier) setFile(parent *dir, name string, c *origin.Change, old history.Entry) error {
	e, err := a.file(c, old)
	if err == nil {
		parent.set(name, e)
	}
	return err
}

// open returns the directory at a path, which must exist.
func (a *applier) open(path string) (*dir, error) {
	d := a.root
	for rest := path; rest != ""; {
		var base string
		base, rest, _ = strings.Cut(rest, "/")
		name := history.GitName(base)
		child := d.dirs[name]
		if child == nil {
			e, err := d.find(name)
			if err != nil {
				return nil, err
			}
			below := strings.TrimSuffix(path[:len(path)-len(rest)], "/")
			if e.Mode == 0 {
				return nil, &missing{below, a.record.Number, "it is in a directory"}
			}
			if !e.IsDir() {
				return nil, corrupt("%q is no directory", below)
			}
			if child, err = openDir(a.store, below, e.Node()); err != nil {
				return nil, err
			}
			d.attach(name, child)
		}
		d = child
	}
	return d, nil
}

// source finds what a change copies.
func (a *applier) source(c *origin.Change) (history.Entry, error) {
	if c.CopyRev < 0 || c.CopyRev >= a.record.Number {
		return history.Entry{}, corrupt("it is a copy from r%d", c.CopyRev)
	}
	root, err := a.roots.at(c.CopyRev)
	if err != nil {
		return history.Entry{}, err
	}
	e, err := history.Walk(a.store, root, c.CopyPath)
	if c.CopyPath == "" && !c.Dir && err == nil {
		e, err = a.rootFile(root)
	}
	switch {
	case err != nil:
	case e.Mode == 0:
		err = &missing{c.CopyPath, c.CopyRev, "it is a copy"}
	case e.IsDir() != c.Dir:
		err = corrupt("it is a copy of %q as of r%d, which is of another kind", c.CopyPath, c.CopyRev)
	}
	return e, err
}

// rootFile returns the file that the root was.
func (a *applier) rootFile(root history.Node) (history.Entry, error) {
	side, err := history.Load(a.store, root.Side)
	if err != nil {
		return history.Entry{}, err
	}
	return history.Find(nil, side, "")
}

// newDir makes the directory that a change adds: empty, or a copy.
func (a *applier) newDir(c *origin.Change) (*dir, error) {
	base := history.EmptyNode
	if c.Copied {
		source, err := a.source(c)
		if err != nil {
			return nil, err
		}
		base = source.Node()
	}
	d, err := openDir(a.store, c.Path, base)
	if err != nil {
		return nil, err
	}
	d.action = origin.Add
	d.copied, d.copyPath, d.copyRev = c.Copied, c.CopyPath, c.CopyRev
	return d, nil
}

func (a *applier) dirProps(d *dir, c *origin.Change) error {
	d.touched = true
	if len(c.Props) == 0 && !c.FullProps {
		return nil
	}
	if !d.newProps {
		own, err := history.FindOwn(d.side)
		if err != nil {
			return err
		}
		if d.props, err = getProps(a.store, own); err != nil {
			return err
		}
	}
	props := newProps(d.props, c)
	d.newProps = d.newProps || !sameProps(props, d.props)
	d.props = props
	return nil
}

// file returns the entry that a change makes of a file; old is what it was or is a copy of, zero for a new one.
func (a *applier) file(c *origin.Change, old history.Entry) (history.Entry, error) {
	before, err := a.fileProps(old)
	if err != nil {
		return old, err
	}
	after := fileProps{
		kept:       newProps(before.kept, c),
		special:    flag(propSpecial, before.special, c),
		executable: flag(propExecutable, before.executable, c),
	}
	e := old
	switch {
	case c.Text != nil:
		e, err = a.newText(c, old, after)
	case old.Mode == 0:
		e, err = a.emptyText(c, after)
	case before.special != after.special:
		e, err = a.retype(c.Path, old, after)
	case e.Mode != pack.ModeLink:
		e.Mode = after.mode(false)
	}
	if err != nil {
		return old, err
	}
	// A flag that the mode does not show must be known when the content changes.
	kept := after.kept
	if isLink := e.Mode == pack.ModeLink; isLink && after.executable {
		kept = append(kept[:len(kept):len(kept)], origin.Prop{Name: propExecutable, Value: []byte("*")})
	} else if !isLink && after.special {
		kept = append(kept[:len(kept):len(kept)], origin.Prop{Name: propSpecial, Value: []byte("*")})
	}
	e.Side = old.Side
	if !sameProps(kept, before.stored) {
		e.Side, err = putProps(a.store, kept)
	}
	return e, err
}

// newText stores the content that comes with a change.
func (a *applier) newText(c *origin.Change, old history.Entry, props fileProps) (history.Entry, error) {
	t, err := a.texts.read(c, old)
	if err != nil {
		return old, err
	}
	defer t.close()
	// It costs as much to verify a text as to store it. What is stored in vain does no harm.
	outcome := t.verifying(c)
	e, err := a.putText(c, t, old, props)
	checked, refused := outcome()
	if refused != nil || err != nil {
		return old, errors.Join(refused, err)
	}
	a.running.Files++
	a.running.Bytes += t.size
	if checked {
		a.running.Verified++
	} else {
		a.running.Unchecked++
	}
	return e, nil
}

// putText stores a text as the content of a file.
func (a *applier) putText(c *origin.Change, t *text, old history.Entry, props fileProps) (e history.Entry, err error) {
	e.Mode = props.mode(t.isLink(c.Path))
	if e.Mode == pack.ModeLink {
		e.ID, err = a.store.Put(pack.Blob, t.data[len(linkPrefix):])
		return e, err
	}
	if e.ID, err = a.texts.put(t, old); err == nil && t.size > a.large {
		a.found(history.LargeFile{Path: c.Path, OID: e.ID, Size: t.size})
	}
	return e, err
}

func (a *applier) found(f history.LargeFile) {
	if !a.known[f] && !slices.Contains(a.record.Large, f) {
		a.record.Large = append(a.record.Large, f)
	}
}

// emptyText is a new file of which the origin sends no content.
func (a *applier) emptyText(c *origin.Change, props fileProps) (history.Entry, error) {
	t := &text{}
	if _, err := t.verify(c); err != nil {
		return history.Entry{}, err
	}
	id, err := a.store.Put(pack.Blob, nil)
	return history.Entry{Mode: props.mode(false), ID: id}, err
}

// retype stores a file anew that became or ceased to be a symbolic link while its text stayed.
func (a *applier) retype(path string, old history.Entry, props fileProps) (history.Entry, error) {
	e := history.Entry{Mode: props.mode(false), ID: old.ID}
	if old.Mode != pack.ModeLink {
		if _, size, err := a.store.Stat(old.ID); err != nil || size > int64(len(linkPrefix)+maxLink) {
			return e, err
		}
	}
	data, err := a.texts.whole(old)
	if err != nil {
		return e, err
	}
	if t := (&text{data: data, size: int64(len(data))}); props.special && t.isLink(path) {
		e.Mode, data = pack.ModeLink, data[len(linkPrefix):]
	}
	e.ID, err = a.store.Put(pack.Blob, data)
	return e, err
}

// baseName is the last name of a path.
func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", origin.ErrCorrupt, fmt.Sprintf(format, args...))
}
