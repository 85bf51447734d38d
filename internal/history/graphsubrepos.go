package history

import (
	"bytes"
	"cmp"
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
			f.result.Subrepositories = append(f.result.Subrepositories, Subrepository{
				Ref: tip.Ref, Path: s.path, Kind: s.kind, Source: s.source, Revision: s.revision,
			})
		}
	}
	return nil
}
