// Package history knows what an import has read: the raw log of an origin's revisions, the table of their authors, and
// the layout that turns paths into branches and tags. Mapping a raw log to commits is a pure function of these.
//
// The formats of the raw log are this package's own; see log.go.
package history

// Author is one identity found at an origin. Its ordinal is its place in the author table, which grows by first
// appearance in the raw log.
type Author struct {
	RemoteID   string   // identifier at the origin; never changes
	RemoteName string   // display name at the origin
	Default    Identity // what commits carry unless somebody maps the author
}

// Identity is the name and address that a Git commit carries.
type Identity struct {
	Name  string
	Email string
}

// Segment is the part of one file of the raw log that is valid: its name within the staging directory and its length.
type Segment struct {
	Name   string `json:"name"`
	Length int64  `json:"length"`
}
