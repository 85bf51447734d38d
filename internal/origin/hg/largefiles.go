package hg

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

const (
	statTogether = 100 // contents that are asked for by one request whether they are there
	contentTries = 3   // of one content, where the connection breaks
	contentPause = 500 * time.Millisecond
	maxLength    = 32 // bytes of the line in which the length of a content is told
	maxLargefile = 1 << 40
)

// Largefiles implements origin.ContentSource, by the commands that the extension largefiles adds to a server
// (hgext/largefiles/proto.py in Mercurial's source).
func (s *Source) Largefiles(ctx context.Context, sums []revlog.Node, take func(sum revlog.Node, in io.Reader) error, absent func(sum revlog.Node, reason string)) error {
	if !lists(s.peer.capabilities().words["largefiles"], "serve") {
		for _, sum := range sums {
			absent(sum, "the server does not have the extension largefiles")
		}
		return nil
	}
	for some := range slices.Chunk(sums, statTogether) {
		if err := s.largefiles(ctx, some, take, absent); err != nil {
			return outcome(ctx, "hg.Largefiles", s.opt.Address, err)
		}
	}
	return nil
}

func (s *Source) largefiles(ctx context.Context, sums []revlog.Node, take func(sum revlog.Node, in io.Reader) error, absent func(sum revlog.Node, reason string)) error {
	var there [][]byte
	err := s.insist(ctx, func(p peer) (err error) {
		commands := make([]command, len(sums))
		for i, sum := range sums {
			commands[i] = command{name: "statlfile", args: []argument{{"sha", sum.String()}}}
		}
		there, err = askAll(ctx, p, commands)
		return err
	})
	if err != nil {
		return err
	}
	for i, sum := range sums {
		if string(bytes.TrimSpace(there[i])) != "0" {
			absent(sum, "the server does not have it")
			continue
		}
		err := s.insist(ctx, func(p peer) error {
			return p.plain(ctx, command{name: "getlfile", args: []argument{{"sha", sum.String()}}}, func(in *bufio.Reader) error {
				return readLargefile(in, func(in io.Reader) error { return take(sum, in) })
			})
		})
		if reason, ok := refusal(ctx, err); ok {
			absent(sum, reason)
		} else if err != nil {
			return fmt.Errorf("the content %v: %w", sum, err)
		}
	}
	return nil
}

// refusal reports whether an error is about one content, which another try would not bring, and why.
func refusal(ctx context.Context, err error) (reason string, ok bool) {
	var fromSink sinkError
	var answered *failure
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &fromSink):
		return "", false
	case errors.As(err, &answered) && answered.status == http.StatusInternalServerError: // as hg has it for whatever went wrong
	case errors.Is(err, origin.ErrTemporary):
		return "", false
	}
	return cmp.Or(gantry.Message(err), err.Error()), true
}

// readLargefile reads a line of a length, and has take take so many bytes.
func readLargefile(in *bufio.Reader, take func(io.Reader) error) error {
	var line []byte
	for {
		c, err := in.ReadByte()
		if err != nil {
			return broken(err)
		}
		if c == '\n' {
			break
		}
		if line = append(line, c); len(line) == maxLength {
			break
		}
	}
	length, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil || length < 0 || length > maxLargefile {
		return &aborted{message: fmt.Sprintf("%.80q, where the length of a content was to come", line)}
	}
	content := &exactly{in: in, left: length}
	if err := take(content); err != nil {
		if content.err != nil {
			return content.err
		}
		return sinkError{err}
	}
	_, err = io.Copy(io.Discard, content)
	return err
}

// exactly reads so many bytes, and fails where they end before.
type exactly struct {
	in   io.Reader
	left int64
	err  error // of reading
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.in.Read(p[:min(int64(len(p)), e.left)])
	if e.left -= int64(n); e.left == 0 {
		return n, nil
	}
	e.err = broken(err)
	return n, e.err
}

// insist does something with the peer for contents, patiently.
func (s *Source) insist(ctx context.Context, do func(peer) error) error {
	return patiently(ctx, func() error {
		if s.contents == nil {
			opt := s.opt
			if key := s.peer.hostKey(); key != "" {
				opt.HostKeys = []string{key}
			}
			p, err := dial(ctx, opt)
			if err != nil {
				return err
			}
			s.contents = p
		}
		return do(s.contents)
	})
}

// patiently does something, and once more where the connection breaks.
func patiently(ctx context.Context, do func() error) error {
	pause := contentPause
	for left := contentTries; ; left-- {
		err := do()
		if !errors.Is(err, origin.ErrTemporary) || left == 1 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}
