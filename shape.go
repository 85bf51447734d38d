package gantry

// Shape says how the history of a path-based origin becomes Git. The zero value finds the layout out, and adds nothing to
// trees and messages.
type Shape struct {
	Layout    string `json:"layout,omitempty"`     // which paths are branches and tags, in the rule language; empty: find out
	KeepEmpty bool   `json:"keep_empty,omitempty"` // revisions that change nothing in a branch's tree make commits, too
	Dressing
}

// Dressing is what is added to trees and messages on request.
type Dressing struct {
	Ignores    bool `json:"ignores,omitempty"`    // .gitignore files, from svn:ignore and svn:global-ignores
	Externals  bool `json:"externals,omitempty"`  // .gitmodules files, from svn:externals
	Attributes bool `json:"attributes,omitempty"` // .gitattributes files, from svn:eol-style, svn:keywords and svn:mime-type
	EmptyDirs  bool `json:"empty_dirs,omitempty"` // placeholders in empty directories
	Trailers   bool `json:"trailers,omitempty"`   // the revision at the end of each message
}
