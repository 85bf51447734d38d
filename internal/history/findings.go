package history

import (
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// Merge is a commit that got a further parent.
type Merge struct {
	Commit   pack.ID
	Path     string // of the branch at the origin
	Revision int64
	Parent   pack.ID // the further parent
	Source   string  // its branch at the origin
	Upto     int64   // the last revision of Source that is in
}

// CherryPick is a commit that took some revisions of another branch, but not all.
type CherryPick struct {
	Commit    pack.ID
	Path      string // of the branch, or of what is below it, at the origin
	Revision  int64
	Source    string // where they come from, at the origin
	Revisions string // as svn:mergeinfo writes them: "3,5-7"
}

// Source is the choice among several places that a branch was copied together from.
type Source struct {
	Path     string // of the branch at the origin
	Revision int64
	Taken    string   // the one that the branch continues, as PATH@REVISION
	Others   []string // those that it does not
}

// Outside is what lay outside of every branch, and where it went.
type Outside struct {
	Path string // at the origin
	Ref  string // "" when it is on no ref
}

// Twin is a changeset that is one commit with another.
type Twin struct {
	Commit pack.ID
	Node   revlog.Node
}

// Subrepository is a repository that a changeset has in one of its directories.
type Subrepository struct {
	Ref      string // a branch that has it
	Path     string
	Source   string // as .hgsub has it, without its kind
	Kind     string // hg, git or svn
	Revision string // as .hgsubstate has it, "" when it does not have it

	Submodule bool // it became one
}
