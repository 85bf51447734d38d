// Package git reads Git origins: it fetches them through the system's git into a throw-away repository, lists authors and
// large files, and rewrites history where an author must change.
package git

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// Options say what to fetch.
type Options struct {
	Address     origin.Address
	Credentials origin.Credentials // for ssh, Password may be a private key in PEM form
	HostKeys    []string           // known_hosts lines that an ssh host must match; none: its first key is trusted and reported
	Agent       string             // socket of an ssh agent, "" for none; for the command line only

	Dir      string // the throw-away repository: must not exist, is removed when Fetch fails
	Git      *gitdir.Git
	Egress   *egress.Egress
	Log      *slog.Logger
	Progress func(Progress) // called from one goroutine; may be nil
}

// Phase is a part of a fetch that git reports on.
type Phase string

const (
	Counting  Phase = "Counting objects"
	Receiving Phase = "Receiving objects"
	Resolving Phase = "Resolving deltas"
)

// Progress is how far a phase has come.
type Progress struct {
	Phase       Phase
	Done, Total int64
}

// Result is what a fetch brought.
type Result struct {
	Refs    []gitdir.Ref // branches and tags that were kept, by name
	Skipped []Skipped    // refs that were left out
	Head    string       // the branch that HEAD names (refs/heads/main), which exists unless there are no branches; "" without branches
	Commits int64
	HostKey string // ssh: a known_hosts line of the key that the host showed
}

// Skipped is a ref of the origin that cannot be kept.
type Skipped struct {
	Name   string
	Reason string
}

// Fetch brings all branches and tags of an origin into a new bare repository at opt.Dir, every object checked strictly.
// Errors wrap origin.ErrAuthRequired, ErrAuthFailed, ErrNotFound, ErrTemporary or ErrCorrupt, or are a gantry.Error with
// a message for people; none contains a credential.
func Fetch(ctx context.Context, opt Options) (*Result, error) { return nil, errors.ErrUnsupported }

// FetchBundle is Fetch from a Git bundle file; Address, credentials and Egress of the options are not used.
func FetchBundle(ctx context.Context, file string, opt Options) (*Result, error) {
	return nil, errors.ErrUnsupported
}

// Identity is a name and an e-mail address as they stand in commits. Raw bytes.
type Identity struct {
	Email string
	Name  string
}

// Authors calls each once for every author of a commit in the repository at dir, in the order of their appearance,
// parents before children; the order is the same for the same refs.
func Authors(ctx context.Context, g *gitdir.Git, dir string, each func(Identity) error) error {
	return errors.ErrUnsupported
}

// LargeFile is a blob of more than the asked size, with one path and one ref that it can be found by.
type LargeFile struct {
	ID   pack.ID
	Size int64
	Path string
	Ref  string
}

// LargeFiles lists the blobs of more than threshold bytes, in the order of their ids.
func LargeFiles(ctx context.Context, g *gitdir.Git, dir string, threshold int64) ([]LargeFile, error) {
	return nil, errors.ErrUnsupported
}

// Rewritten is the result of a rewrite.
type Rewritten struct {
	Refs       []gitdir.Ref        // every ref of the repository, by its new id
	Commits    map[pack.ID]pack.ID // commits that changed, old to new
	Signatures int64               // signatures that were dropped, because what they signed has changed
}

// Rewrite changes the identities of authors, committers and taggers of all history at dir: identity tells the new one for
// each that it wants changed. It adds new objects to the repository and moves none of its refs. Commits without a change
// in themselves or behind them keep their ids.
func Rewrite(ctx context.Context, g *gitdir.Git, dir string, identity func(Identity) (Identity, bool)) (*Rewritten, error) {
	return nil, errors.ErrUnsupported
}

// PackWriter returns a function for gitdir.Push and gitdir.Install that sends all objects reachable from tips in the
// repository at dir, without what is reachable from have. Progress, which may be nil, counts objects written.
func PackWriter(g *gitdir.Git, dir string, tips, have []pack.ID, progress func(done, total int64)) func(ctx context.Context, w io.Writer) error {
	return func(context.Context, io.Writer) error { return errors.ErrUnsupported }
}
