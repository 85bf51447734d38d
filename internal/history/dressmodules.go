package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gantry/internal/pack"
)

// External is a line of svn:externals that could not become a submodule.
type External struct {
	Path       string // of the directory that has it, below its branch
	Definition string
	Branch     string // the first that had it, at the origin
	Revision   int64  // since when
}

// modules turns svn:externals into submodules. Git has a commit in the place of a submodule, so that only a branch of the
// same conversion can be one: the submodule's repository is the repository itself.
type modules struct {
	below  map[pack.ID][]external // by side tree
	listed map[external]bool
	left   []External
}

// external is a definition in a directory.
type external struct{ dir, definition string }

// maxExternals is how many externals of one branch are looked at: each of them is a place in every tree.
const maxExternals = 1000

// withModules adds submodules to the tree of a branch. An external that follows its source becomes what that was when the
// branch was changed.
func (m *mapper) withModules(r *Record, b *life, tree pack.ID) (pack.ID, error) {
	externals, err := m.dress.externals(b.node.Side)
	if err != nil {
		return pack.Zero, err
	}
	var lines strings.Builder
	dressed := tree
	for _, e := range externals {
		target, at, ok := m.submodule(r, b, e)
		if ok {
			commit, err := m.commits.id(at)
			if err != nil {
				return pack.Zero, err
			}
			var added pack.ID
			if added, ok, err = m.dress.link(dressed, target, commit); err != nil {
				return pack.Zero, err
			}
			if ok {
				dressed = added
				fmt.Fprintf(&lines, "[submodule %q]\n\tpath = %[1]q\n\turl = ./\n", target)
				continue
			}
		}
		if left := &m.dress.modules; !left.listed[e] && len(left.left) < MaxFindings {
			left.listed[e] = true
			left.left = append(left.left, External{e.dir, e.definition, b.path, r.Number})
		}
	}
	if lines.Len() == 0 {
		return tree, nil
	}
	data, err := Load(m.store, dressed)
	if err != nil {
		return pack.Zero, err
	}
	edits := edits{}
	if err := m.dress.prepend(edits, data, modulesFile, lines.String()); err != nil {
		return pack.Zero, err
	}
	if len(edits) == 0 { // the file cannot be written, and without it the links are broken
		return tree, nil
	}
	return m.dress.apply(edits, dressed, data)
}

// submodule finds out where an external lies in a branch and which commit is there.
func (m *mapper) submodule(r *Record, b *life, e external) (target string, commit index, ok bool) {
	parsed, ok := parseExternal(e.definition)
	if !ok {
		return "", none, false
	}
	from, ok := parsed.pathFrom(path.Join(m.opt.Base, b.path, e.dir))
	if !ok {
		return "", none, false
	}
	if from, ok = cutDir(from, m.opt.Base); !ok {
		return "", none, false
	}
	target = path.Join(e.dir, parsed.target)
	if !isModulePath(parsed.target) || !isModulePath(target) {
		return "", none, false
	}
	peg := r.Number
	if parsed.peg >= 0 {
		peg = min(peg, parsed.peg)
	}
	at := peg
	if parsed.revision >= 0 {
		at = min(r.Number, parsed.revision)
	}
	source := m.lifeAt(from, peg)
	if source == nil || at > peg && source.to < at {
		return "", none, false
	}
	commit = m.at(source, at)
	if at < source.from || commit == none {
		return "", none, false
	}
	return target, commit, true
}

// isModulePath accepts what can be a place of a submodule without any escaping.
func isModulePath(p string) bool {
	if p == "" || p[0] == '-' || p[0] == '/' || p != path.Clean(p) {
		return false
	}
	for name := range strings.SplitSeq(p, "/") {
		if name == ".." || name == modulesFile || GitName(name) != name {
			return false
		}
	}
	return !strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c >= 0x7f || c == '"' || c == '\\' })
}

// externals lists the externals below a directory by its side, in order.
func (d *dresser) externals(side pack.ID) ([]external, error) {
	if known, ok := d.modules.below[side]; ok {
		return known, nil
	}
	data, err := Load(d.store, side)
	if err != nil {
		return nil, err
	}
	var found []external
	for e, err := range pack.TreeEntries(data) {
		if err != nil {
			return nil, err
		}
		switch name := OriginName(string(e.Name[1:])); string(e.Name[:1]) {
		case SideDir:
			below, err := d.externals(e.ID)
			if err != nil {
				return nil, err
			}
			for _, b := range below {
				found = append(found, external{path.Join(name, b.dir), b.definition})
			}
		case SideSelf:
			own, err := d.definitions(e.ID)
			if err != nil {
				return nil, err
			}
			found = append(found, own...)
		}
	}
	slices.SortStableFunc(found, func(a, b external) int { return cmp.Compare(a.dir, b.dir) })
	found = found[:min(len(found), maxExternals)]
	if len(d.modules.below) == maxKnown {
		clear(d.modules.below)
	}
	d.modules.below[side] = found
	return found, nil
}

// definitions are the lines of a directory's own svn:externals.
func (d *dresser) definitions(props pack.ID) ([]external, error) {
	kept, _, err := loadProps(d.store, props)
	if err != nil {
		return nil, err
	}
	var found []external
	for _, p := range kept {
		if p.Name != "svn:externals" {
			continue
		}
		for line := range strings.Lines(string(p.Value)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				found = append(found, external{"", line})
			}
		}
	}
	return found, nil
}

// link puts a commit at a path of a tree; ok is false when something else is there.
func (d *dresser) link(tree pack.ID, at string, commit pack.ID) (linked pack.ID, ok bool, err error) {
	data, err := Load(d.store, tree)
	if err != nil {
		return pack.Zero, false, err
	}
	name, rest, _ := strings.Cut(at, "/")
	there, err := find(data, "", name)
	if err != nil {
		return pack.Zero, false, err
	}
	entry := Entry{Mode: pack.ModeTree}
	switch {
	case rest == "":
		entry = Entry{Mode: pack.ModeGitlink, ID: commit}
		ok = there.Mode == 0
	case there.Mode == 0, there.IsDir():
		entry.ID, ok, err = d.link(there.ID, rest, commit)
	}
	if err != nil || !ok {
		return pack.Zero, false, err
	}
	linked, err = d.apply(edits{name: entry}, tree, data)
	return linked, true, err
}

// definition is what one line of svn:externals says. Revisions are -1 when they are not given.
type definition struct {
	url           string
	target        string
	revision, peg int64
}

// parseExternal reads a line of svn:externals (svn_wc_parse_externals_description3): "TARGET [-r N] URL" as it was up to
// Subversion 1.4, or "[-r N] URL[@PEG] TARGET".
func parseExternal(line string) (d definition, ok bool) {
	d.revision, d.peg = -1, -1
	words, ok := externalWords(line)
	if !ok {
		return d, false
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-r") }); i >= 0 && i < 2 {
		number := words[i][2:]
		words = slices.Delete(words, i, i+1)
		if number == "" && i < len(words) {
			number = words[i]
			words = slices.Delete(words, i, i+1)
		}
		if d.revision = parseRevision(strings.TrimPrefix(number, "r")); d.revision < 0 && number != "HEAD" {
			return d, false
		}
	}
	if len(words) != 2 {
		return d, false
	}
	if !isExternalURL(words[0]) && strings.Contains(words[1], "://") {
		d.target, d.url = words[0], words[1]
		return d, true
	}
	d.url, d.target = words[0], words[1]
	if at := strings.LastIndexByte(d.url, '@'); at >= 0 {
		if peg := d.url[at+1:]; peg != "" && peg != "HEAD" {
			if d.peg = parseRevision(strings.TrimPrefix(peg, "r")); d.peg < 0 {
				return d, false
			}
		}
		d.url = d.url[:at]
	}
	if d.peg >= 0 && d.revision < 0 {
		d.revision = d.peg
	}
	return d, true
}

func isExternalURL(word string) bool {
	return strings.Contains(word, "://") || strings.HasPrefix(word, "^/") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "../")
}

// externalWords splits a line at blanks, outside of quotes. A backslash takes the next character as it is.
func externalWords(line string) (words []string, ok bool) {
	var word []byte
	var quote byte
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			word, inWord = append(word, line[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, string(word))
			}
			word, inWord = nil, false
		default:
			word, inWord = append(word, c), true
		}
	}
	if inWord {
		words = append(words, string(word))
	}
	return words, quote == 0
}

// pathFrom is the path in the repository that an external of a directory names. Addresses of other repositories, and those
// that do not tell theirs, have none.
func (d definition) pathFrom(dir string) (p string, ok bool) {
	if below, fromRoot := strings.CutPrefix(d.url, "^/"); fromRoot {
		p = "/" + below
		if strings.HasPrefix(path.Clean(below), "..") {
			return "", false
		}
	} else if strings.HasPrefix(d.url, "../") {
		up := path.Join("x/"+dir, d.url)
		if _, ok := cutDir(up, "x"); !ok {
			return "", false
		}
		p = strings.TrimPrefix(up, "x")
	} else {
		return "", false
	}
	return strings.Trim(path.Clean(p), "/"), true
}
