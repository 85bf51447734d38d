package convert

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"gantry/internal/history"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// manifestTrees makes Git trees of manifests, by what each changes in another one.
type manifestTrees struct {
	keyed *keyed
	fold  *folder
	gate  *sync.RWMutex
	tally *tally

	spool *spool
	lanes []*manifestEdits // in the order in which they came: a directory before those in it
	frame []byte
}

// begin makes a place for edits.
func (t *manifestTrees) begin(dir string) (err error) {
	t.lanes = nil
	t.spool, err = newSpool(dir)
	return err
}

func (t *manifestTrees) end() { t.spool.file.Close() }

// lane returns where the next manifests' edits go.
func (t *manifestTrees) lane(dir string) *manifestEdits {
	m := &manifestEdits{dir: dir}
	t.lanes = append(t.lanes, m)
	return m
}

// of returns the tree of a manifest.
func (t *manifestTrees) of(dir string, node revlog.Node) (pack.ID, error) {
	if node.IsNull() {
		return pack.EmptyTree, nil
	}
	_, id, err := t.keyed.Get(key(manifestTree, dir, node))
	if errors.Is(err, pack.ErrMissing) {
		return pack.Zero, corrupt("its manifest %v was never told", node)
	}
	if err != nil {
		return pack.Zero, err
	}
	return pack.ID(id), nil
}

// build makes the trees of all manifests that came, those of inner directories first, and forgets the edits.
func (t *manifestTrees) build(ctx context.Context) error {
	// What is in a directory comes before it, in whichever order they were told.
	slices.SortStableFunc(t.lanes, func(a, b *manifestEdits) int { return strings.Compare(b.dir, a.dir) })
	for _, m := range t.lanes {
		in := bufio.NewReaderSize(m.reader(t.spool), spoolPiece)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			frame, err := t.next(in)
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = t.buildOne(m.dir, frame)
			}
			if err != nil {
				return err
			}
		}
	}
	t.lanes = nil
	return nil
}

func (t *manifestTrees) next(in *bufio.Reader) ([]byte, error) {
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	t.frame = slices.Grow(t.frame[:0], int(size))[:size]
	_, err = io.ReadFull(in, t.frame)
	return t.frame, err
}

// buildOne makes the tree of one manifest.
func (t *manifestTrees) buildOne(dir string, frame []byte) error {
	t.gate.RLock()
	defer t.gate.RUnlock()
	node, against, brought := revlog.Node(frame), revlog.Node(frame[20:]), revlog.Node(frame[40:])
	id, err := t.of(dir, against)
	if err == nil {
		id, err = t.apply(id, dir, parseEdits(frame[60:]))
	}
	if err != nil {
		return fmt.Errorf("changeset %v: manifest %v: %w", brought, node, err)
	}
	return t.keyed.PutKeyed(key(manifestTree, dir, node), pack.Zero, nil, id[:])
}

// lineEdit gives a path, as seen from the directory that is being made, another entry.
type lineEdit struct {
	path string
	node revlog.Node
	flag byte // of a manifest, editFile or editRemoved
}

func parseEdits(p []byte) (edits []lineEdit) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, 0)
		edits = append(edits, lineEdit{string(p[:n]), revlog.Node(p[n+1:]), p[n+21]})
		p = p[n+22:]
	}
	return edits
}

// named is what edits say of one name in a directory.
type named struct {
	name  string
	entry *lineEdit  // the name itself
	below []lineEdit // paths in the directory of this name, as seen from it
}

// group puts edits together by their first names. Those of a directory follow one another, but something may lie between
// a name and what is below it: the order of paths is that of "a", "a-b", "a/c".
func group(edits []lineEdit) []named {
	var groups []named
	for i := 0; i < len(edits); {
		name, rest, deeper := cutPath(edits[i].path)
		if !deeper {
			groups = append(groups, named{name: name, entry: &edits[i]})
			i++
			continue
		}
		start := i
		for deeper {
			edits[i].path = rest
			if i++; i == len(edits) {
				break
			}
			var next string
			next, rest, deeper = cutPath(edits[i].path)
			deeper = deeper && next == name
		}
		groups = append(groups, named{name: name, below: edits[start:i]})
	}
	slices.SortStableFunc(groups, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	merged := groups[:0]
	for _, g := range groups {
		if last := len(merged) - 1; last >= 0 && merged[last].name == g.name {
			merged[last].below = g.below
		} else {
			merged = append(merged, g)
		}
	}
	return merged
}

func cutPath(path string) (name, rest string, deeper bool) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

// apply makes the tree of a directory with edits of the tree before.
func (t *manifestTrees) apply(base pack.ID, path string, edits []lineEdit) (pack.ID, error) {
	if len(edits) == 0 {
		return base, nil
	}
	d, err := openDir(t.fold.store, path, history.Node{Tree: base})
	if err != nil {
		return pack.Zero, err
	}
	for _, edit := range group(edits) {
		name := history.ManifestName(edit.name)
		old, err := d.find(name)
		if err != nil {
			return pack.Zero, err
		}
		e, err := t.entry(path+edit.name, edit, old)
		if err != nil {
			return pack.Zero, err
		}
		if name != edit.name && e.Mode != 0 && old.Mode == 0 {
			t.tally.add(Counts{Renamed: 1})
		}
		d.set(name, e)
	}
	id, err := t.fold.foldTree(d)
	t.tally.add(Counts{Renamed: t.fold.renamed})
	t.fold.renamed = 0
	return id, err
}

// entry returns what a directory has under a name after edits; old is what it had.
func (t *manifestTrees) entry(path string, edit named, old history.Entry) (history.Entry, error) {
	file, dir := old, history.DirEntry(history.EmptyNode)
	if old.IsDir() {
		file, dir = history.Entry{}, old
	}
	if edit.entry != nil {
		if edit.entry.flag == editRemoved || edit.entry.flag&replacesTree != 0 {
			file, dir = history.Entry{}, history.DirEntry(history.EmptyNode)
		}
		var err error
		switch flag := edit.entry.flag &^ replacesTree; flag {
		case editRemoved:
		case revlog.Tree:
			file = history.Entry{}
			dir.ID, err = t.of(path+"/", edit.entry.node)
		default:
			file, err = t.file(path, edit.entry.node, flag)
		}
		if err != nil {
			return file, err
		}
	}
	if len(edit.below) > 0 {
		var err error
		if dir.ID, err = t.apply(dir.ID, path+"/", edit.below); err != nil {
			return file, err
		}
	}
	switch {
	case dir.ID == pack.EmptyTree:
		return file, nil
	case file.Mode != 0:
		return file, corrupt("%q is a file and a directory", path)
	}
	return dir, nil
}

// file returns the entry of a file.
func (t *manifestTrees) file(path string, node revlog.Node, flag byte) (history.Entry, error) {
	f, err := t.keyed.file(path, node)
	if errors.Is(err, pack.ErrMissing) {
		err = corrupt("node %v of %q was never told", node, path)
	}
	e := history.Entry{Mode: pack.ModeFile, ID: f.blob}
	switch {
	case err != nil:
	case flag == revlog.Executable:
		e.Mode = pack.ModeExec
	case flag == revlog.Symlink:
		var isLink bool
		if isLink, err = t.isLink(path, f.blob); isLink {
			e.Mode = pack.ModeLink
		}
	}
	return e, err
}

// isLink reports whether Git can hold a blob as a symbolic link at a path.
func (t *manifestTrees) isLink(path string, blob pack.ID) (bool, error) {
	_, size, err := t.fold.store.Stat(blob)
	if err != nil || size > maxLink {
		return false, err
	}
	_, target, err := t.fold.store.Get(blob)
	return canLink(target, path), err
}
