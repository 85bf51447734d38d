package hg

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gantry"
	"gantry/internal/origin"
)

// malformed is an error of what was sent: it does not keep to its format. It is told by what names the origin.
type malformed string

func (m malformed) Error() string { return string(m) }

func malformedf(format string, args ...any) error { return malformed(fmt.Sprintf(format, args...)) }

// unsupported is found before anything is sent to a sink: what comes is of a kind that this reader does not know. Another
// way to the same revisions may be open.
type unsupported string

func (u unsupported) Error() string { return string(u) }

func unsupportedf(format string, args ...any) error { return unsupported(fmt.Sprintf(format, args...)) }

// aborted is what a server says in place of a bundle, or in it (the part error:abort).
type aborted struct{ message, hint string }

func (a *aborted) Error() string {
	text := "the server says: " + said([]byte(a.message))
	if a.hint != "" {
		text += " (" + said([]byte(a.hint)) + ")"
	}
	return text
}

// failure is what a server's answer, or the lack of one, means.
type failure struct {
	meaning error // an error of package origin, or nil
	status  int   // of http, 0 where it does not come from there
	message string
}

func (f *failure) Error() string {
	if f.meaning != nil {
		return f.meaning.Error() + ": " + f.message
	}
	return f.message
}

func (f *failure) Unwrap() error { return f.meaning }

// outcome says of an operation's error what it was about, and of what kind it is. A context that ended the operation is the
// reason, whatever broke then.
func outcome(ctx context.Context, op string, address origin.Address, err error) error {
	var fromSink sinkError
	var told *gantry.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fromSink):
		return fromSink.error
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %s: %w", op, address, context.Cause(ctx))
	case errors.As(err, &told):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: the answer ends too early", origin.ErrTemporary)
	}
	return gantry.Errorf(kindOf(err), op, "%s: %w", address, err)
}

// kindOf is the kind of an error of reading: what is neither a fault of the connection nor a matter of credentials is one of
// what was sent.
func kindOf(err error) gantry.Kind {
	switch {
	case errors.Is(err, origin.ErrTemporary):
		return gantry.Unavailable
	case errors.Is(err, origin.ErrNotFound):
		return gantry.NotFound
	case errors.Is(err, origin.ErrAuthFailed), errors.Is(err, origin.ErrAuthRequired):
		return gantry.Unauthenticated
	}
	return gantry.Invalid
}
