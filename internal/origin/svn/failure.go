package svn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/origin/web"
)

// Codes of Subversion's errors (subversion/include/svn_error_codes.h).
const (
	codeNoSuchRevision   = 160006
	codeNotFound         = 160013
	codeNotAuthorized    = 170001
	codeUnknownCommand   = 210001
	codeRepositoryAbsent = 210005
	codeAuthentication   = 215000 // up to 215999
	codeAuthorization    = 220000 // up to 220999
)

// failure is an error that the server answered.
type failure struct {
	code    int64 // 0: it was concluded from an answer
	message string
	meaning error // an error of package origin, or nil
	final   bool  // nothing can be asked on the connection after it
}

func (f *failure) Error() string {
	text := f.message
	if f.code != 0 {
		text = fmt.Sprintf("the server says: %s (E%06d)", f.message, f.code)
	}
	if f.meaning != nil {
		return f.meaning.Error() + ": " + text
	}
	return text
}

func (f *failure) Unwrap() error { return f.meaning }

func (f *failure) kind() gantry.Kind {
	switch {
	case errors.Is(f.meaning, origin.ErrNotFound):
		return gantry.NotFound
	case errors.Is(f.meaning, origin.ErrAuthFailed), errors.Is(f.meaning, origin.ErrAuthRequired):
		return gantry.Unauthenticated
	case errors.Is(f.meaning, origin.ErrTemporary):
		return gantry.Unavailable
	}
	return gantry.Invalid
}

// outcome says of an operation's error what it was about, and of what kind it is. A context that ended the operation is the
// reason, whatever broke then.
func outcome(ctx context.Context, op string, address *url.URL, cancelled bool, err error) error {
	var fromSink sinkError
	var protocol malformed
	var answer *failure
	var elsewhere *web.Moved
	var told *gantry.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fromSink):
		return fromSink.error
	case cancelled:
		return fmt.Errorf("%s: %s: %w", op, address, context.Cause(ctx))
	case errors.As(err, &told):
		return err
	case errors.As(err, &elsewhere):
		return gantry.Errorf(gantry.Invalid, op, "%s: %w", address, err)
	case errors.As(err, &answer):
		return gantry.Errorf(answer.kind(), op, "%s: %w", address, err)
	case errors.As(err, &protocol), errors.Is(err, errTooManyChanges):
		return gantry.Errorf(gantry.Invalid, op, "%s: %w", address, err)
	case errors.Is(err, origin.ErrTemporary):
		return gantry.Errorf(gantry.Unavailable, op, "%s: %w", address, err)
	}
	return fmt.Errorf("%s: %s: %w", op, address, err)
}

// answered reports whether err is the server's answer with a code.
func answered(err error, code int64) bool {
	var f *failure
	return errors.As(err, &f) && f.code == code
}

// readFailure reads the rest of a failure after its word and returns it: a chain of errors, outermost first. The
// innermost message tells most, and the first code that means something to an import says what the failure is.
func (s *Session) readFailure() error {
	const most = 1000 // errors that led to each other
	f := &failure{message: "an error without a description"}
	chain := 0
	err := s.wire.each(func() error {
		if chain++; chain > most {
			return malformed("its errors have no end")
		}
		if err := s.wire.open(); err != nil {
			return err
		}
		code, err := s.wire.number()
		if err != nil {
			return err
		}
		message, err := s.wire.short(maxText)
		if err != nil {
			return err
		}
		if f.code == 0 || f.meaning == nil && meaning(code, s.opt.Credentials) != nil {
			f.code, f.meaning = code, meaning(code, s.opt.Credentials)
		}
		if len(message) > 0 {
			f.message = strings.ToValidUTF8(string(message), "?")
		}
		return s.wire.close()
	})
	if err != nil {
		return err
	}
	if err := s.wire.close(); err != nil {
		return err
	}
	return f
}

// meaning is what a code means to an import that has these credentials.
func meaning(code int64, creds origin.Credentials) error {
	switch {
	case code == codeNotFound, code == codeRepositoryAbsent:
		return origin.ErrNotFound
	case code == codeNotAuthorized, code/1000 == codeAuthentication/1000, code/1000 == codeAuthorization/1000:
		return origin.AuthError(creds)
	}
	return nil
}
