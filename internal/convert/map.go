package convert

import (
	"cmp"
	"context"
	"path"
	"strings"

	"gantry"
	"gantry/internal/history"
)

// MapOptions say how raw data becomes commits.
type MapOptions struct {
	// Mapped returns the identity that somebody gave an author; the others keep their defaults. Nil gives none.
	Mapped func(history.Author) (history.Identity, bool)

	Root          string // path of the project below the root that was read, "" for all of it
	DefaultBranch string // name of trunk's branch; "" for main
	Shape         gantry.Shape

	// Submodule tells what a changeset of another repository is in Git; nil when nobody knows. For MapGraph.
	Submodule func(source, revision string) (history.Submodule, bool)

	// Commit is told of every commit in the order of their revisions; nil for none.
	Commit func(history.Commit) error
}

// Map turns everything read into commits and refs. It may be called again with other options; the same options always
// give the same result. A layout that cannot be read, or a root that never was a directory, is gantry.Invalid.
func (c *Conversion) Map(ctx context.Context, opt MapOptions) (*Result, error) {
	rules, err := history.ParseRules(opt.Shape.Layout)
	if err != nil {
		return nil, err
	}
	root := strings.Trim(path.Clean("/"+opt.Root), "/")
	if err := c.checkRoot(ctx, root); err != nil {
		return nil, err
	}
	m, err := history.Map(ctx, c.log, c.store, history.MapOptions{
		UUID:          c.state.UUID,
		Identity:      opt.identity,
		Base:          c.state.Path,
		Root:          root,
		DefaultBranch: opt.defaultBranch(),
		Layout:        rules,
		KeepEmpty:     opt.Shape.KeepEmpty,
		Dress:         opt.Shape.Dressing,
		Commit:        opt.Commit,
		Progress: func(revision int64) {
			c.report(Progress{Phase: Mapping, Done: revision, Total: c.state.Head, Bytes: c.counts.Bytes})
		},
	})
	if err != nil {
		return nil, err
	}
	return c.result(m)
}

func (opt *MapOptions) identity(a history.Author) history.Identity {
	if opt.Mapped != nil {
		if mapped, ok := opt.Mapped(a); ok {
			return mapped
		}
	}
	return a.Default
}

func (opt *MapOptions) defaultBranch() string { return cmp.Or(opt.DefaultBranch, "main") }

func (c *Conversion) result(m *history.Mapping) (*Result, error) {
	result := &Result{Refs: m.Refs, Head: m.Head, Commits: m.Commits}
	for _, f := range m.Large {
		result.LargeFiles = append(result.LargeFiles, gantry.LargeFile{
			RefName: f.Ref, Path: shown(f.Path), OID: f.OID.String(), Size: f.Size,
		})
	}
	var err error
	result.Report, err = c.reportOn(m)
	return result, err
}

// checkRoot makes sure that a project was a directory in some revision.
func (c *Conversion) checkRoot(ctx context.Context, root string) error {
	if root == "" {
		return nil
	}
	for r, err := range c.log.Records() {
		if err != nil {
			return err
		}
		e, err := history.Walk(c.store, r.Root, root)
		if err != nil || e.IsDir() {
			return err
		}
	}
	projects, err := c.Projects(ctx)
	if err != nil {
		return err
	}
	known := ""
	if len(projects) > 0 {
		known = "; the projects are: " + strings.Join(projects, ", ")
	}
	return gantry.Errorf(gantry.Invalid, "convert.Map", "no revision has a directory %q to take for a project%s", root, known)
}

// reportOn tells what reading counted and what became of it.
func (c *Conversion) reportOn(m *history.Mapping) (Report, error) {
	r := Report{
		Revisions:     c.counts.Revisions,
		Commits:       m.Commits,
		Branches:      m.Branches,
		Tags:          m.Tags,
		Archived:      m.Archived,
		Authors:       int64(len(c.authors.List())),
		Files:         c.counts.Files,
		Bytes:         c.counts.Bytes,
		VerifiedTexts: c.counts.Verified,
		UncheckedText: c.counts.Unchecked,

		ComparedEntries: c.state.Compared,
		Hidden:          c.state.Hidden,

		RenamedPaths: c.counts.Renamed,
		Unmapped:     m.Unmapped,
		Malformed:    m.Malformed,
	}
	for _, rename := range m.Renames {
		r.Renamed = append(r.Renamed, Rename{Path: shown(rename.Path), Ref: rename.Ref, Reason: rename.Reason})
	}
	r.addFindings(m)
	empty := history.NewEmptyDirectories(c.store)
	for _, tip := range m.Tips {
		r.Heads = append(r.Heads, Head{Ref: tip.Ref, Commit: tip.Commit.String(), Tree: tip.Tree.String()})
		if !strings.HasPrefix(tip.Ref, "refs/heads/") {
			continue
		}
		count, err := empty.Below(tip.Node)
		if err != nil {
			return r, err
		}
		r.EmptyDirectories += count
	}
	return r, nil
}

// addFindings tells what mapping decided on its own.
func (r *Report) addFindings(m *history.Mapping) {
	r.Layout = shown(m.Layout)
	for _, f := range m.Merges {
		r.Merges = append(r.Merges, Merge{
			Commit: f.Commit.String(), Path: shown(f.Path), Revision: f.Revision, Parent: f.Parent.String(), Source: shown(f.Source), Upto: f.Upto,
		})
	}
	for _, f := range m.CherryPicks {
		var commit string
		if !f.Commit.IsZero() {
			commit = f.Commit.String()
		}
		r.CherryPicks = append(r.CherryPicks, CherryPick{
			Commit: commit, Path: shown(f.Path), Revision: f.Revision, Source: shown(f.Source), Revisions: f.Revisions,
		})
	}
	for _, f := range m.Externals {
		r.Externals = append(r.Externals, External{
			Path: shown(f.Path), Definition: shown(f.Definition), Branch: shown(f.Branch), Revision: f.Revision,
		})
	}
	for _, f := range m.Sources {
		source := Source{Path: shown(f.Path), Revision: f.Revision, Taken: shown(f.Taken)}
		for _, other := range f.Others {
			source.Others = append(source.Others, shown(other))
		}
		r.Sources = append(r.Sources, source)
	}
	for _, f := range m.Outside {
		r.Outside = append(r.Outside, Outside{Path: shown(f.Path), Ref: f.Ref})
	}
}

// shown is a path as text: paths are bytes, of which databases and JSON refuse some.
func shown(path string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(path, "\ufffd"), "\x00", "\ufffd")
}
