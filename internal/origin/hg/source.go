package hg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// Source reads one repository over the network. It is used by one goroutine at a time.
type Source struct {
	opt  Options
	peer peer

	contents peer // for contents while peer is busy; nil before the first
}

var _ origin.ContentSource = (*Source)(nil)

// Open connects to the repository at opt.Address, authenticates and learns what it can do.
//
// Errors wrap origin.ErrAuthRequired, origin.ErrAuthFailed, origin.ErrNotFound or origin.ErrTemporary where they apply.
func Open(ctx context.Context, opt Options) (*Source, error) {
	opt = opt.complete()
	s := &Source{opt: opt}
	var err error
	s.peer, err = dial(ctx, opt)
	if err == nil && !s.peer.capabilities().has("getbundle") {
		err = errors.Join(unsupportedf("the server is older than Mercurial 1.9, and its protocol is not known; bring a bundle that \"hg bundle --all\" has made there"), s.peer.Close())
	}
	if err != nil {
		return nil, outcome(ctx, "hg.Open", opt.Address, err)
	}
	return s, nil
}

func dial(ctx context.Context, opt Options) (peer, error) {
	switch opt.Address.Scheme {
	case "http", "https":
		return dialHTTP(ctx, opt)
	case "ssh":
		return dialSSH(ctx, opt)
	}
	return nil, gantry.Errorf(gantry.Invalid, "hg.Open", "Mercurial cannot be read over %s: give an address of http, https or ssh, or a bundle", opt.Address.Scheme)
}

// GraphInfo implements origin.GraphSource.
func (s *Source) GraphInfo() origin.GraphInfo {
	return origin.GraphInfo{Changesets: -1, HostKey: s.peer.hostKey()}
}

// Close implements origin.GraphSource.
func (s *Source) Close() error {
	err := s.peer.Close()
	if s.contents != nil {
		err = errors.Join(err, s.contents.Close())
	}
	return err
}

// Pull implements origin.GraphSource. What the server shows is asked first, and is what counts, whatever comes then: a
// stream or a bundle may have changesets in it that are secret, or were hidden since.
func (s *Source) Pull(ctx context.Context, known []revlog.Node, sink revlog.Sink) (origin.GraphHeads, error) {
	see, err := askShown(ctx, s.peer)
	if err == nil {
		err = s.pull(ctx, see.heads, known, sink)
	}
	if err != nil {
		return origin.GraphHeads{}, outcome(ctx, "hg.Pull", s.opt.Address, err)
	}
	return origin.GraphHeads{Heads: see.heads, Bookmarks: see.bookmarks}, nil
}

// pull brings heads and their ancestors: at first the fastest way that is open, in the end from the server itself what is
// missing still.
func (s *Source) pull(ctx context.Context, heads, known []revlog.Node, sink revlog.Sink) error {
	missing := without(heads, known)
	former := without(known, heads) // on which something new was built: they tell the server most
	common := slices.Concat(former, without(known, former))
	if len(missing) > 0 && len(known) == 0 {
		came, err := s.pullQuickly(ctx, sink)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, came.graph.has)
		common = came.graph.heads()
	}
	if len(missing) == 0 {
		return nil
	}
	to := newIntake(ctx, sink, s.opt.TempDir)
	if err := s.getBundle(ctx, missing, common, to); err != nil {
		return err
	}
	for _, n := range missing {
		if !to.graph.has(n) {
			return malformedf("it says that %v is a head, and did not send it", n)
		}
	}
	return nil
}

// without returns the nodes that are not among others.
func without(nodes, others []revlog.Node) []revlog.Node {
	had := make(map[revlog.Node]bool, len(others))
	for _, n := range others {
		had[n] = true
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n revlog.Node) bool { return had[n] })
}

// pullQuickly brings as much as there is in a form that costs the server little, if it offers one, and returns what came.
func (s *Source) pullQuickly(ctx context.Context, sink revlog.Sink) (*intake, error) {
	bundles, err := s.cloneBundles(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range bundles[:min(len(bundles), triedBundles)] {
		came, err := s.try(ctx, sink, b.String(), true, func(to *intake) error { return s.readCloneBundle(ctx, b, to) })
		if err != nil || came != nil {
			return came, err
		}
	}
	if s.peer.capabilities().streams() {
		came, err := s.try(ctx, sink, "the stream", false, func(to *intake) error { return s.getStream(ctx, to) })
		if err != nil || came != nil {
			return came, err
		}
	}
	return newIntake(ctx, sink, s.opt.TempDir), nil
}

// try takes one way of several. Where it leads to nothing, both results are nil. Something elsewhere that cannot be reached is
// as good as none. Once the sink was given something there is no other way.
func (s *Source) try(ctx context.Context, sink revlog.Sink, way string, elsewhere bool, read func(*intake) error) (*intake, error) {
	to := newIntake(ctx, sink, s.opt.TempDir)
	err := read(to)
	if err == nil {
		s.opt.Log.InfoContext(ctx, "a Mercurial repository was read the quick way", "by", way)
		return to, nil
	}
	lost := errors.Is(err, origin.ErrTemporary) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	if ctx.Err() != nil || to.sent || lost && !elsewhere {
		return nil, fmt.Errorf("%s: %w", way, err)
	}
	s.opt.Log.WarnContext(ctx, "a Mercurial repository is read another way", "instead of", way, "because", err)
	return nil, nil
}

// getStream has the server send its files as they are.
func (s *Source) getStream(ctx context.Context, to *intake) error {
	return s.peer.stream(ctx, command{name: "getbundle", star: true, more: []argument{
		{"bundlecaps", spoken}, {"cg", "0"}, {"stream", "1"},
	}}, func(in io.Reader) error { return readBundle(in, to) })
}

// fewNodes are as many as every server takes in headers.
const fewNodes = 150

// getBundle has the server make a bundle of heads without the common changesets and their ancestors. Where a request has no
// room for all of them, either all heads that there are are meant, of which none are told, or not all that is common is told,
// and more comes than is missing.
func (s *Source) getBundle(ctx context.Context, heads, common []revlog.Node, to *intake) error {
	most := s.peer.maxNodes()
	err := s.askBundle(ctx, heads, common, most, to)
	if tooLong(err) && !to.sent && ctx.Err() == nil && len(heads)+len(common) > fewNodes {
		s.opt.Log.WarnContext(ctx, "a Mercurial server is asked by a shorter question", "because", err)
		err = s.askBundle(ctx, heads, common, fewNodes, to)
	}
	return err
}

// tooLong reports whether a request may have been refused for its size. Some servers just hang up then.
func tooLong(err error) bool {
	var refused *failure
	if errors.As(err, &refused) {
		return slices.Contains(tooLarge, refused.status)
	}
	return errors.Is(err, origin.ErrTemporary)
}

func (s *Source) askBundle(ctx context.Context, heads, common []revlog.Node, most int, to *intake) error {
	var args []argument
	if len(heads) <= most/2 {
		args = append(args, argument{"heads", joinNodes(heads)})
		most -= len(heads)
	}
	common = append(slices.Clone(common[:min(most, len(common))]), revlog.Null)
	args = append(args, argument{"common", joinNodes(common)})
	read := func(in io.Reader) error { return readChangegroup(bufio.NewReaderSize(in, bundleBuffer), 1, to) }
	if s.peer.capabilities().bundle2 != nil {
		args = append(args, argument{"bundlecaps", spoken}, argument{"cg", "1"})
		read = func(in io.Reader) error { return readBundle(in, to) }
	}
	return s.peer.stream(ctx, command{name: "getbundle", star: true, more: args}, read)
}
