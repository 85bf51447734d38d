// Package lift takes an origin from its address to commits and refs, whatever system it is: it picks the reader, and is
// the one way that the import service and the command line share.
package lift

import (
	"context"
	"io"
	"log/slog"
	"strconv"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// Origin says what to lift: something at an address, or a file.
type Origin struct {
	VCS         gantry.VCS
	Address     origin.Address
	Credentials origin.Credentials
	File        string    // a Subversion dump, a Mercurial or a Git bundle; then Address and Credentials are not used
	LFS         string    // address of the store of Git LFS of a Mercurial origin that is no file, "" for its own
	Stream      io.Reader // a Subversion dump or a Mercurial bundle that is read once, from standard input; then nothing else is used
}

// Options of a lift.
type Options struct {
	Dir      string                   // staging directory, made when missing
	Writer   string                   // a word that no other owner of Dir ever used, without a hyphen
	Earlier  func(writer string) bool // reports whether a word is that of an owner before this one
	Journal  convert.Journal
	Progress func(convert.Progress) // called often, from one goroutine at a time
	Git      *gitdir.Git
	Egress   *egress.Egress
	Log      *slog.Logger

	LargeFile int64    // size in bytes above which a file is a large file
	HostKeys  []string // keys that an ssh host may show, as in package sshdial; none: its first key is trusted and remembered
	Agent     string   // socket of an ssh agent, "" for none
}

// Author names one identity at the origin.
type Author struct {
	RemoteID   string
	RemoteName string
}

// MapOptions say how what was read becomes commits.
type MapOptions struct {
	Authors       map[Author]history.Identity // those that are not in it keep what the origin says
	Root          string                      // the chosen one of Projects, "" for everything
	DefaultBranch string
	Shape         gantry.Shape // those fields that Suits accepts for the origin

	// Submodule tells what a changeset of another Mercurial repository is in Git; nil when nobody knows.
	Submodule func(source, revision string) (history.Submodule, bool)

	// Commit is told of every commit: its id, the path or name of its branch at the origin, and the revision there. May
	// be nil.
	Commit func(id pack.ID, branch, revision string) error
}

// Receiver is what the receiver of a pack has already. The zero value has nothing.
type Receiver struct {
	Tips    []pack.ID  // its refs
	Objects pack.IDSet // all that can be reached from them
}

// Lift is one origin on its way. It is used by one goroutine at a time.
type Lift interface {
	// Read is the raw step. It goes on from the last checkpoint, and after a complete one brings in what is new.
	// Errors wrap those of internal/origin where they apply.
	Read(ctx context.Context) error

	// Projects returns the roots of several projects found in what was read; empty when there is one.
	Projects(ctx context.Context) ([]string, error)

	// Map turns what was read into commits and refs. The same input always gives the same ids.
	Map(ctx context.Context, opt MapOptions) (*convert.Result, error)

	// WritePack writes a complete pack of all that a result's refs reach without what the receiver has.
	WritePack(ctx context.Context, w io.Writer, result *convert.Result, to Receiver) error

	// Attach adds to the bare repository at dir what its pointers name: objects of Git LFS. Install does that, too.
	Attach(dir string) error

	// Install makes a result the complete new bare repository at dir, which must not exist or be empty.
	Install(ctx context.Context, dir string, result *convert.Result) error

	io.Closer
}

// Open takes up the lift of an origin where its journal says that it stands. It does not connect to the origin.
func Open(ctx context.Context, from Origin, opt Options) (Lift, error) {
	switch from.VCS {
	case gantry.Subversion:
		return openPaths(ctx, from, opt)
	case gantry.Git:
		return openRepository(ctx, from, opt)
	case gantry.Mercurial:
		return openGraph(ctx, from, opt)
	}
	return nil, gantry.Errorf(gantry.Invalid, "lift.Open", "%s repositories are recognised but cannot be read by this version of Gantry; Git, Subversion and Mercurial can", from.VCS)
}

// installation is what a result consists of, but for its objects.
func installation(result *convert.Result) gitdir.Installation {
	in := gitdir.Installation{Head: result.Head}
	for _, ref := range result.Refs {
		in.Refs = append(in.Refs, gitdir.Ref{Name: ref.Name, ID: ref.ID})
	}
	return in
}

// hostKeys are those that an ssh host may show: the given ones, else the one that it showed the first time.
func hostKeys(given []string, shown string) []string {
	if len(given) == 0 && shown != "" {
		return []string{shown}
	}
	return given
}

func revision(n int64) string { return strconv.FormatInt(n, 10) }
