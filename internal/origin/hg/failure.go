package hg

import (
	"fmt"
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
	text := fmt.Sprintf("the server says: %s", a.message)
	if a.hint != "" {
		text += " (" + a.hint + ")"
	}
	return text
}
