package history

import (
	"maps"
	"slices"

	"gantry/internal/pack"
)

// looseFiles brings the branch of files above all others up to date.
func (m *mapper) looseFiles(r *Record) error {
	if !m.stirred {
		return nil
	}
	m.stirred = false
	top, err := Walk(m.store, r.Root, m.layout.scope)
	if err != nil {
		return err
	}
	tree := pack.EmptyTree
	if top.IsDir() {
		if tree, err = m.looseTree(top.ID, m.layout.scope, r.Number); err != nil {
			return err
		}
	}
	b := m.alive[loose]
	switch {
	case b == nil && tree == pack.EmptyTree:
		return nil
	case b == nil:
		b = m.begin(r, location{root: loose, kind: branch, outside: true, rule: noRule})
		m.comeFrom(b, m.source(m.layout.scope, r.Number-1, false))
	case tree == b.node.Tree:
		return nil
	case tree == pack.EmptyTree:
		m.mapped = true
		m.end(b, r.Number)
		return nil
	}
	m.mapped = true
	b.node = Node{Tree: tree}
	m.touch(b)
	return nil
}

// looseTree is a directory above branches with nothing but the files that are in no branch.
func (m *mapper) looseTree(id pack.ID, dir string, revision int64) (pack.ID, error) {
	if !m.layout.at(dir, revision).above {
		return pack.EmptyTree, nil
	}
	data, err := Load(m.store, id)
	if err != nil {
		return pack.EmptyTree, err
	}
	var kept []byte
	for e, err := range pack.TreeEntries(data) {
		if err != nil {
			return pack.EmptyTree, err
		}
		if e.IsDir() {
			if e.ID, err = m.looseTree(e.ID, joined(dir, OriginName(string(e.Name))), revision); err != nil {
				return pack.EmptyTree, err
			}
			if e.ID == pack.EmptyTree {
				continue
			}
		} else {
			m.looseDirs[dir] = true
		}
		kept = pack.AppendTreeEntry(kept, e.Mode, string(e.Name), e.ID)
	}
	if len(kept) == 0 {
		return pack.EmptyTree, nil
	}
	return m.store.Put(pack.Tree, kept)
}

// rootsBelow lists the branches at and below a directory of a tree, in order.
func (m *mapper) rootsBelow(tree Node, dir string, revision int64) ([]string, error) {
	at := m.layout.at(dir, revision)
	if at.in && at.rest == "" {
		return []string{dir}, nil
	}
	if !at.above {
		return nil, nil
	}
	e, err := Walk(m.store, tree, dir)
	if err != nil {
		return nil, err
	}
	names, err := subdirectories(m.store, e)
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, name := range names {
		below, err := m.rootsBelow(tree, joined(dir, name), revision)
		if err != nil {
			return nil, err
		}
		roots = append(roots, below...)
	}
	return roots, nil
}

// turn brings other rules into force when a revision is the first of an era: it is as if all that was there had been
// copied to where it is.
func (m *mapper) turn(r *Record) error {
	now := m.layout.eraAt(r.Number)
	if now == m.era {
		return nil
	}
	m.era, m.stirred = now, true
	for _, b := range m.below("") {
		if at := m.layout.at(b.path, r.Number); b.path != loose && (!at.in || at.root != b.path) {
			m.end(b, r.Number)
		}
	}
	roots, err := m.rootsBelow(m.root, "", r.Number)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if m.alive[root] == nil {
			if err := m.appear(r, m.root, root, root, r.Number-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined is path.Join of a clean path and a name, of whatever bytes.
func joined(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// outsideRefs collects where what lay outside of all branches went.
func (f *finisher) outsideRefs() {
	refs := map[string]string{}
	for root, lives := range f.lives {
		for _, b := range lives {
			switch ref := f.refOf[b]; {
			case !b.outside || b.tip() == none:
			case root != loose:
				refs[root] = ref
			default:
				for dir := range f.looseDirs {
					refs[dir+"/"] = ref
				}
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(refs)) {
		f.result.Outside = append(f.result.Outside, Outside{Path: p, Ref: refs[p]})
	}
}
