package svn

import (
	"context"
	"errors"
	"fmt"

	"gantry/internal/origin"
)

// Replay implements origin.PathSource.
func (s *Session) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	return s.do(ctx, "svn.Replay", func() error {
		first = max(first, 1)
		if first > last {
			return nil
		}
		if s.noRange {
			return s.replayEach(first, last, sink)
		}
		err := s.replayRange(first, last, sink)
		if errors.Is(err, errNoReplayRange) {
			s.noRange = true
			s.opt.Log.Info("the server has no replay-range, so revisions are asked for one by one", "url", s.opt.URL.String())
			return s.replayEach(first, last, sink)
		}
		return err
	})
}

var errNoReplayRange = errors.New("svn: the server does not know replay-range")

// replayRange has the server send all revisions in one go.
func (s *Session) replayRange(first, last int64, sink origin.Sink) error {
	if err := s.wire.send("( replay-range ( %d %d 0 true ) )", first, last); err != nil {
		return err
	}
	if err := s.authenticate(); err != nil {
		return err
	}
	for rev := first; rev <= last; rev++ {
		props, err := s.revprops()
		if rev == first && answered(err, codeUnknownCommand) {
			return errNoReplayRange
		}
		if err != nil {
			return fmt.Errorf("r%d: %w", rev, err)
		}
		if err := s.edit(newRevision(rev, props), sink); err != nil {
			return fmt.Errorf("r%d: %w", rev, err)
		}
	}
	return s.response(func() error { return nil })
}

// revprops reads the item before each revision's edits. The server may answer with a failure instead.
func (s *Session) revprops() (props []origin.Prop, err error) {
	if err := s.wire.open(); err != nil {
		return nil, err
	}
	word, err := s.wire.word()
	if err != nil {
		return nil, err
	}
	switch string(word) {
	case "revprops":
		if props, err = s.wire.proplist(); err != nil {
			return nil, err
		}
		return props, s.wire.close()
	case "failure":
		return nil, s.readFailure()
	}
	return nil, malformedf("%q came for a revision", word)
}

// replayEach is replayRange for servers older than Subversion 1.5.
func (s *Session) replayEach(first, last int64, sink origin.Sink) error {
	for rev := first; rev <= last; rev++ {
		var props []origin.Prop
		err := s.command(func() (err error) {
			props, err = s.wire.proplist()
			return err
		}, "( rev-proplist ( %d ) )", rev)
		if err != nil {
			return fmt.Errorf("r%d: %w", rev, err)
		}
		if err := s.wire.send("( replay ( %d 0 true ) )", rev); err != nil {
			return err
		}
		if err := s.authenticate(); err != nil {
			return fmt.Errorf("r%d: %w", rev, err)
		}
		if err := s.edit(newRevision(rev, props), sink); err != nil {
			return fmt.Errorf("r%d: %w", rev, err)
		}
		if err := s.response(func() error { return nil }); err != nil {
			return fmt.Errorf("r%d: %w", rev, err)
		}
	}
	return nil
}

// edit sends one revision to the sink as its edits come.
func (s *Session) edit(rev *origin.Revision, sink origin.Sink) error {
	e := &raEditor{editor: editor{rev: rev.Number, root: s.info.Path, spool: &s.spool, out: emitter{sink: sink}}, s: s, wire: s.wire}
	if err := e.out.begin(rev); err != nil {
		return err
	}
	const most = 64 << 20 // commands; parts of a text are some
	for n := 0; !e.finished; n++ {
		if n == most {
			return malformed("the edits of a revision have no end")
		}
		if err := e.command(); err != nil {
			return err
		}
	}
	return e.out.end()
}
