package convert

import (
	"gantry"
	"gantry/internal/history"
	"gantry/internal/revlog"
)

// Result is what mapping made of everything read.
type Result struct {
	Refs       []history.Ref // sorted by name
	Head       string        // the ref that HEAD names
	Commits    int64
	LargeFiles []gantry.LargeFile
	Report     Report
}

// Report tells how an import was verified and what was changed on the way.
type Report struct {
	Revisions int64 `json:"revisions"`
	Commits   int64 `json:"commits"`
	Branches  int64 `json:"branches"`
	Tags      int64 `json:"tags"`
	Archived  int64 `json:"archived_refs"` // refs that keep what was deleted at the origin
	Authors   int64 `json:"authors"`

	Files         int64 `json:"files"`           // file versions read
	Bytes         int64 `json:"bytes"`           // their content
	VerifiedTexts int64 `json:"verified_texts"`  // file versions that matched the origin's checksum
	UncheckedText int64 `json:"unchecked_texts"` // file versions that the origin told no checksum of

	ComparedEntries  int64    `json:"compared_entries"`    // of the newest revision, that agree with the origin's listing of it
	Unmapped         int64    `json:"unmapped_revisions"`  // revisions with changes outside of all branches only
	Malformed        int64    `json:"malformed_mergeinfo"` // parts of svn:mergeinfo that make no sense
	RenamedPaths     int64    `json:"renamed_paths"`       // path components that Git cannot hold as they are
	EmptyDirectories int64    `json:"empty_directories"`   // directories of the branch heads that Git cannot hold
	Renamed          []Rename `json:"renamed_refs"`        // branches and tags whose names Git cannot hold
	Heads            []Head   `json:"heads"`               // a digest per ref

	Layout      string       `json:"layout,omitempty"`       // what was decided, in the rule language
	Merges      []Merge      `json:"merges,omitempty"`       // commits that got further parents
	CherryPicks []CherryPick `json:"cherry_picks,omitempty"` // commits that took only some revisions of another branch
	Externals   []External   `json:"externals,omitempty"`    // svn:externals that are no submodules, when these were asked for
	Sources     []Source     `json:"sources,omitempty"`      // branches that were copied together from several places
	Outside     []Outside    `json:"outside,omitempty"`      // what lay outside of every branch
	Hidden      []string     `json:"hidden,omitempty"`       // paths that the origin did not show

	// Of a Mercurial origin.
	Twins           []Twin           `json:"equal_changesets,omitempty"` // changesets that are one commit with another
	Redated         int64            `json:"changed_dates,omitempty"`    // changesets whose date or time zone Git cannot hold
	Retold          int64            `json:"changed_texts,omitempty"`    // changesets whose user or message Git cannot hold as it is
	Extras          map[string]int64 `json:"extras,omitempty"`           // what else changesets say of themselves, and how many do
	Subrepositories []Subrepository  `json:"subrepositories,omitempty"`  // of the branches
	Absent          []Absent         `json:"absent_contents,omitempty"`  // large contents in whose place a pointer or a standin is

	DroppedSignatures int64 `json:"dropped_signatures,omitempty"` // of commits whose author was mapped
}

// Rename is a branch or tag that did not get its own name, or none at all.
type Rename struct {
	Path   string `json:"path"`          // at the origin
	Ref    string `json:"ref,omitempty"` // "" when it was left out
	Reason string `json:"reason,omitempty"`
}

// Merge is a commit that got a further parent.
type Merge struct {
	Commit   string `json:"commit"`
	Path     string `json:"path"` // of the branch at the origin
	Revision int64  `json:"revision"`
	Parent   string `json:"parent"` // the further parent
	Source   string `json:"source"` // its branch at the origin
	Upto     int64  `json:"upto"`   // the last revision of source that is in
}

// CherryPick is a commit that took some revisions of another branch, but not all.
type CherryPick struct {
	Commit    string `json:"commit,omitempty"` // "" when it changed no file
	Path      string `json:"path"`             // of the branch, or of what is below it, at the origin
	Revision  int64  `json:"revision"`
	Source    string `json:"source"`    // where they come from, at the origin
	Revisions string `json:"revisions"` // as svn:mergeinfo writes them: "3,5-7"
}

// External is a line of svn:externals that could not become a submodule.
type External struct {
	Path       string `json:"path"` // of the directory that has it, below its branch
	Definition string `json:"definition"`
	Branch     string `json:"branch"`   // the first that had it, at the origin
	Revision   int64  `json:"revision"` // since when
}

// Source is the choice among several places that a branch was copied together from.
type Source struct {
	Path     string   `json:"path"` // of the branch at the origin
	Revision int64    `json:"revision"`
	Taken    string   `json:"taken"` // the one that the branch continues, as PATH@REVISION
	Others   []string `json:"others"`
}

// Outside is what lay outside of every branch, and where it went.
type Outside struct {
	Path string `json:"path"`          // at the origin
	Ref  string `json:"ref,omitempty"` // "" when it is on no ref
}

// Head is the digest of one ref: its commit and that commit's tree stand for every byte of history and content.
type Head struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
}

// Twin is a changeset that says the same as another one in all that is in a commit.
type Twin struct {
	Changeset string `json:"changeset"`
	Commit    string `json:"commit"`
}

// Subrepository is a repository of its own in a directory of a branch.
type Subrepository struct {
	Ref      string `json:"ref"` // the first that has it
	Path     string `json:"path"`
	Kind     string `json:"kind"` // hg, git or svn
	Source   string `json:"source"`
	Revision string `json:"revision,omitempty"`

	Submodule bool `json:"submodule,omitempty"` // it became one, as was asked for
}

// Absent is a content that a changeset has by its name only, and that is not in the result.
type Absent struct {
	Path      string      `json:"path"`
	OID       string      `json:"oid"`            // the SHA-256 of an object of Git LFS, the SHA-1 of one of largefiles
	Size      int64       `json:"size,omitempty"` // of an object of Git LFS
	Changeset revlog.Node `json:"changeset"`      // the first that has it
	Reason    string      `json:"reason"`
}
