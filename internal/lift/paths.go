package lift

import (
	"context"
	"io"
	"net/url"

	"gantry/internal/convert"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/origin/svn"
	"gantry/internal/pack"
)

// paths lifts a path-based origin.
type paths struct {
	*convert.Conversion
	from Origin
	opt  Options
}

func openPaths(ctx context.Context, from Origin, opt Options) (Lift, error) {
	c, err := convert.Open(ctx, convert.Options{
		Dir:       opt.Dir,
		Writer:    opt.Writer,
		Earlier:   opt.Earlier,
		Journal:   opt.Journal,
		Progress:  opt.Progress,
		Log:       opt.Log,
		LargeFile: opt.LargeFile,
	})
	if err != nil {
		return nil, err
	}
	return &paths{Conversion: c, from: from, opt: opt}, nil
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

func (p *paths) Map(ctx context.Context, opt MapOptions) (*convert.Result, error) {
	authors := make(map[string]history.Identity, len(opt.Authors))
	for author, identity := range opt.Authors {
		authors[author.RemoteID] = identity
	}
	mapped := func(a history.Author) (history.Identity, bool) {
		identity, ok := authors[a.RemoteID]
		return identity, ok
	}
	mapping := convert.MapOptions{Mapped: mapped, Root: opt.Root, DefaultBranch: opt.DefaultBranch, Shape: opt.Shape}
	if opt.Commit != nil {
		mapping.Commit = func(c history.Commit) error { return opt.Commit(c.ID, c.Path, revision(c.Revision)) }
	}
	return p.Conversion.Map(ctx, mapping)
}

func (p *paths) WritePack(ctx context.Context, w io.Writer, result *convert.Result, to Receiver) error {
	_, err := p.Conversion.WritePack(ctx, w, result, to.Objects.Has)
	return err
}

// Install writes the index itself: every object was made, and hashed, here.
func (p *paths) Install(ctx context.Context, dir string, result *convert.Result) error {
	in := installation(result)
	if len(in.Refs) > 0 {
		var copied pack.CopyResult
		in.Pack = func(ctx context.Context, w io.Writer) (err error) {
			copied, err = p.Conversion.WritePack(ctx, w, result, nil)
			return err
		}
		in.Index = func(w io.Writer) error { return copied.WriteIndex(w) }
	}
	return p.opt.Git.Install(ctx, dir, in)
}
