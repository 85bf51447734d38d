package history

import (
	"sort"

	"gantry/internal/pack"
)

// Directory finds entries in the bytes of a directory's tree and side. They are gone through for the first names; for more
// there is an index, or edits of all entries of a great directory would take the square of their number.
type Directory struct {
	tree, side listing
	found      int // how many names were looked for
}

// indexAfter is how many names are found without an index.
const indexAfter = 16

// NewDirectory finds entries in a tree and a side, which may be nil. Nobody may modify them.
func NewDirectory(tree, side []byte) Directory {
	return Directory{tree: listing{data: tree}, side: listing{data: side}}
}

// Find returns what is there under a Git name, a zero Entry for nothing. The name "" is that of a file in place of the
// directory.
func (d *Directory) Find(name string) (Entry, error) {
	if name == "" {
		return d.findInPlace()
	}
	if d.found++; d.found == indexAfter {
		if err := d.tree.index(); err != nil {
			return Entry{}, err
		}
		if err := d.side.index(); err != nil {
			return Entry{}, err
		}
	}
	e, err := d.tree.find("", name)
	if second, ok := SecondName(name); ok && err == nil && e.Mode == 0 {
		e, err = d.tree.find("", second)
	}
	if err != nil || d.side.data == nil {
		return e, err
	}
	kind := SideFile
	if e.Mode == 0 || e.IsDir() {
		kind = SideDir
	}
	s, err := d.side.find(kind, name)
	if err != nil || s.Mode == 0 {
		return e, err
	}
	if e.Mode == 0 {
		e = DirEntry(EmptyNode)
	}
	if s.ID != pack.EmptyTree {
		e.Side = s.ID
	}
	return e, nil
}

func (d *Directory) findInPlace() (Entry, error) {
	e, err := d.side.find(SideText, "")
	if err != nil || e.Mode == 0 {
		return e, err
	}
	props, err := d.side.find(SideFile, "")
	e.Side = props.ID
	return e, err
}

// listing is the bytes of a tree object.
type listing struct {
	data   []byte
	starts []int // of the entries in data, once they are indexed
}

func (l *listing) index() error {
	for rest := l.data; len(rest) > 0; {
		l.starts = append(l.starts, len(l.data)-len(rest))
		var err error
		if _, rest, err = pack.NextEntry(rest); err != nil {
			return err
		}
	}
	return nil
}

// find is the function of that name, with the index when there is one.
func (l *listing) find(prefix, name string) (Entry, error) {
	if l.starts != nil {
		return l.lookUp(prefix + name)
	}
	return find(l.data, prefix, name)
}

// lookUp finds a name by the index. In the tree's order a directory is elsewhere than a file of its name.
func (l *listing) lookUp(name string) (Entry, error) {
	for _, isDir := range []bool{false, true} {
		i, ok := sort.Find(len(l.starts), func(i int) int {
			e, _, _ := pack.NextEntry(l.data[l.starts[i]:]) // index has seen that it is one
			return pack.CompareEntries(name, isDir, e.Name, e.IsDir())
		})
		if ok {
			e, _, err := pack.NextEntry(l.data[l.starts[i]:])
			return Entry{Mode: e.Mode, ID: e.ID}, err
		}
	}
	return Entry{}, nil
}
