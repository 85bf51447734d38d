package history

import (
	"iter"
	"slices"

	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// tagsFile is where Mercurial keeps tags, in every changeset anew.
const tagsFile = ".hgtags"

// maxTagsFile bounds how much of tags is read, in bytes of one file.
const maxTagsFile = 32 << 20

// tags makes tags of what the .hgtags of all heads say together.
func (f *graphRefs) tags(tops []index) error {
	table, err := f.readTags(tops)
	if err != nil {
		return err
	}
	at := map[revlog.Node]index{}
	for _, t := range table.list {
		at[t.node] = none
	}
	for i, c := range f.changesets {
		if _, wanted := at[c.node]; wanted && c.shown {
			at[c.node] = index(i)
		}
	}
	for _, t := range table.list {
		switch i := at[t.node]; {
		case t.node.IsNull(): // taken back
		case t.name == "tip":
			f.leaveOut("tag", t.name, "Mercurial itself calls the newest changeset so, and has no tag of the name")
		case t.node == revlog.Nowhere:
			f.leaveOut("tag", t.name, "what it names is no changeset")
		case i == none:
			f.leaveOut("tag", t.name, "the origin does not show the changeset that it names, "+t.node.String())
		default:
			f.result.Tags++
			if err := f.point(f.claim(tags, "tag", t.name, t.name), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// readTags reads the tags of all heads, from the oldest to the newest. What several heads have is read once.
func (f *graphRefs) readTags(tops []index) (*tagTable, error) {
	table := &tagTable{known: map[string]*graphTag{}}
	seen := map[pack.ID]bool{}
	for _, i := range tops {
		tree, err := f.treeOf(f.changesets[i].id)
		if err != nil {
			return nil, err
		}
		content, id, err := f.rootFile(tree, tagsFile, maxTagsFile)
		if err != nil {
			return nil, err
		}
		if content == nil || seen[id] {
			continue
		}
		seen[id] = true
		table.add(revlog.Tags(content))
	}
	return table, nil
}

// rootFile returns what a file at the root of a tree has in it, nil when there is none or it is too large.
func (g *grapher) rootFile(tree pack.ID, name string, most int64) (content []byte, id pack.ID, err error) {
	data, err := Load(g.store, tree)
	if err != nil {
		return nil, pack.Zero, err
	}
	e, err := find(data, "", name)
	if err != nil || e.Mode == 0 || e.IsDir() {
		return nil, pack.Zero, err
	}
	if _, size, err := g.store.Stat(e.ID); err != nil || size > most {
		return nil, pack.Zero, err
	}
	_, content, err = g.store.Get(e.ID)
	return content, e.ID, err
}

// tagTable is what the files read so far say together, by the rule of Mercurial's tags.py: a file that is read later
// counts, unless what it says of a tag is what an earlier one has replaced.
type tagTable struct {
	list  []*graphTag // in the order of their names' first appearance
	known map[string]*graphTag
}

// graphTag is a tag with all that it was before.
type graphTag struct {
	name string
	node revlog.Node
	was  []revlog.Node // as often as it was set
	set  map[revlog.Node]bool
}

func (t *graphTag) note(nodes ...revlog.Node) {
	for _, n := range nodes {
		t.was = append(t.was, n)
		t.set[n] = true
	}
}

// add takes in a file.
func (t *tagTable) add(lines iter.Seq[revlog.Tag]) {
	var order []*graphTag
	file := map[string]*graphTag{}
	for line := range lines {
		tag := file[string(line.Name)]
		if tag == nil {
			tag = &graphTag{name: string(line.Name), set: map[revlog.Node]bool{}}
			file[tag.name] = tag
			order = append(order, tag)
		} else {
			tag.note(tag.node)
		}
		tag.node = line.Node
	}
	for _, tag := range order {
		if before := t.known[tag.name]; before != nil {
			before.merge(tag)
			continue
		}
		t.known[tag.name] = tag
		t.list = append(t.list, tag)
	}
}

// merge takes in what a later file says of the tag.
func (t *graphTag) merge(later *graphTag) {
	outdated := t.node != later.node && t.set[later.node] && (!later.set[t.node] || len(t.was) > len(later.was))
	if !outdated {
		t.node = later.node
	}
	earlier := slices.DeleteFunc(t.was, func(n revlog.Node) bool { return later.set[n] })
	later.note(earlier...)
	t.was, t.set = later.was, later.set
}
