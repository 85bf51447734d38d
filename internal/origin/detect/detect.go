// Package detect finds out which version control system answers at an address.
package detect

import (
	"context"
	"errors"
	"log/slog"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/origin"
)

// Outcome is what a detection came to.
type Outcome uint8

const (
	Found      Outcome = iota // VCS and Address say what and where
	Nothing                   // no version control system answers there
	Multiple                  // Choices tell several projects
	NeedsAuth                 // something asks for credentials; VCS tells what, when it shows
	AuthFailed                // it refused the credentials that were given
)

// Result is what is at an address.
type Result struct {
	Outcome Outcome
	VCS     gantry.VCS
	Address origin.Address // where to import from: the given address, or where it led to
	Choices []gantry.ProjectChoice
}

// Options say where to look.
type Options struct {
	Address     origin.Address
	Credentials origin.Credentials
	HostKeys    []string   // as in origin/git
	Hint        gantry.VCS // look for this system only, "" for all
	Egress      *egress.Egress
	Log         *slog.Logger
}

// Detect asks an address, with at most four requests at a time and within ten seconds. Faults of the connection wrap
// origin.ErrTemporary or origin.ErrNotFound (the host does not exist), and an address that the server may not reach is a
// gantry.Error of kind Forbidden.
func Detect(ctx context.Context, opt Options) (Result, error) {
	return Result{}, errors.ErrUnsupported
}
