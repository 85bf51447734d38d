package history

import (
	"maps"
	"path"
	"slices"

	"gantry/internal/pack"
)

// picking collects what a revision merged into a branch, or into something below it, without making it a merge.
type picking struct {
	*mapper
	merging
	branch   *life
	revision int64
	found    map[string]revisions // by the path that they come from; in any order
}

// picked lists the revisions that were merged, and are not among the ancestors of the branch now.
func (m *mapper) picked(r *Record, b *life, merge merging, commit pack.ID) error {
	p := &picking{m, merge, b, r.Number, map[string]revisions{}}
	for _, a := range merge.added {
		if err := p.add(a); err != nil {
			return err
		}
	}
	if merge.before != (Node{}) {
		if err := p.below(merge.before, b.node); err != nil {
			return err
		}
	}
	for _, from := range slices.Sorted(maps.Keys(p.found)) {
		if len(m.merges.picks) == MaxFindings || m.merges.picked >= MaxPicked {
			break
		}
		pick := CherryPick{
			Commit: commit, Path: b.path, Revision: r.Number, Source: from, Revisions: p.found[from].normal().String(),
		}
		m.merges.picks, m.merges.picked = append(m.merges.picks, pick), m.merges.picked+len(pick.Revisions)
	}
	return nil
}

// add takes note of what is left of an addition: commits that are in neither by a merge nor as what a merged branch had
// picked itself. Of a path outside of all branches it is the revisions as they are named.
func (p *picking) add(a addition) error {
	from, ok := cutDir(a.path, p.opt.Base)
	if !ok {
		from = "/" + a.path
	} else if at := p.layout.at(from, p.revision); at.in && (!at.outside || len(p.lives[at.root]) > 0) {
		from = at.root
	} else {
		ok = false
	}
	if !ok {
		p.take(from, a.revisions.minus(revisions{{p.revision, endless}}))
		return nil
	}
	left := a.revisions
	for _, s := range p.sources {
		state, _ := s.branch.merged.state(p.commits.at(s.commit()).revision)
		info, err := p.mergeinfo(state.props)
		if err != nil {
			return err
		}
		left = left.minus(info.of(a.path))
	}
	for _, other := range p.lives[from] {
		if !left.meets(span{other.from, other.to}) {
			continue
		}
		had := p.has(p.branch, len(p.branch.own), other)
		for _, s := range left.minus(revisions{{p.revision, endless}}) {
			for _, c := range p.within(other, had, s) {
				revision := p.commits.at(c).revision
				p.take(from, revisions{{revision, revision}})
			}
		}
	}
	return nil
}

// take adds to what is found. The same revisions come again for each path below a branch: they are joined before they
// take more memory.
func (p *picking) take(from string, more revisions) {
	found := p.found[from]
	if len(found)+len(more) > cap(found) {
		found = found.normal()
	}
	p.found[from] = append(found, more...)
}

// below goes through the changes of kept properties below a directory. What was not there before came by a copy, with the
// mergeinfo of its source.
func (p *picking) below(old, now Node) error {
	var data [4][]byte
	for i, id := range []pack.ID{old.Side, old.Tree, now.Side, now.Tree} {
		var err error
		if data[i], err = Load(p.store, id); err != nil {
			return err
		}
	}
	oldSides, oldDirs, oldFiles, dirs := cursor{data[0]}, cursor{data[1]}, cursor{data[1]}, cursor{data[3]}
	for e, err := range pack.TreeEntries(data[2]) {
		if err != nil {
			return err
		}
		was, err := oldSides.seek(e.Name, e.IsDir())
		if err == nil && was == e.ID {
			continue
		}
		if err == nil {
			switch kind, name := string(e.Name[:1]), e.Name[1:]; kind {
			case SideDir:
				err = p.directory(&oldDirs, &dirs, name, was, e.ID)
			case SideFile:
				err = p.file(&oldFiles, name, was, e.ID)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *picking) directory(oldDirs, dirs *cursor, name []byte, was, is pack.ID) error {
	before, err := oldDirs.seek(name, true)
	if err != nil || before.IsZero() && was.IsZero() {
		return err
	}
	now, err := dirs.seek(name, true)
	if err != nil {
		return err
	}
	old, new := Node{Tree: before, Side: was}, Node{Tree: now, Side: is}
	oldProps, err := ownProps(p.store, old)
	if err != nil {
		return err
	}
	newProps, err := ownProps(p.store, new)
	if err != nil {
		return err
	}
	if err := p.props(oldProps, newProps); err != nil {
		return err
	}
	return p.below(old, new)
}

func (p *picking) file(oldFiles *cursor, name []byte, was, is pack.ID) error {
	before, err := oldFiles.seek(name, false)
	if err != nil || before.IsZero() {
		return err
	}
	return p.props(was, is)
}

// props takes note of what one change of properties adds to mergeinfo, and the branch's root does not have.
func (p *picking) props(was, is pack.ID) error {
	if was == is {
		return nil
	}
	older, err := p.mergeinfo(was)
	if err != nil {
		return err
	}
	newer, err := p.mergeinfo(is)
	if err != nil {
		return err
	}
	added, malformed := newer.since(older)
	p.merges.malformed += malformed
	for _, a := range added {
		if from, ok := cutDir(a.path, p.opt.Base); ok {
			if at := p.layout.at(from, p.revision); at.in {
				a.revisions = a.revisions.minus(p.info.of(path.Join(p.opt.Base, at.root)))
			}
		}
		if err := p.add(a); err != nil {
			return err
		}
	}
	return nil
}

// cursor goes through the bytes of a tree.
type cursor struct{ data []byte }

// seek moves forward to a name and returns its id, Zero when it is not there. Names must be asked for in the tree's order.
func (c *cursor) seek(name []byte, isDir bool) (pack.ID, error) {
	for len(c.data) > 0 {
		e, rest, err := pack.NextEntry(c.data)
		if err != nil {
			return pack.Zero, err
		}
		order := pack.CompareEntries(e.Name, e.IsDir(), name, isDir)
		if order > 0 {
			break
		}
		c.data = rest
		if order == 0 {
			return e.ID, nil
		}
	}
	return pack.Zero, nil
}
