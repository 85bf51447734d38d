// Package synth invents the history of a software project: people, trunk, branches, merges, releases, tags, and source
// files that grow and are edited line by line. The same Params give the same history on every machine. It is told in
// steps that any version control system can express; svndump writes it down for Subversion.
package synth

import (
	"iter"
	"time"
)

// Params choose a history. Everything else in it follows from them.
type Params struct {
	Seed      uint64
	Revisions int // how many, at least 2
}

// Revision is one change of the whole project, by one author at one moment.
type Revision struct {
	Number  int    // from 1, without gaps
	Author  string // "" in a few: old conversions lose them
	Message string
	Time    time.Time
	Steps   []Step
}

// LineKind says what a line of development is for.
type LineKind uint8

const (
	Trunk LineKind = iota
	Branch
	Tag
)

// Line is a line of development. Its identity is the pointer: a name may be used again after its line was closed.
type Line struct {
	Kind LineKind
	Name string

	tree     tree
	previous tree // before the last revision that changed it
	born     int
	changed  int  // the last revision that changed it
	common   tree // what it and trunk last had in common
	ahead    bool // it has commits that trunk has not
	merged   bool // trunk has all of it
}

// Step is what a revision does to one line: Fork, Commit, Merge, Pick or Close.
type Step interface{ step() }

type (
	// Fork begins Line as From was at revision At. From is nil for trunk, the first line of all, which begins empty.
	Fork struct {
		Line, From *Line
		At         int
	}

	// Commit edits Line.
	Commit struct {
		Line    *Line
		Changes []Change
	}

	// Merge brings all that From had at revision At into Into. An Add takes the file from there as it is.
	Merge struct {
		Into, From *Line
		At         int
		Changes    []Change
	}

	// Pick repeats the edits of one revision of From on Into.
	Pick struct {
		Into, From *Line
		Revision   int
		Changes    []Change
	}

	// Close deletes Line.
	Close struct {
		Line *Line
	}
)

func (Fork) step()   {}
func (Commit) step() {}
func (Merge) step()  {}
func (Pick) step()   {}
func (Close) step()  {}

// Action is what a Change does.
type Action uint8

const (
	Add    Action = iota // a new path; a directory when File is nil
	Edit                 // new content or kind of a file
	Move                 // From, with all below it, is at Path now; it keeps its content
	Remove               // with all below it
)

// Change is one edit of a line's tree. Parents come before children.
type Change struct {
	Action Action
	Path   string
	From   string
	File   *File
	Was    *File // of an Edit: the version before it
	Dir    bool  // of a Move: it is a directory
}

// Revisions tells the history of p in order.
func Revisions(p Params) iter.Seq[*Revision] {
	return func(yield func(*Revision) bool) {
		s := newStory(p)
		for range p.Revisions {
			if !yield(s.next()) {
				return
			}
		}
	}
}
