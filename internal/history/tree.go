package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gantry/internal/origin"
	"gantry/internal/pack"
)

// Node is a directory of the raw tree: what Git can hold of it, and beside it the rest.
//
// Tree is a Git tree whose every subtree is a clean one as well: there are no empty directories in it, so that the
// subtree of a branch is exactly the tree of its commit. Names are those of GitName or, where that must not be, of
// SecondName. A directory that holds nothing for
// Git is pack.EmptyTree.
//
// Side is a Git tree with what Git cannot hold, Zero when there is nothing. Its entries are
//
//	"d" + name  tree: the side of a subdirectory, pack.EmptyTree when that has none and is itself missing in Tree
//	"f" + name  blob: kept properties of a file
//	"p"         blob: kept properties of the directory itself
//	"t"         a file in place of the directory, with its mode; "f" without a name has the file's kept properties
//
// The last is in the root alone: where a part of a repository is read, what is read may have been a file for a time. It
// has no other name than "".
type Node struct {
	Tree pack.ID
	Side pack.ID
}

// EmptyNode is a directory with nothing in it.
var EmptyNode = Node{Tree: pack.EmptyTree}

// Entry is what a directory holds under a name. For a directory, ID and Side are those of its Node.
type Entry struct {
	Mode uint32
	ID   pack.ID
	Side pack.ID // of a file: the blob of its kept properties
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode == pack.ModeTree }

// Node is the directory that the entry holds.
func (e Entry) Node() Node { return Node{Tree: e.ID, Side: e.Side} }

// DirEntry is the entry of a directory.
func DirEntry(n Node) Entry { return Entry{Mode: pack.ModeTree, ID: n.Tree, Side: n.Side} }

// Names of entries of a side tree.
const (
	SideDir  = "d"
	SideFile = "f"
	SideSelf = "p"
	SideText = "t"
)

// Load returns the bytes of a tree, nil for none.
func Load(store *pack.Store, id pack.ID) ([]byte, error) {
	if id.IsZero() || id == pack.EmptyTree {
		return nil, nil
	}
	kind, data, err := store.Get(id)
	if err != nil {
		return nil, fmt.Errorf("history: tree %s: %w", id, err)
	}
	if kind != pack.Tree {
		return nil, fmt.Errorf("history: object %s is a %s instead of a tree", id, kind)
	}
	return data, nil
}

// Find returns what the bytes of a directory's tree and side hold under a Git name, a zero Entry for nothing. The name ""
// is that of a file in place of the directory.
func Find(tree, side []byte, name string) (Entry, error) {
	d := NewDirectory(tree, side)
	return d.Find(name)
}

// FindOwn returns the blob of a directory's own kept properties, Zero for none, by the bytes of its side.
func FindOwn(side []byte) (pack.ID, error) {
	e, err := find(side, SideSelf, "")
	return e.ID, err
}

// find returns the entry whose name is prefix and name together.
func find(tree []byte, prefix, name string) (Entry, error) {
	for len(tree) > 0 {
		e, rest, err := pack.NextEntry(tree)
		if err != nil {
			return Entry{}, err
		}
		if len(e.Name) == len(prefix)+len(name) && string(e.Name[len(prefix):]) == name && string(e.Name[:len(prefix)]) == prefix {
			return Entry{Mode: e.Mode, ID: e.ID}, nil
		}
		tree = rest
	}
	return Entry{}, nil
}

// Walk returns what is at a path of the origin below a directory, a zero Entry for nothing.
func Walk(store *pack.Store, root Node, path string) (Entry, error) {
	e := DirEntry(root)
	for path != "" {
		if !e.IsDir() {
			return Entry{}, nil
		}
		var name string
		name, path, _ = strings.Cut(path, "/")
		tree, err := Load(store, e.ID)
		if err != nil {
			return Entry{}, err
		}
		side, err := Load(store, e.Side)
		if err != nil {
			return Entry{}, err
		}
		if e, err = Find(tree, side, GitName(name)); err != nil || e.Mode == 0 {
			return Entry{}, err
		}
	}
	return e, nil
}

// Children returns what a directory holds, by the names at the origin.
func Children(store *pack.Store, dir Node) (map[string]Entry, error) {
	children := map[string]Entry{}
	tree, err := Load(store, dir.Tree)
	if err != nil {
		return nil, err
	}
	for e, err := range pack.TreeEntries(tree) {
		if err != nil {
			return nil, err
		}
		children[OriginName(string(e.Name))] = Entry{Mode: e.Mode, ID: e.ID}
	}
	side, err := Load(store, dir.Side)
	if err != nil {
		return nil, err
	}
	for e, err := range pack.TreeEntries(side) {
		if err != nil {
			return nil, err
		}
		kind, name := string(e.Name[:1]), OriginName(string(e.Name[1:]))
		child, there := children[name]
		switch {
		case name == "":
			continue
		case kind == SideDir && !there:
			child = DirEntry(EmptyNode)
		}
		if e.ID != pack.EmptyTree {
			child.Side = e.ID
		}
		children[name] = child
	}
	return children, nil
}

// EmptyDirectories counts directories that Git does not hold because no file is in them.
type EmptyDirectories struct {
	store *pack.Store
	known map[Node]int64
}

// NewEmptyDirectories counts in the directories of a store.
func NewEmptyDirectories(store *pack.Store) *EmptyDirectories {
	return &EmptyDirectories{store, map[Node]int64{}}
}

// Below counts those below a directory. What branches have in common is looked at once.
func (c *EmptyDirectories) Below(dir Node) (count int64, err error) {
	if dir.Side.IsZero() {
		return 0, nil
	}
	if count, ok := c.known[dir]; ok {
		return count, nil
	}
	side, err := Load(c.store, dir.Side)
	if err != nil {
		return 0, err
	}
	tree, err := Load(c.store, dir.Tree)
	if err != nil {
		return 0, err
	}
	in := NewDirectory(tree, side)
	for e, err := range pack.TreeEntries(side) {
		if err != nil {
			return 0, err
		}
		name, ok := strings.CutPrefix(string(e.Name), SideDir)
		if !ok {
			continue
		}
		child, err := in.Find(name)
		if err != nil {
			return 0, err
		}
		if child.ID == pack.EmptyTree {
			count++
		}
		below, err := c.Below(child.Node())
		if err != nil {
			return 0, err
		}
		count += below
	}
	c.known[dir] = count
	return count, nil
}

// subdirectories lists the directories in a directory by their names at the origin, in order; none when it is none.
func subdirectories(store *pack.Store, dir Entry) ([]string, error) {
	if !dir.IsDir() {
		return nil, nil
	}
	var names []string
	for _, part := range []struct {
		tree   pack.ID
		prefix string
	}{{dir.ID, ""}, {dir.Side, SideDir}} {
		data, err := Load(store, part.tree)
		if err != nil {
			return nil, err
		}
		for e, err := range pack.TreeEntries(data) {
			if err != nil {
				return nil, err
			}
			if name, ok := strings.CutPrefix(string(e.Name), part.prefix); ok && e.IsDir() {
				names = append(names, OriginName(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// EncodeProps writes kept properties as a blob: names and values with their lengths, sorted by name.
func EncodeProps(props []origin.Prop) []byte {
	slices.SortFunc(props, func(a, b origin.Prop) int { return strings.Compare(a.Name, b.Name) })
	var data []byte
	for _, p := range props {
		data = appendBytes(data, []byte(p.Name))
		data = appendBytes(data, p.Value)
	}
	return data
}

// DecodeProps reads what EncodeProps wrote.
func DecodeProps(data []byte) ([]origin.Prop, error) {
	var props []origin.Prop
	d := decoder{data: data}
	for len(d.data) > 0 && d.err == nil {
		props = append(props, origin.Prop{Name: string(d.bytes()), Value: bytes.Clone(d.bytes())})
	}
	if d.err != nil {
		return nil, fmt.Errorf("history: kept properties: %w", d.err)
	}
	return props, nil
}

// decoder takes fields off a record, each within what is left of it. After an error it yields zero values.
type decoder struct {
	data []byte
	err  error
}

var errCutShort = errors.New("a field is cut short")

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.data, d.err = nil, errCutShort
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.data, d.err = nil, errCutShort
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.data, d.err = nil, errCutShort
		return nil
	}
	taken := d.data[:n:n]
	d.data = d.data[n:]
	return taken
}

func (d *decoder) bytes() []byte { return d.take(d.uint()) }

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) id() (id pack.ID) {
	copy(id[:], d.take(uint64(len(id))))
	return id
}

// count reads the number of elements that follow, each of which takes at least size bytes.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.data)/size) {
		d.data, d.err = nil, errCutShort
		return 0
	}
	return int(n)
}

func appendBytes(data, field []byte) []byte {
	return append(binary.AppendUvarint(data, uint64(len(field))), field...)
}
