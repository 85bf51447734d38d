package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// show finds out what is shown: the heads, and the bookmarks, with all their ancestors.
func (g *grapher) show() error {
	for _, n := range g.opt.Heads {
		i := g.byNode[n]
		if i == none {
			return fmt.Errorf("history: %w: head %s is not in it", ErrCorrupt, n)
		}
		g.changesets[i].shown = true
	}
	for _, n := range g.opt.Bookmarks {
		if i := g.byNode[n]; i != none {
			g.changesets[i].shown = true
		}
	}
	for i := range slices.Backward(g.changesets) {
		for _, p := range g.changesets[i].parents {
			if p != none && g.changesets[i].shown {
				g.changesets[p].shown = true
			}
		}
	}
	return nil
}

// findHeads finds the heads of all branches, and returns those of the whole graph, in order.
func (g *grapher) findHeads() (tops []index) {
	hasChild := make([]bool, len(g.changesets))
	hasKin := make([]bool, len(g.changesets)) // a child on the same branch
	for _, c := range g.changesets {
		for _, p := range c.parents {
			if p != none && c.shown {
				hasChild[p] = true
				hasKin[p] = hasKin[p] || g.changesets[p].branch == c.branch
			}
		}
	}
	for i, c := range g.changesets {
		if !c.shown || hasKin[i] {
			continue
		}
		b := &g.branches[c.branch]
		b.heads = append(b.heads, index(i))
		if !hasChild[i] {
			tops = append(tops, index(i))
		}
	}
	var contested []int32
	for b := range g.branches {
		if len(g.branches[b].heads) > 1 {
			contested = append(contested, int32(b))
		}
	}
	for several := range slices.Chunk(contested, 64) {
		g.sift(several)
	}
	return tops
}

// sift drops those heads of at most 64 branches that have a descendant on their branch by way of another one.
func (g *grapher) sift(branches []int32) {
	bits := make(map[int32]uint64, len(branches))
	for n, b := range branches {
		bits[b] = 1 << n
	}
	below := make([]uint64, len(g.changesets)) // on which of the branches there are descendants
	for i, c := range slices.Backward(g.changesets) {
		if !c.shown {
			continue
		}
		for _, p := range c.parents {
			if p != none {
				below[p] |= below[i] | bits[c.branch]
			}
		}
	}
	for _, b := range branches {
		g.branches[b].heads = slices.DeleteFunc(g.branches[b].heads, func(i index) bool { return below[i]&bits[b] != 0 })
	}
}

// finish makes the refs. What comes first has the first choice of names: the branch default, the other branches in the
// order of their first changesets, bookmarks by name, further heads of branches, and beside them tags and closed heads.
func (g *grapher) finish() (*Mapping, error) {
	f := &graphRefs{grapher: g, names: newRefNames(), at: map[string]pack.ID{}, pointed: map[pack.ID]bool{}}
	tops := g.findHeads()
	f.chooseTips()
	for _, step := range []func() error{f.namedBranches, f.bookmarks, f.furtherHeads, f.closedHeads} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := f.tags(tops); err != nil {
		return nil, err
	}
	for _, held := range g.large {
		file := HeldFile{LargeFile: held.LargeFile}
		if owner := g.changesets[held.commit].owner; owner > 0 {
			file.Ref = g.result.Refs[owner-1].Name
		}
		g.result.Large = append(g.result.Large, file)
	}
	slices.SortFunc(g.result.Refs, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(g.result.Tips, func(a, b Tip) int { return cmp.Compare(a.Ref, b.Ref) })
	return g.result, f.listSubrepos()
}

// graphRefs gives refs to what has a name, and to every head.
type graphRefs struct {
	*grapher
	names   *refNames
	tips    []index            // by branch, the head that has its name; none for a branch that is closed
	at      map[string]pack.ID // branches that are made
	pointed map[pack.ID]bool   // commits that a branch leads to
}

// chooseTips picks the newest open head of each branch. Where all of all branches are closed one is shown nevertheless.
func (f *graphRefs) chooseTips() {
	f.tips = make([]index, len(f.branches))
	newest, last := none, none
	for b := range f.branches {
		f.tips[b] = none
		for _, i := range f.branches[b].heads {
			if last = max(last, i); !f.changesets[i].closes {
				f.tips[b] = i
			}
		}
		newest = max(newest, f.tips[b])
	}
	if newest != none || last == none {
		return
	}
	b := f.changesets[last].branch
	if main, ok := f.branchOf[revlog.DefaultBranch]; ok && len(f.branches[main].heads) > 0 {
		b = main
	}
	f.tips[b] = f.branches[b].heads[len(f.branches[b].heads)-1]
}

// namedBranches makes the refs of branches that are open, and finds out which of them HEAD names: default, or else the
// one that was changed last.
func (f *graphRefs) namedBranches() error {
	order := make([]int32, 0, len(f.branches))
	for b := range f.branches {
		order = append(order, int32(b))
	}
	main, ok := f.branchOf[revlog.DefaultBranch]
	if ok {
		order = slices.Insert(slices.Delete(order, int(main), int(main)+1), 0, main)
	}
	newest := none
	for _, b := range order {
		tip := f.tips[b]
		if tip == none {
			continue
		}
		ref := f.claim(heads, "branch", f.branches[b].name, f.shownName(b))
		if err := f.branch(ref, tip); err != nil {
			return err
		}
		if newest == none || tip > newest && !(ok && f.tips[main] != none) {
			f.result.Head, newest = ref, tip
		}
	}
	if newest == none {
		f.result.Head = heads + cleanRefName(f.opt.DefaultBranch)
	}
	return nil
}

// shownName is what a branch is called in Git as far as that can be.
func (f *graphRefs) shownName(branch int32) string {
	if name := f.branches[branch].name; name != revlog.DefaultBranch {
		return name
	}
	return f.opt.DefaultBranch
}

// bookmarks makes branches of bookmarks, unless there is one of the name at the same commit.
func (f *graphRefs) bookmarks() error {
	for _, name := range slices.Sorted(maps.Keys(f.opt.Bookmarks)) {
		i := f.byNode[f.opt.Bookmarks[name]]
		if i == none {
			f.leaveOut("bookmark", name, "the origin does not show the changeset that it names")
			continue
		}
		if f.at[heads+name] == f.changesets[i].id {
			continue
		}
		if err := f.branch(f.claim(heads, "bookmark", name, name), i); err != nil {
			return err
		}
	}
	return nil
}

// furtherHeads makes branches of open heads that have no name.
func (f *graphRefs) furtherHeads() error {
	for b := range f.branches {
		for _, i := range f.branches[b].heads {
			if f.changesets[i].closes || f.pointed[f.changesets[i].id] {
				continue
			}
			if err := f.branch(f.names.claim(heads, f.headName(f.shownName(int32(b)), i)), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// closedHeads keeps the closed ones.
func (f *graphRefs) closedHeads() error {
	for b := range f.branches {
		for _, i := range f.branches[b].heads {
			if !f.changesets[i].closes || f.tips[b] == i {
				continue
			}
			f.result.Archived++
			if err := f.point(f.names.claim(archived, f.headName(f.branches[b].name, i)), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// headName names one head of a branch.
func (f *graphRefs) headName(branch string, i index) string {
	return branch + "@" + f.changesets[i].node.String()[:shortNode]
}

// shortNode is how many digits of a node Mercurial shows.
const shortNode = 12

// claim takes a ref for something that has a name of its own at the origin.
func (f *graphRefs) claim(prefix, kind, name, shown string) string {
	ref := f.names.claim(prefix, shown)
	if ref != prefix+shown {
		f.result.Renames = append(f.result.Renames, Rename{Path: kind + " " + name, Ref: ref})
	}
	return ref
}

func (f *graphRefs) leaveOut(kind, name, reason string) {
	f.result.Renames = append(f.result.Renames, Rename{Path: kind + " " + name, Reason: reason})
}

func (f *graphRefs) branch(ref string, i index) error {
	f.result.Branches++
	f.at[ref] = f.changesets[i].id
	f.pointed[f.changesets[i].id] = true
	return f.point(ref, i)
}

// point makes a ref, and the owner of all commits that no ref before it reaches.
func (f *graphRefs) point(ref string, i index) error {
	id := f.changesets[i].id
	tree, err := f.treeOf(id)
	if err != nil {
		return err
	}
	f.result.Refs = append(f.result.Refs, Ref{Name: ref, ID: id})
	f.result.Tips = append(f.result.Tips, Tip{Ref: ref, Commit: id, Tree: tree, Node: Node{Tree: tree}})
	owner := int32(len(f.result.Refs))
	for next := []index{i}; len(next) > 0; {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if c := &f.changesets[i]; c.owner == 0 {
			c.owner = owner
			for _, p := range c.parents {
				if p != none {
					next = append(next, p)
				}
			}
		}
	}
	return nil
}

// treeOf returns the tree of a commit.
func (g *grapher) treeOf(commit pack.ID) (pack.ID, error) {
	_, data, err := g.store.Get(commit)
	if err != nil {
		return pack.Zero, err
	}
	var tree string
	if _, err := fmt.Sscanf(string(data), "tree %40s\n", &tree); err != nil {
		return pack.Zero, fmt.Errorf("history: commit %s has no tree: %w", commit, err)
	}
	return pack.ParseID(tree)
}
