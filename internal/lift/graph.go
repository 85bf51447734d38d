package lift

import (
	"context"

	"gantry/internal/convert"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/origin/hg"
)

// graph lifts an origin of changesets.
type graph struct{ converted }

func openGraph(ctx context.Context, from Origin, opt Options) (Lift, error) {
	c, err := openConverted(ctx, from, opt)
	if err != nil {
		return nil, err
	}
	return &graph{c}, nil
}

func (g *graph) Read(ctx context.Context) error {
	src, err := g.source(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	return g.ReadGraph(ctx, src)
}

func (g *graph) source(ctx context.Context) (origin.GraphSource, error) {
	switch {
	case g.from.Stream != nil:
		return hg.ReadBundle(g.from.Stream, "from standard input", g.opt.Dir), nil
	case g.from.File != "":
		return hg.OpenBundle(g.from.File, g.opt.Dir)
	}
	return hg.Open(ctx, hg.Options{
		Address:     g.from.Address,
		Credentials: g.from.Credentials,
		TempDir:     g.opt.Dir,
		LFS:         g.from.LFS,
		HTTP:        g.opt.Egress.HTTPClient().Transport,
		Dial:        g.opt.Egress.DialContext,
		HostKeys:    hostKeys(g.opt.HostKeys, g.State().HostKey),
		Agent:       g.opt.Agent,
		Log:         g.opt.Log,
	})
}

// Projects implements Lift. A Mercurial repository is one project.
func (g *graph) Projects(context.Context) ([]string, error) { return nil, nil }

func (g *graph) Map(ctx context.Context, opt MapOptions) (*convert.Result, error) {
	mapping := mapOptions(opt, func(a history.Author) (history.Identity, bool) {
		identity, ok := opt.Authors[Author{RemoteID: a.RemoteID, RemoteName: a.RemoteName}]
		return identity, ok
	})
	if opt.Commit != nil {
		mapping.Commit = func(c history.Commit) error { return opt.Commit(c.ID, c.Path, c.Node.String()) }
	}
	return g.MapGraph(ctx, mapping)
}
