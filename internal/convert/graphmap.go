package convert

import (
	"context"

	"gantry"
	"gantry/internal/history"
)

// MapGraph is Map of a graph of changesets. It shows what the origin showed when it was read last; Root is not used, nor
// of Shape what is about layouts and properties.
func (c *Conversion) MapGraph(ctx context.Context, opt MapOptions) (*Result, error) {
	if c.state.Graph == nil {
		return nil, gantry.Errorf(gantry.Conflict, "convert.MapGraph", "nothing was read from the origin yet")
	}
	m, err := history.MapGraph(ctx, c.log, c.store, history.GraphOptions{
		Heads:         c.state.Graph.Heads,
		Bookmarks:     c.state.Graph.Bookmarks,
		Identity:      opt.identity,
		DefaultBranch: opt.defaultBranch(),
		Trailers:      opt.Shape.Trailers,
		Submodules:    opt.Shape.Externals,
		Attributes:    opt.Shape.Attributes,
		Submodule:     opt.Submodule,
		Commit:        opt.Commit,
		Progress: func(number int64) {
			c.report(Progress{Phase: Mapping, Done: number, Total: c.counts.Revisions, Bytes: c.counts.Bytes})
		},
	})
	if err != nil {
		return nil, err
	}
	result, err := c.result(m)
	if err != nil {
		return nil, err
	}
	result.Report.Revisions = m.Changesets
	result.Report.addGraph(m)
	result.Report.Absent = c.state.Absent
	return result, nil
}

// addGraph tells what mapping found in a graph.
func (r *Report) addGraph(m *history.Mapping) {
	for _, t := range m.Twins {
		r.Twins = append(r.Twins, Twin{Changeset: t.Node.String(), Commit: t.Commit.String()})
	}
	r.Redated, r.Retold = m.Redated, m.Retold
	r.Extras = make(map[string]int64, len(m.Extras))
	for name, n := range m.Extras {
		r.Extras[shown(name)] += n
	}
	for _, s := range m.Subrepositories {
		r.Subrepositories = append(r.Subrepositories, Subrepository{
			Ref: s.Ref, Path: shown(s.Path), Kind: shown(s.Kind), Source: shown(s.Source), Revision: shown(s.Revision), Submodule: s.Submodule,
		})
	}
}
