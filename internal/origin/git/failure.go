package git

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/origin"
)

// What git says in the C locale, and what it means.
var (
	saysAuth      = regexp.MustCompile(`Authentication failed|could not read (?:Username|Password)|error: 40[13]\b|Permission denied \(|` + regexp.QuoteMeta(origin.ErrAuthRequired.Error()) + `|` + regexp.QuoteMeta(origin.ErrAuthFailed.Error()))
	saysNotFound  = regexp.MustCompile(`(?i)repository .*not found|error: 40[4]\b|does not appear to be a git repository|access denied or repository not exported`)
	saysTemporary = regexp.MustCompile(`(?i)error: (?:429|5\d\d)\b|early EOF|hung up|connection (?:reset|refused|timed out)|RPC failed|could(?:n't| not) resolve|failed to connect|unexpected disconnect|operation timed out|GnuTLS recv|SSL_|` + regexp.QuoteMeta(origin.ErrTemporary.Error()))
	saysCorrupt   = regexp.MustCompile(`(?i)inflate:|pack is corrupted|SHA1 mismatch|did not send all necessary objects|bad pack|missing blob|missing tree`)
)

// classify says what a failed git command means to an import. The order matters: a check that fails also ends the
// connection, which git reports as well.
func classify(address origin.Address, creds origin.Credentials, exit *gitdir.ExitError) error {
	if err := gitdir.ObjectFault(exit.Stderr); err != nil {
		return err
	}
	switch said := exit.Stderr; {
	case strings.Contains(said, "shallow update not allowed"):
		return errShallow(address)
	case saysAuth.MatchString(said):
		return refusedError(address, creds)
	case saysNotFound.MatchString(said):
		return fmt.Errorf("%s: %w: %w", address, origin.ErrNotFound, exit)
	case saysCorrupt.MatchString(said):
		return fmt.Errorf("%s: %w: %w", address, origin.ErrCorrupt, exit)
	case saysTemporary.MatchString(said):
		return fmt.Errorf("%s: %w: %w", address, origin.ErrTemporary, exit)
	}
	return fmt.Errorf("%s: %w", address, exit)
}

// scrub makes sure that no text of an error shows a credential, whatever git or a server repeated.
func scrub(err error, creds origin.Credentials) error {
	if err == nil || creds.Password == "" {
		return err
	}
	words := []string{creds.Password, url.QueryEscape(creds.Password), url.PathEscape(creds.Password), url.UserPassword("", creds.Password).String()[1:]}
	text := err.Error()
	clean := text
	for _, word := range words {
		clean = strings.ReplaceAll(clean, word, "***")
	}
	if clean == text {
		return err
	}
	scrubbed := &scrubbedError{text: clean}
	for _, sentinel := range []error{origin.ErrAuthRequired, origin.ErrAuthFailed, origin.ErrNotFound, origin.ErrTemporary, origin.ErrCorrupt} {
		if errors.Is(err, sentinel) {
			scrubbed.meaning = sentinel
		}
	}
	var known *gantry.Error
	if errors.As(err, &known) {
		return gantry.Errorf(known.Kind, known.Op, "%w", scrubbed)
	}
	return scrubbed
}

// scrubbedError has lost its causes, whose texts would tell, but not its meaning.
type scrubbedError struct {
	text    string
	meaning error // one of origin's, nil for none
}

func (e *scrubbedError) Error() string { return e.text }
func (e *scrubbedError) Unwrap() error { return e.meaning }
