package lift

import (
	"context"
	"net/url"

	"gantry/internal/convert"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/origin/svn"
)

// paths lifts a path-based origin.
type paths struct{ converted }

func openPaths(ctx context.Context, from Origin, opt Options) (Lift, error) {
	c, err := openConverted(ctx, from, opt)
	if err != nil {
		return nil, err
	}
	return &paths{c}, nil
}

func (p *paths) Read(ctx context.Context) error {
	src, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	return p.Conversion.Read(ctx, src)
}

func (p *paths) source(ctx context.Context) (origin.PathSource, error) {
	switch {
	case p.from.Stream != nil:
		return svn.ReadDump(p.from.Stream, "from standard input")
	case p.from.File != "":
		return svn.OpenDump(ctx, p.from.File)
	}
	u, err := url.Parse(p.from.Address.String())
	if err != nil {
		return nil, err
	}
	return svn.Open(ctx, svn.Options{
		URL:         u,
		Credentials: p.from.Credentials,
		HostKeys:    hostKeys(p.opt.HostKeys, p.Conversion.State().HostKey),
		Agent:       p.opt.Agent,
		Dial:        p.opt.Egress.DialContext,
		HTTP:        p.opt.Egress.HTTPClient().Transport,
		TempDir:     p.opt.Dir,
		Log:         p.opt.Log,
	})
}

// Map implements Lift. One author has one name, so that the identifier tells them apart.
func (p *paths) Map(ctx context.Context, opt MapOptions) (*convert.Result, error) {
	authors := make(map[string]history.Identity, len(opt.Authors))
	for author, identity := range opt.Authors {
		authors[author.RemoteID] = identity
	}
	mapping := mapOptions(opt, func(a history.Author) (history.Identity, bool) {
		identity, ok := authors[a.RemoteID]
		return identity, ok
	})
	if opt.Commit != nil {
		mapping.Commit = func(c history.Commit) error { return opt.Commit(c.ID, c.Path, revision(c.Revision)) }
	}
	return p.Conversion.Map(ctx, mapping)
}
