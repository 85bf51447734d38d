// Package origin defines what a reader of a version control system gives to a conversion, independent of the system.
//
// Subversion and Team Foundation Version Control are path-based: a revision is a list of edits to one tree that holds
// all branches. Such readers implement PathSource. Readers of graph-based systems define their own form.
package origin

import (
	"context"
	"errors"
	"io"
	"time"
)

// Errors that mean something to the state of an import. Readers wrap them with what was asked and where.
var (
	ErrAuthRequired = errors.New("the origin asks for credentials")
	ErrAuthFailed   = errors.New("the origin refused the credentials")
	ErrNotFound     = errors.New("nothing is at this address")
	ErrTemporary    = errors.New("the connection failed") // worth another try from the last checkpoint
	ErrCorrupt      = errors.New("the origin's data does not match its own checksum")
)

// Credentials are what the user gave for the origin. The zero value is anonymous.
type Credentials struct {
	Username string
	Password string
}

// Empty reports whether no credentials were given.
func (c Credentials) Empty() bool { return c.Username == "" && c.Password == "" }

// String never shows the password, so that credentials may end in a log by accident only.
func (c Credentials) String() string { return "credentials of " + c.Username }

// Info says what a path-based origin is.
type Info struct {
	UUID string // identifier of the repository, the domain of bare user names
	Root string // address of the repository's root
	Path string // path below the root that is being read, "" for all of it; slash-separated, no slash at the ends
	Head int64  // newest revision, or UnknownHead

	HostKey string // that an ssh host showed, as in package sshdial
}

// UnknownHead is the Info.Head of an origin that is read to its end, which nobody knows before. Its Replay takes any last
// revision.
const UnknownHead = -1

// PathSource reads one path-based origin. It is used by one goroutine at a time.
type PathSource interface {
	Info() Info

	// Replay sends the revisions first to last, in order, to a sink, and returns the sink's error unchanged when it has
	// one. A fault of the connection wraps ErrTemporary; whatever was sent before it stays valid, up to the last
	// EndRevision. Revision 0 is never sent.
	Replay(ctx context.Context, first, last int64, sink Sink) error

	io.Closer
}

// Lister is a PathSource that can be asked what is there.
type Lister interface {
	// List tells what is in each of several directories as of a revision, in no order. What the reader may not see is
	// left out; of a directory that it may not see the list is nil.
	List(ctx context.Context, revision int64, dirs []Directory) ([][]Entry, error)

	// Look tells what the reader sees at a path as of a revision.
	Look(ctx context.Context, revision int64, path string) (Sight, error)
}

// Directory is one that a Lister is asked for.
type Directory struct {
	Path    string
	Changes bool // tell Entry.Changed; svnserve has to read a file for each entry then
}

// Entry is one entry of a directory.
type Entry struct {
	Name    string
	Dir     bool
	Size    int64 // of a file's content; -1 when it is not told
	Changed int64 // the last revision that changed it or something in it; -1 when it is not told
}

// Sight is what a reader sees at a path.
type Sight uint8

const (
	Absent  Sight = iota
	Present       // it may look
	Refused       // it may not, whether something is there or not
)

// Revision is the head of one revision.
type Revision struct {
	Number  int64
	Author  string    // raw bytes; "" when missing, see HasAuthor
	Time    time.Time // UTC; zero when missing or invalid
	Message string    // raw bytes
	Props   []Prop    // further revision properties

	HasAuthor bool
}

// Prop is a property's new value. Value is nil when the property is deleted.
type Prop struct {
	Name  string
	Value []byte
}

// Action is what a change does to its path.
type Action uint8

const (
	Modify  Action = iota
	Add            // the path did not exist, or was deleted earlier in the revision
	Delete         // with everything below
	Replace        // Delete and Add in one
)

// Change is one edit of a revision. Edits are applied in the order in which they are sent: a directory before what is
// in it. Paths are relative to Info.Path, slash-separated raw bytes without a slash at either end; "" is the root. The
// root is there before the first revision and is only ever modified or replaced: by an empty directory, a copy or, where
// it is not the repository's own, a file.
type Change struct {
	Action Action
	Path   string
	Dir    bool // false for Delete, whose origin need not say

	// Add and Replace may copy: what is at CopyPath as of CopyRev, with all below it, is at Path before later edits.
	Copied   bool
	CopyPath string
	CopyRev  int64

	Props     []Prop
	FullProps bool // Props are all that the path has, others are gone (dump format 2)

	Text Text // nil: the content stays as it was (after a copy: as the source was; of a new file: empty)

	// What the origin says of the resulting content; nil when it says nothing.
	MD5  []byte
	SHA1 []byte
}

// Text is the new content of a file: complete, or a delta against the content that the path had before (after a copy:
// against the copy source; of a new file: against nothing).
type Text interface {
	// Delta reports whether Open yields an svndiff stream (versions 0, 1 or 2) instead of the content itself.
	Delta() bool
	// BaseMD5 is what the origin says of the content a delta applies to, nil when it says nothing.
	BaseMD5() []byte
	// Open returns the stream. It may be called once, before the Sink's Change returns.
	Open() (io.ReadCloser, error)
}

// Sink takes a history. Calls come in order from one goroutine. A sink may keep what it is given, except for a Text. A
// revision that has not ended may begin again: then what came of it is void, and comes once more.
type Sink interface {
	BeginRevision(*Revision) error
	Change(*Change) error
	EndRevision() error
}
