package pack

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
)

// TreeEntry is one entry of a tree object.
type TreeEntry struct {
	Mode uint32
	Name []byte // part of the tree's bytes
	ID   ID
}

// IsDir reports whether the entry is a directory.
func (e *TreeEntry) IsDir() bool { return e.Mode == ModeTree }

// NextEntry splits the first entry off a tree's bytes; len(data)-len(rest) is what it takes. Data must not be empty.
func NextEntry(data []byte) (e TreeEntry, rest []byte, err error) {
	const maxMode = 7 // octal digits
	i := 0
	for ; i < len(data) && i < maxMode && data[i] >= '0' && data[i] <= '7'; i++ {
		e.Mode = e.Mode<<3 | uint32(data[i]-'0')
	}
	if i == 0 || i == len(data) || data[i] != ' ' {
		return TreeEntry{}, nil, fmt.Errorf("%w: a tree entry has no valid mode", ErrCorrupt)
	}
	data = data[i+1:]
	end := bytes.IndexByte(data, 0)
	if end <= 0 {
		return TreeEntry{}, nil, fmt.Errorf("%w: a tree entry has no name", ErrCorrupt)
	}
	e.Name = data[:end:end]
	data = data[end+1:]
	if len(data) < len(e.ID) {
		return TreeEntry{}, nil, fmt.Errorf("%w: tree entry %q is cut short", ErrCorrupt, e.Name)
	}
	e.ID = ID(data)
	return e, data[len(e.ID):], nil
}

// TreeEntries goes through a tree's entries. It ends after the first error.
func TreeEntries(data []byte) iter.Seq2[TreeEntry, error] {
	return func(yield func(TreeEntry, error) bool) {
		for len(data) > 0 {
			e, rest, err := NextEntry(data)
			if !yield(e, err) || err != nil {
				return
			}
			data = rest
		}
	}
}

// Name is what the name of an entry may be given as.
type Name interface{ ~string | ~[]byte }

// AppendTreeEntry appends an entry's bytes to a tree's.
func AppendTreeEntry[N Name](dst []byte, mode uint32, name N, id ID) []byte {
	dst = strconv.AppendUint(dst, uint64(mode), 8)
	dst = append(dst, ' ')
	dst = append(dst, name...)
	dst = append(dst, 0)
	return append(dst, id[:]...)
}

// CompareEntries orders entries the way Git sorts a tree: by bytes, a directory as if its name ended in a slash.
func CompareEntries[A, B Name](a A, aDir bool, b B, bDir bool) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return endByte(a, n, aDir) - endByte(b, n, bDir)
}

// endByte is the byte at i of a name as it is sorted: after its end comes the slash of a directory, then nothing.
func endByte[N Name](name N, i int, dir bool) int {
	switch {
	case i < len(name):
		return int(name[i])
	case dir:
		return '/'
	}
	return 0
}
