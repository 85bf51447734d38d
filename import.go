package gantry

import "time"

// VCS is a version control system, in the contract's spelling.
type VCS string

const (
	Git        VCS = "git"
	Subversion VCS = "subversion"
	Mercurial  VCS = "mercurial"
	TFVC       VCS = "tfvc"
)

var vcsSpellings = map[string]VCS{
	"git": Git, "subversion": Subversion, "svn": Subversion, "mercurial": Mercurial, "hg": Mercurial, "tfvc": TFVC, "tfs": TFVC,
}

// ParseVCS reads the contract's word for a version control system or one of its aliases.
func ParseVCS(word string) (VCS, bool) {
	v, ok := vcsSpellings[word]
	return v, ok
}

// ImportStatus is the state of an import. No other values ever reach a client.
type ImportStatus string

const (
	StatusDetecting              ImportStatus = "detecting"
	StatusImporting              ImportStatus = "importing"
	StatusMapping                ImportStatus = "mapping"
	StatusPushing                ImportStatus = "pushing"
	StatusComplete               ImportStatus = "complete"
	StatusAuthFailed             ImportStatus = "auth_failed"
	StatusError                  ImportStatus = "error"
	StatusDetectionNeedsAuth     ImportStatus = "detection_needs_auth"
	StatusDetectionFoundNothing  ImportStatus = "detection_found_nothing"
	StatusDetectionFoundMultiple ImportStatus = "detection_found_multiple"
)

// Live reports whether a worker has to move an import in this state on.
func (s ImportStatus) Live() bool {
	switch s {
	case StatusDetecting, StatusImporting, StatusMapping, StatusPushing:
		return true
	}
	return false
}

// workerMoves are the transitions that a worker makes. Requests (PUT, PATCH, DELETE) may leave any state.
var workerMoves = map[ImportStatus][]ImportStatus{
	StatusDetecting: {
		StatusImporting, StatusDetectionNeedsAuth, StatusDetectionFoundNothing, StatusDetectionFoundMultiple, StatusAuthFailed, StatusError,
	},
	StatusImporting: {
		StatusMapping, StatusAuthFailed, StatusError,
		// A restart answers "importing" also when the kind of origin is not known yet: detection then runs within it.
		StatusDetectionNeedsAuth, StatusDetectionFoundNothing, StatusDetectionFoundMultiple,
	},
	StatusMapping: {StatusPushing, StatusError},
	StatusPushing: {StatusComplete, StatusError},
}

// MayMove reports whether a worker may take an import from one state to another.
func MayMove(from, to ImportStatus) bool {
	for _, s := range workerMoves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// LFSChoice says what happens to large files.
type LFSChoice string

const (
	LFSUndecided LFSChoice = "undecided" // large files stay ordinary Git objects
	LFSOptIn     LFSChoice = "opt_in"    // they become Git LFS objects
	LFSOptOut    LFSChoice = "opt_out"   // they are left out of history
)

// LargeFileThreshold is the contract's bound in bytes: a file of more is a large file.
const LargeFileThreshold = 100_000_000

// ProjectChoice is one of several projects found at an origin. Exactly one of the telling keys is set, by VCS.
type ProjectChoice struct {
	VCS         VCS    `json:"vcs"`
	HumanName   string `json:"human_name"`
	TFVCProject string `json:"tfvc_project,omitempty"`
	SVNRoot     string `json:"svn_root,omitempty"`
	VCSURL      string `json:"vcs_url,omitempty"`
}

// Same reports whether two choices name the same project; the label does not count.
func (c ProjectChoice) Same(other ProjectChoice) bool {
	c.HumanName, other.HumanName = "", ""
	return c == other
}

// Import is the record of an import. There is at most one for a repository.
type Import struct {
	ID           int64
	RepositoryID int64
	Generation   int64 // fencing: a write by a worker names the generation it was given

	VCS         VCS    // empty until detected
	VCSURL      string // without user information; empty when the origin was uploaded
	Uploaded    bool   // the origin is a file that was sent to the server
	TFVCProject string
	SVNRoot     string
	Shape       Shape
	UseLFS      LFSChoice

	Status         ImportStatus
	StatusText     string
	FailedStep     ImportStatus // with StatusError
	Message        string       // with StatusError: what failed, on what, what to do
	ProjectChoices []ProjectChoice

	Percent      *int   // 0 to 100 of the raw step; nil until known
	CommitCount  *int64 // revisions the raw step will read; nil until known
	PushPercent  *int
	AuthorsCount int64

	RawDone         bool // the raw step has ended at least once; large-file figures are known
	LargeFilesCount int64
	LargeFilesSize  int64 // bytes

	CreatedAt   time.Time
	UpdatedAt   time.Time
	CompletedAt time.Time // zero until complete; raw data is kept for a time after it
}

// Author is one identity found at the origin, and the Git identity it is given.
type Author struct {
	ID         int64
	ImportID   int64
	RemoteID   string // identifier in the origin system, never changes
	RemoteName string
	Email      string
	Name       string
}

// LargeFile is one file of more than LargeFileThreshold bytes found in an import.
type LargeFile struct {
	RefName string // Git ref that holds the file
	Path    string
	OID     string // Git blob id
	Size    int64  // bytes
}
