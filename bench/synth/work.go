package synth

import (
	"path"
	"slices"
)

// firstFiles are the tree that the project begins with.
func (s *story) firstFiles() []Change {
	var changes []Change
	add := func(p string, f *File) { changes = append(changes, Change{Action: Add, Path: p, File: f}) }
	add("README", s.source(Plain, 2))
	add("configure", s.source(Executable, 4))
	for _, dir := range []string{"core", "docs", "net", "tools", "ui"} {
		add(dir, nil)
		for n := range 10 {
			add(path.Join(dir, s.fileName(n)), s.source(Plain, 12+s.small(120)))
		}
	}
	add("tools/build.sh", s.source(Executable, 6))
	add("tools/logo.png", s.binary())
	add("tools/configure", s.link("../configure"))
	return changes
}

func (s *story) fileName(n int) string {
	return s.word() + "_" + s.word() + []string{".c", ".c", ".h", ".py", ".txt"}[n%5]
}

// work is what somebody does to a tree between two commits; never nothing.
func (s *story) work(t tree) []Change {
	var changes []Change
	switch dice := s.IntN(1000); {
	case dice < 70:
		changes = s.addFile(t)
	case dice < 76:
		changes = s.addDirectory(t)
	case dice < 92:
		changes = s.removeFile(t)
	case dice < 116:
		changes = s.moveFile(t)
	case dice < 119:
		changes = s.moveDirectory(t)
	case dice < 130:
		changes = s.replaceBinary(t)
	case dice < 136:
		changes = s.toggleExecutable(t)
	case dice < 139:
		changes = s.addLink(t)
	}
	if len(changes) > 0 {
		return changes
	}
	return s.editSome(t)
}

// editSome edits some files. A file that has become too long is split.
func (s *story) editSome(t tree) []Change {
	sources := t.files(isSource)
	var changes []Change
	for range 1 + s.small(4) {
		e := sources[s.small(len(sources))]
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Path == e.path }) {
			continue
		}
		if len(e.file.blocks) > maxBlocks {
			return s.splitFile(t, e)
		}
		changes = append(changes, edit(e, s.edit(e.file)))
	}
	return changes
}

func isSource(e entry) bool { return e.file.Kind == Plain || e.file.Kind == Executable }

func (s *story) splitFile(t tree, e entry) []Change {
	first, second := s.split(e.file)
	changes := []Change{edit(e, first)}
	if p := s.freePath(t, parent(e.path)); p != "" {
		changes = append(changes, Change{Action: Add, Path: p, File: second})
	}
	return changes
}

// freePath is a new path in dir, "" when the first idea is taken.
func (s *story) freePath(t tree, dir string) string {
	p := path.Join(dir, s.fileName(s.IntN(5)))
	if t.has(p) {
		return ""
	}
	return p
}

func (s *story) addFile(t tree) []Change {
	if p := s.freePath(t, s.one(t.directories())); p != "" {
		return []Change{{Action: Add, Path: p, File: s.source(Plain, 6+s.small(80))}}
	}
	return nil
}

func (s *story) addDirectory(t tree) []Change {
	dir := path.Join(s.one(t.directories()), s.word())
	if t.has(dir) || len(dir) > 60 {
		return nil
	}
	changes := []Change{{Action: Add, Path: dir}}
	for _, name := range []string{"api.c", "api.h", "notes on it.txt"} {
		if s.IntN(4) > 0 { // now and then it stays empty for a while
			changes = append(changes, Change{Action: Add, Path: path.Join(dir, name), File: s.source(Plain, 2+s.small(12))})
		}
	}
	return changes
}

func (s *story) removeFile(t tree) []Change {
	sources := t.files(isSource)
	if len(sources) < 40 {
		return nil
	}
	return []Change{{Action: Remove, Path: sources[s.IntN(len(sources))].path}}
}

// moveFile renames a file, and edits it half of the times.
func (s *story) moveFile(t tree) []Change {
	sources := t.files(isSource)
	e := sources[s.IntN(len(sources))]
	p := s.freePath(t, s.one(t.directories()))
	if p == "" {
		return nil
	}
	changes := []Change{{Action: Move, From: e.path, Path: p}}
	if s.IntN(2) == 0 {
		changes = append(changes, edit(entry{p, e.file}, s.edit(e.file)))
	}
	return changes
}

func (s *story) moveDirectory(t tree) []Change {
	from := s.one(t.directories())
	to := path.Join(parent(from), s.word()+"2")
	if t.has(to) {
		return nil
	}
	return []Change{{Action: Move, From: from, Path: to, Dir: true}}
}

func (s *story) replaceBinary(t tree) []Change {
	binaries := t.files(func(e entry) bool { return e.file.Kind == Binary })
	if len(binaries) == 0 || s.IntN(4) == 0 {
		p := path.Join(s.one(t.directories()), s.word()+".png")
		if t.has(p) {
			return nil
		}
		return []Change{{Action: Add, Path: p, File: s.binary()}}
	}
	e := binaries[s.IntN(len(binaries))]
	return []Change{edit(e, s.edit(e.file))}
}

func (s *story) toggleExecutable(t tree) []Change {
	sources := t.files(isSource)
	e := sources[s.IntN(len(sources))]
	kind := Executable
	if e.file.Kind == Executable {
		kind = Plain
	}
	return []Change{edit(e, &File{kind, e.file.blocks})}
}

func (s *story) addLink(t tree) []Change {
	sources := t.files(isSource)
	e := sources[s.IntN(len(sources))]
	p := path.Join(parent(e.path), "current-"+path.Base(e.path))
	if t.has(p) {
		return nil
	}
	return []Change{{Action: Add, Path: p, File: s.link(path.Base(e.path))}}
}
