package history

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gantry/internal/pack"
)

// Files in which Mercurial keeps what repositories lie in a changeset's directories, and which changesets of them.
const (
	subFile      = ".hgsub"
	subStateFile = ".hgsubstate"
)

// maxSubFile bounds how much of either is read, in bytes.
const maxSubFile = 1 << 20

// subrepo is one repository in a directory of another.
type subrepo struct {
	path, kind, source string
	revision           string // "" when none was ever recorded
}

// subrepos reads the two files of a tree.
func (g *grapher) subrepos(tree pack.ID) ([]subrepo, error) {
	sub, _, err := g.rootFile(tree, subFile, maxSubFile)
	if err != nil || sub == nil {
		return nil, err
	}
	state, _, err := g.rootFile(tree, subStateFile, maxSubFile)
	if err != nil {
		return nil, err
	}
	return parseSubrepos(sub, state), nil
}

// parseSubrepos reads "PATH = SOURCE" and "REVISION PATH", the formats of Mercurial's subrepoutil.py. A source may begin
// with its kind in brackets. What comes after a section's name is no subrepository.
func parseSubrepos(sub, state []byte) []subrepo {
	revisions := map[string]string{}
	for line := range bytes.Lines(state) {
		revision, path, found := strings.Cut(strings.TrimRight(strings.TrimLeft(toUTF8(line), " \t"), "\r\n"), " ")
		if found {
			revisions[path] = revision
		}
	}
	found := map[string]subrepo{}
	for line := range bytes.Lines(sub) {
		text := strings.TrimRight(toUTF8(line), " \t\r\n")
		if strings.HasPrefix(text, "[") {
			break
		}
		if text == "" || strings.ContainsAny(text[:1], "#;% \t") {
			continue
		}
		path, source, ok := strings.Cut(text, "=")
		if !ok {
			continue
		}
		path, source = strings.TrimSpace(path), strings.TrimSpace(source)
		kind := "hg"
		if rest, bracket := strings.CutPrefix(source, "["); bracket {
			if named, address, ok := strings.Cut(rest, "]"); ok {
				kind, source = named, strings.TrimSpace(address)
			}
		}
		found[path] = subrepo{path: path, kind: kind, source: source, revision: revisions[path]}
	}
	list := make([]subrepo, 0, len(found))
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b subrepo) int { return cmp.Compare(a.path, b.path) })
	return list
}

// withSubmodules adds submodules to the tree of a changeset. Those subrepositories become some of which it is known what
// they are in Git.
func (g *grapher) withSubmodules(tree pack.ID) (pack.ID, error) {
	found, err := g.subrepos(tree)
	if err != nil {
		return pack.Zero, err
	}
	var lines strings.Builder
	dressed := tree
	for _, s := range found {
		module, ok := g.submodule(s)
		if !ok {
			continue
		}
		linked, ok, err := g.dress.link(dressed, s.path, module.Commit)
		if err != nil {
			return pack.Zero, err
		}
		if ok {
			dressed = linked
			lines.WriteString(module.section(s.path))
		}
	}
	if lines.Len() == 0 {
		return tree, nil
	}
	data, err := Load(g.store, dressed)
	if err != nil {
		return pack.Zero, err
	}
	edits := edits{}
	if err := g.dress.prepend(edits, data, modulesFile, lines.String()); err != nil {
		return pack.Zero, err
	}
	if len(edits) == 0 { // the file cannot be written, and without it the links are broken
		return tree, nil
	}
	return g.dress.apply(edits, dressed, data)
}

// Submodule is what a subrepository is in Git.
type Submodule struct {
	URL    string
	Commit pack.ID
}

func (m Submodule) section(path string) string {
	return fmt.Sprintf("[submodule %q]\n\tpath = %[1]q\n\turl = %q\n", path, m.URL)
}

// submodule finds out what a subrepository is in Git. One of Git is what it is, and others are what somebody says.
func (g *grapher) submodule(s subrepo) (Submodule, bool) {
	var module Submodule
	ok := false
	if s.kind == "git" {
		commit, err := pack.ParseID(s.revision)
		module, ok = Submodule{s.source, commit}, err == nil
	} else if g.opt.Submodule != nil {
		module, ok = g.opt.Submodule(s.source, s.revision)
	}
	ok = ok && isModulePath(s.path) && strings.Contains(module.URL, ":") && areHarmlessModules([]byte(module.section(s.path)))
	return module, ok
}

// listSubrepos lists those of all branches, each by the first that has it.
func (f *graphRefs) listSubrepos() error {
	type place struct{ path, source string }
	known := map[place]bool{}
	for _, tip := range f.result.Tips {
		if !strings.HasPrefix(tip.Ref, heads) {
			continue
		}
		found, err := f.subrepos(tip.Tree)
		if err != nil {
			return err
		}
		for _, s := range found {
			at := place{s.path, s.kind + " " + s.source}
			if known[at] || len(f.result.Subrepositories) == MaxFindings {
				continue
			}
			known[at] = true
			there, err := Walk(f.store, tip.Node, s.path)
			if err != nil {
				return err
			}
			f.result.Subrepositories = append(f.result.Subrepositories, Subrepository{
				Ref: tip.Ref, Path: s.path, Kind: s.kind, Source: s.source, Revision: s.revision, Submodule: there.Mode == pack.ModeGitlink,
			})
		}
	}
	return nil
}
