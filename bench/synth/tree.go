package synth

import (
	"slices"
	"strings"
)

// tree is all paths of a line, sorted, directories included. It is never changed: edits make a new one.
type tree []entry

type entry struct {
	path string
	file *File // nil: a directory
}

func (t tree) find(path string) (int, bool) {
	return slices.BinarySearchFunc(t, path, func(e entry, path string) int { return strings.Compare(e.path, path) })
}

func (t tree) has(path string) bool {
	_, ok := t.find(path)
	return ok
}

// file returns what is at path, nil when that is a directory or nothing.
func (t tree) file(path string) *File {
	if i, ok := t.find(path); ok {
		return t[i].file
	}
	return nil
}

// files returns the entries that are files and that choose accepts.
func (t tree) files(choose func(entry) bool) []entry {
	var found []entry
	for _, e := range t {
		if e.file != nil && choose(e) {
			found = append(found, e)
		}
	}
	return found
}

// directories returns the paths of all directories.
func (t tree) directories() []string {
	var found []string
	for _, e := range t {
		if e.file == nil {
			found = append(found, e.path)
		}
	}
	return found
}

// below reports whether path is dir or something in it.
func below(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// edit is the change that puts f in the place of the file at e.
func edit(e entry, f *File) Change { return Change{Action: Edit, Path: e.path, File: f, Was: e.file} }

// apply returns the tree after the changes.
func (t tree) apply(changes []Change) tree {
	t = slices.Clone(t)
	for _, c := range changes {
		switch c.Action {
		case Add:
			i, _ := t.find(c.Path)
			t = slices.Insert(t, i, entry{c.Path, c.File})
		case Edit:
			i, _ := t.find(c.Path)
			t[i].file = c.File
		case Remove:
			t = slices.DeleteFunc(t, func(e entry) bool { return below(e.path, c.Path) })
		case Move:
			for i, e := range t {
				if below(e.path, c.From) {
					t[i].path = c.Path + e.path[len(c.From):]
				}
			}
			slices.SortFunc(t, func(a, b entry) int { return strings.Compare(a.path, b.path) })
		}
	}
	return t
}

// merge returns the changes that bring into ours what happened between base and theirs. Where both sides did something
// to the same thing, ours stays.
func merge(base, ours, theirs tree) []Change {
	var changes []Change
	for _, e := range theirs {
		i, known := base.find(e.path)
		switch mine, here := ours.find(e.path); {
		case !here && !known && parentIn(ours, changes, e.path):
			changes = append(changes, Change{Action: Add, Path: e.path, File: e.file})
		case here && known && e.file != nil && base[i].file != nil && e.file != base[i].file && ours[mine].file != nil:
			if merged := mergeFiles(base[i].file, ours[mine].file, e.file); merged.Kind != ours[mine].file.Kind || !merged.SameContent(ours[mine].file) {
				changes = append(changes, edit(ours[mine], merged))
			}
		}
	}
	for _, e := range base {
		if e.file != nil && !theirs.has(e.path) && ours.file(e.path) == e.file {
			changes = append(changes, Change{Action: Remove, Path: e.path})
		}
	}
	return changes
}

// parentIn reports whether the directory of path is in t or among the additions.
func parentIn(t tree, added []Change, path string) bool {
	dir := parent(path)
	return dir == "" || t.has(dir) ||
		slices.ContainsFunc(added, func(c Change) bool { return c.Action == Add && c.Path == dir && c.File == nil })
}

func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// mergeFiles merges block by block.
func mergeFiles(base, ours, theirs *File) *File {
	switch {
	case ours == base:
		return theirs
	case ours.Kind == Binary || ours.Kind == Link:
		return ours
	}
	was, now, mine := byNumber(base), byNumber(theirs), byNumber(ours)
	merged := &File{Kind: ours.Kind}
	for _, b := range ours.blocks {
		if was[b.number] == b { // untouched here
			b = now[b.number]
		}
		if b != nil {
			merged.blocks = append(merged.blocks, b)
		}
	}
	// What they added goes behind the block that it follows there.
	after := 0
	for _, b := range theirs.blocks {
		if was[b.number] == nil && mine[b.number] == nil {
			at := slices.IndexFunc(merged.blocks, func(m *block) bool { return m.number == after }) + 1
			merged.blocks = slices.Insert(merged.blocks, at, b)
		}
		after = b.number
	}
	return merged
}

func byNumber(f *File) map[int]*block {
	m := make(map[int]*block, len(f.blocks))
	for _, b := range f.blocks {
		m[b.number] = b
	}
	return m
}
