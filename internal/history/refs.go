package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gantry/internal/pack"
)

// Where refs are made.
const (
	heads    = "refs/heads/"
	tags     = "refs/tags/"
	archived = "refs/archive/"
)

// finish makes the refs: of living branches and tags first, then of what would be lost with the dead.
func (m *mapper) finish() (*Mapping, error) {
	f := &finisher{mapper: m, names: newRefNames(), newest: none, owners: make([]int32, m.commits.len()), refOf: map[*life]string{}, result: &Mapping{
		Commits: int64(m.commits.len()), Unmapped: m.unmapped, Layout: m.layout.rules.String(), Sources: m.chosen,
		Merges: m.merges.found, CherryPicks: m.merges.picks, Malformed: m.merges.malformed, Externals: m.dress.modules.left,
	}}
	for _, b := range m.below("") {
		if err := f.living(b); err != nil {
			return nil, err
		}
	}
	for _, b := range m.dead() {
		if err := f.dead(b); err != nil {
			return nil, err
		}
	}
	if f.result.Head == "" {
		f.result.Head = heads + cleanRefName(f.opt.DefaultBranch) // nothing lives
	}
	for _, held := range m.large {
		file := HeldFile{LargeFile: held.LargeFile}
		if held.commit != none && f.owners[held.commit] > 0 {
			file.Ref = f.result.Refs[f.owners[held.commit]-1].Name
		}
		f.result.Large = append(f.result.Large, file)
	}
	f.outsideRefs()
	slices.SortFunc(f.result.Refs, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(f.result.Tips, func(a, b Tip) int { return cmp.Compare(a.Ref, b.Ref) })
	return f.result, nil
}

// dead returns the lives that have ended, in the order of their ends.
func (m *mapper) dead() []*life {
	var dead []*life
	for _, lives := range m.lives {
		for _, b := range lives {
			if b.from <= b.to && b.to != endless && b.tip() != none {
				dead = append(dead, b)
			}
		}
	}
	slices.SortFunc(dead, func(a, b *life) int { return cmp.Or(cmp.Compare(a.to, b.to), inOrder(a, b)) })
	return dead
}

type finisher struct {
	*mapper
	names  *refNames
	result *Mapping
	owners []int32 // by commit: 1 + the place of the first ref that reaches it, 0 for none
	refOf  map[*life]string
	newest index // tip of the branch that HEAD names so far; nothing is newer than trunk
}

func (f *finisher) living(b *life) error {
	if b.tip() == none {
		return nil
	}
	if b.kind == tag {
		f.result.Tags++
		return f.tag(f.claim(tags, b), b)
	}
	f.result.Branches++
	ref := f.claim(heads, b)
	switch {
	case b.kind == trunk && f.newest != math.MaxInt32:
		f.result.Head, f.newest = ref, math.MaxInt32
	case b.tip() > f.newest && (!b.outside || f.result.Head == ""):
		f.result.Head, f.newest = ref, b.tip()
	}
	return f.point(ref, b, pack.Zero)
}

// claim takes a ref for a branch or tag by its own name.
func (f *finisher) claim(prefix string, b *life) string {
	name := cmp.Or(f.layout.name(b.path, b.rule), f.opt.DefaultBranch)
	ref := f.names.claim(prefix, name)
	if ref != prefix+name && b.path != loose {
		f.result.Renames = append(f.result.Renames, Rename{Path: b.path, Ref: ref})
	}
	return ref
}

// tag points a ref at what a tag holds: by an annotated tag, made by who made the copy, when nobody changed the copy.
func (f *finisher) tag(ref string, b *life) error {
	if len(b.own) > 0 {
		return f.point(ref, b, pack.Zero)
	}
	commit, err := f.commits.id(b.tip())
	if err != nil {
		return err
	}
	name := ref[strings.Index(ref, "/")+1:]
	name = name[strings.Index(name, "/")+1:]
	id, err := f.store.Put(pack.Tag, encodeTag(&f.buf, commit, name, b.by, b.message))
	if err != nil {
		return fmt.Errorf("history: tag %s: %w", ref, err)
	}
	return f.point(ref, b, id)
}

// dead keeps what ended at the origin below refs/archive: branches unless their last commit is reachable anyway, as
// after a rename, and tags. It is named by its path and the last revision that had it, as Subversion would find it.
func (f *finisher) dead(b *life) error {
	untouchedTag := b.kind == tag && len(b.own) == 0
	if f.owners[b.tip()] > 0 && !untouchedTag {
		return nil
	}
	name := cmp.Or(relative(b.path, f.layout.base), "root")
	if b.path == loose {
		name = looseName
	}
	f.result.Archived++
	return f.tag(f.names.claim(archived, fmt.Sprintf("%s@%d", name, b.to)), b)
}

// point makes a ref to the newest commit of a branch, or to a tag of it, and the owner of all commits that no ref before it
// reaches.
func (f *finisher) point(ref string, b *life, tag pack.ID) error {
	tip, err := f.commits.made(b.tip())
	if err != nil {
		return err
	}
	to := tag
	if tag.IsZero() {
		to = tip.id
	}
	f.refOf[b] = ref
	f.result.Refs = append(f.result.Refs, Ref{Name: ref, ID: to})
	f.result.Tips = append(f.result.Tips, Tip{Ref: ref, Commit: tip.id, Tree: tip.tree, Node: b.node})
	f.own(b.tip(), int32(len(f.result.Refs)))
	return nil
}

// own gives a commit, and all before it that have none yet, an owner.
func (f *finisher) own(tip index, owner int32) {
	next := []index{tip}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		for ; i != none && f.owners[i] == 0; i = f.commits.at(i).parent {
			f.owners[i] = owner
			next = append(next, f.further[i]...)
		}
	}
}
