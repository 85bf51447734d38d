package gantry

// Shape says how the history of an origin becomes Git. The zero value finds the layout out, and adds nothing to trees and
// messages. It is for path-based origins; Suits tells what of it is for others.
type Shape struct {
	Layout    string `json:"layout,omitempty"`     // which paths are branches and tags, in the rule language; empty: find out
	KeepEmpty bool   `json:"keep_empty,omitempty"` // revisions that change nothing in a branch's tree make commits, too
	Dressing
}

// Dressing is what is added to trees and messages on request.
type Dressing struct {
	Ignores    bool `json:"ignores,omitempty"`    // .gitignore files, from svn:ignore and svn:global-ignores
	Externals  bool `json:"externals,omitempty"`  // .gitmodules files, from svn:externals or Mercurial's subrepositories
	Attributes bool `json:"attributes,omitempty"` // .gitattributes files, from svn:eol-style, svn:keywords and svn:mime-type, or for pointers to objects of Git LFS
	EmptyDirs  bool `json:"empty_dirs,omitempty"` // placeholders in empty directories
	Trailers   bool `json:"trailers,omitempty"`   // the revision at the end of each message
}

// Suits reports whether everything that is asked for can be asked for of a system. A Git repository is what it is; what
// Mercurial has no properties for can be no wish.
func (s Shape) Suits(vcs VCS) bool {
	switch vcs {
	case Git:
		return s == Shape{}
	case Mercurial:
		s.Attributes, s.Externals, s.Trailers = false, false, false
		return s == Shape{}
	}
	return true
}
