package history

import (
	"maps"
	"path"
	"slices"
	"strings"

	"gantry/internal/pack"
)

// Detect finds the rules of a project at a directory: "" for all that was read.
//
// A project is where a trunk is. Where none has that name, it is what was copied most often to where branches and tags
// usually are, or into other directories beside it. A project continues those that it was moved from. Directories that
// whole branches were copied to are branches, and so is all in a directory that several were copied to. A directory
// without any of this is one branch.
func (s *Survey) Detect(root string) (*Rules, error) {
	own := *s
	own.parts, own.order = maps.Clone(s.parts), slices.Clip(s.order)
	d := detection{Survey: &own, scope: root}
	project, ok, err := d.project()
	if err != nil {
		return nil, err
	}
	if !ok {
		d.add(rule{kind: trunk, path: literal(root), until: endless})
		return &d.rules, nil
	}
	d.place(project, false)
	for _, earlier := range d.earlier(project) {
		d.place(earlier, false)
	}
	for _, p := range s.order {
		if p.kind == trunk && !d.placed[p.project] && isBelow(p.project, root) {
			d.place(p.project, true)
		}
	}
	for range maxRounds {
		before := len(d.rules.list)
		if err := d.followCopies(); err != nil {
			return nil, err
		}
		if len(d.rules.list) == before {
			break
		}
	}
	return &d.rules, nil
}

// maxRounds bounds how often copies of what copies led to are followed.
const maxRounds = 8

type detection struct {
	*Survey
	scope  string
	base   string // of names
	rules  Rules
	placed map[string]bool // projects that have rules
}

func (d *detection) add(r rule) { d.rules.list = append(d.rules.list, r) }

// project chooses the project: the scope itself, or the only one below it.
func (d *detection) project() (project string, ok bool, err error) {
	living := d.living(d.scope)
	if len(living) == 0 || living[0] == d.scope {
		ok = d.hasTrunk(d.scope) || d.mainLine(d.scope) != ""
		if !ok {
			ok, err = d.hasCopies(d.scope)
		}
		if !ok && err == nil {
			ok, err = d.isUnnamed(d.scope)
		}
		return d.scope, ok, err
	}
	if only := living[0]; len(living) == 1 && d.isProject(only) {
		return only, true, nil
	}
	return d.scope, d.hasTrunk(d.scope), nil
}

// hasTrunk reports whether a directory had a trunk at any time.
func (d *detection) hasTrunk(dir string) bool {
	return slices.ContainsFunc(d.order, func(p *part) bool { return p.kind == trunk && p.project == dir })
}

// isProject reports whether more than the name of a directory speaks for a project: it has branches or tags, too, or its
// trunk came from another's.
func (d *detection) isProject(dir string) bool {
	return slices.ContainsFunc(d.order, func(p *part) bool { return p.kind != trunk && p.project == dir }) || len(d.earlier(dir)) > 0
}

// mainLine is what was copied most often into the branches and tags of a project without a trunk, "" for nothing.
func (d *detection) mainLine(project string) string {
	times := map[string]int{}
	most := ""
	for _, c := range d.copies {
		dir, _ := split(c.to)
		if p := d.parts[dir]; p == nil || p.project != project || p.kind == trunk {
			continue
		}
		if below, ok := cutDir(c.from, project); !ok || below == "" || d.inPart(c.from) {
			continue
		}
		times[c.from]++
		if times[c.from] > times[most] {
			most = c.from
		}
	}
	return most
}

// hasCopies reports whether branches or tags of a project were copied from one another. In a directory of sources, one
// that is called tags is something else.
func (d *detection) hasCopies(project string) (bool, error) {
	i := slices.IndexFunc(d.copies, func(c dirCopy) bool {
		to, _ := split(c.to)
		from, _ := split(c.from)
		return d.parts[to] != nil && d.parts[to].project == project && d.parts[from] != nil && d.parts[from].project == project
	})
	if i < 0 {
		return false, nil
	}
	return d.isMostly(d.copies[i].root, project, func(p string) bool { return d.parts[p] != nil })
}

// isUnnamed finds out whether a project has a layout whose directories have names of another kind, or in another
// language: a directory was copied more than once into such that are beside it and have no files. It enters these.
func (d *detection) isUnnamed(project string) (bool, error) {
	found := map[string][]dirCopy{} // by source
	var most []dirCopy
	for _, c := range d.copies {
		into, _ := split(c.to)
		beside, _ := split(into)
		in, _ := split(c.from)
		if c.from == project || in != project || into == project || beside != project || into == c.from {
			continue
		}
		files, err := d.hasFiles(c.root, into)
		if err != nil {
			return false, err
		}
		if files {
			continue
		}
		found[c.from] = append(found[c.from], c)
		if len(found[c.from]) > len(most) {
			most = found[c.from]
		}
	}
	if len(most) < 2 {
		return false, nil
	}
	last := most[len(most)-1]
	isPart := func(p string) bool {
		return p == last.from || slices.ContainsFunc(most, func(c dirCopy) bool { dir, _ := split(c.to); return dir == p })
	}
	if ok, err := d.isMostly(last.root, project, isPart); !ok || err != nil {
		return false, err
	}
	for _, c := range most {
		if dir, _ := split(c.to); d.parts[dir] == nil {
			d.parts[dir] = &part{path: dir, project: project, kind: tag, either: true, lives: true}
			d.order = append(d.order, d.parts[dir])
		}
	}
	return true, nil
}

// isMostly reports whether most of what is in a directory are parts of a layout, and not others.
func (d *detection) isMostly(root Node, dir string, isPart func(p string) bool) (bool, error) {
	parts, others := 0, 0
	err := d.each(root, dir, func(e pack.TreeEntry) {
		if e.IsDir() && isPart(joined(dir, OriginName(string(e.Name)))) {
			parts++
		} else {
			others++
		}
	})
	return others == 0 || others < parts, err
}

// hasFiles reports whether there are files directly in a directory.
func (d *detection) hasFiles(root Node, dir string) (has bool, err error) {
	err = d.each(root, dir, func(e pack.TreeEntry) { has = has || !e.IsDir() })
	return has, err
}

// each goes through what Git can hold of a directory.
func (d *detection) each(root Node, dir string, see func(pack.TreeEntry)) error {
	e, err := Walk(d.store, root, dir)
	if err != nil || !e.IsDir() {
		return err
	}
	tree, err := Load(d.store, e.ID)
	if err != nil {
		return err
	}
	for e, err := range pack.TreeEntries(tree) {
		if err != nil {
			return err
		}
		see(e)
	}
	return nil
}

func (d *detection) inPart(p string) bool {
	return slices.ContainsFunc(d.order, func(part *part) bool { return isBelow(p, part.path) })
}

// earlier returns the projects that a project was moved from: they have no trunk any more.
func (d *detection) earlier(project string) []string {
	found := []string{project}
	for i := 0; i < len(found); i++ {
		for _, c := range d.copies {
			for _, p := range d.order {
				below, ok := cutDir(p.path, c.to)
				if !ok || p.kind != trunk || p.project != found[i] {
					continue
				}
				from := d.parts[path.Join(c.from, below)]
				if from != nil && from.kind == trunk && !from.lives && !slices.Contains(found, from.project) {
					found = append(found, from.project)
				}
			}
		}
	}
	return found[1:]
}

// place adds the rules of a project. Others than the one that is converted have a name of their own.
func (d *detection) place(project string, other bool) {
	if d.placed == nil {
		d.placed, d.base = map[string]bool{}, project
	}
	d.placed[project] = true
	var named pattern
	if other {
		named = literal(relative(project, d.base))
	}
	if !d.hasTrunk(project) {
		if main := d.mainLine(project); main != "" {
			d.add(rule{kind: trunk, path: literal(main), until: endless})
		}
	}
	for _, p := range d.order {
		if p.project != project {
			continue
		}
		r := rule{kind: p.kind, path: literal(p.path), until: endless}
		_, name := split(p.path)
		switch {
		case p.kind != trunk:
			r.kind, r.path = d.holds(p), anyIn(p.path)
			if other {
				r.as = append(slices.Clone(named), glob{"", ""})
			}
		case other:
			r.kind, r.as = branch, append(slices.Clone(named), glob{name})
		case p.moved > 1:
			r := rule{kind: trunk, path: literal(p.origin), until: p.moved - 1}
			d.rules.list = slices.Insert(d.rules.list, 0, r)
		}
		d.add(r)
	}
}

// holds tells what a directory holds. One called releases holds branches when most of the copies in it were changed.
func (d *detection) holds(p *part) kind {
	if !p.either {
		return p.kind
	}
	changed, all := 0, 0
	for to, edited := range d.edited {
		if dir, _ := split(to); dir == p.path {
			all++
			if edited {
				changed++
			}
		}
	}
	if 2*changed > all {
		return branch
	}
	return tag
}

// group is a directory that whole branches were copied into.
type group struct {
	dir  string
	kind kind
	name string // what the names of its branches begin with
	only string // the one branch that is known in it; "" when all in it are branches
}

// followCopies adds rules for where branches were copied to.
func (d *detection) followCopies() error {
	l := newLayout(&d.rules, d.scope)
	copied := map[string]bool{}
	for _, c := range d.copies {
		copied[c.to] = true
	}
	var groups []*group
	known := map[string]*group{}
	for _, c := range d.copies {
		g, err := d.groupOf(l, c, copied)
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		if before := known[g.dir]; before == nil {
			known[g.dir] = g
			groups = append(groups, g)
		} else if before.only != g.only {
			before.only = ""
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int { // deeper ones first: the first rule that fits decides
		return strings.Count(b.dir, "/") - strings.Count(a.dir, "/")
	})
	more := make([]rule, len(groups))
	for i, g := range groups {
		more[i] = g.rule()
	}
	at := slices.IndexFunc(d.rules.list, func(r rule) bool { return r.until == endless })
	d.rules.list = slices.Insert(d.rules.list, at, more...)
	return nil
}

// rule is for all in the directory, or for the only branch there.
func (g *group) rule() rule {
	if g.only == "" {
		return rule{kind: g.kind, path: anyIn(g.dir), as: anyIn(g.name), until: endless}
	}
	_, name := split(g.only)
	return rule{kind: g.kind, path: literal(g.only), as: append(literal(g.name), glob{name}), until: endless}
}

// groupOf tells which group a copy speaks for, nil for none.
func (d *detection) groupOf(l *layout, c dirCopy, copied map[string]bool) (*group, error) {
	from, to := l.at(c.from, c.fromRev), l.at(c.to, c.revision)
	dir, _ := split(c.to)
	switch {
	case !isBelow(c.to, d.scope), to.above, to.rest == "" && to.rule != noRule:
		return nil, nil
	case from.above: // perhaps all of several branches
		kind, ok := d.container(l, c.from)
		if !ok || !to.outside {
			return nil, nil
		}
		return &group{dir: c.to, kind: kind, name: relative(c.to, l.base)}, nil
	case !from.in || from.outside || !to.in || to.outside && (to.rest == "" || from.rest != ""):
		return nil, nil
	case from.rest != "":
		return d.ofPart(l, c, from, to, copied)
	case to.outside:
		kind := branch
		_, name := split(dir)
		if p, ok := partNames[strings.ToLower(name)]; ok && p.kind == tag {
			kind = tag
		}
		return &group{dir: dir, kind: kind, name: relative(dir, l.base), only: c.to}, nil
	}
	if ok, err := d.isGroup(l, dir, c, to, copied); !ok {
		return nil, err
	}
	return d.groupIn(l, dir, to), nil
}

// groupIn is the group that a directory within what was taken for a branch is.
func (d *detection) groupIn(l *layout, dir string, to location) *group {
	below, _ := cutDir(dir, to.root)
	return &group{dir: dir, kind: to.kind, name: path.Join(l.name(to.root, to.rule), below)}
}

// ofPart tells which group the copy of a part of a branch speaks for, nil for none. Where the trunk holds projects or
// modules, a branch of one is often at its path with one more name, that of the branch: trunk/one is copied to
// branches/one/x, trunk/KDE/libs to branches/KDE/4.0/libs.
func (d *detection) ofPart(l *layout, c dirCopy, from, to location, copied map[string]bool) (*group, error) {
	module := from.rest
	if from.kind != trunk {
		dir, _ := split(from.root)
		above, ok := d.belowPart(dir)
		if !ok {
			return nil, nil
		}
		module = path.Join(above, module)
	}
	below, ok := d.belowPart(c.to)
	if !ok {
		return nil, nil
	}
	longer, shorter, same := strings.Split(below, "/"), strings.Split(module, "/"), 0
	for same < len(shorter) && same < len(longer) && longer[same] == shorter[same] {
		same++
	}
	if same == 0 || len(longer) != len(shorter)+1 || !slices.Equal(longer[same+1:], shorter[same:]) {
		return nil, nil
	}
	dir := strings.TrimSuffix(c.to, "/"+strings.Join(longer[same:], "/"))
	if !isBelow(dir, to.root) {
		return nil, nil
	}
	if ok, err := d.isGroup(l, dir, c, to, copied); !ok {
		return nil, err
	}
	return d.groupIn(l, dir, to), nil
}

// belowPart returns a path below the directory of branches or tags that it is in.
func (d *detection) belowPart(p string) (below string, ok bool) {
	for _, part := range d.order {
		if below, ok = cutDir(p, part.path); ok && part.kind != trunk {
			return below, true
		}
	}
	return "", false
}

// container tells what a directory holds whose every subdirectory is a branch by a rule.
func (d *detection) container(l *layout, dir string) (kind, bool) {
	all := anyIn(dir).String()
	for i := range l.rules.list {
		if r := &l.rules.list[i]; r.kind != trunk && r.path.String() == all {
			return r.kind, true
		}
	}
	return 0, false
}

// isGroup reports whether a directory in what was taken for a branch is rather a group of branches: it was made empty, and
// neither it nor those above it have files at the time when something is copied into it.
func (d *detection) isGroup(l *layout, dir string, c dirCopy, to location, copied map[string]bool) (bool, error) {
	if l.rules.list[to.rule].path.holes() == 0 {
		return false, nil
	}
	for ; isBelow(dir, to.root); dir, _ = split(dir) {
		if copied[dir] {
			return false, nil
		}
		if files, err := d.hasFiles(c.root, dir); files || err != nil {
			return false, err
		}
	}
	return true, nil
}
