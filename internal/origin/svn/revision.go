package svn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gantry/internal/origin"
)

// Bounds on what a server or a dump may make us hold. Subversion itself sets none; these are far beyond what it is used
// for, and small enough to be no attack.
const (
	maxPath       = 64 << 10 // bytes
	maxDepth      = 2000     // directories in each other
	maxPropName   = 64 << 10 // bytes
	maxPropsBytes = 64 << 20 // names and values of one node or revision
	maxChanges    = 2 << 20  // of one revision
)

// newRevision tells the properties that everybody has from the others. A date that cannot be read stays among the others.
func newRevision(number int64, props []origin.Prop) *origin.Revision {
	rev := &origin.Revision{Number: number}
	for _, p := range props {
		switch p.Name {
		case "svn:author":
			rev.Author, rev.HasAuthor = string(p.Value), true
			continue
		case "svn:log":
			rev.Message = string(p.Value)
			continue
		case "svn:date":
			if t, err := time.Parse(time.RFC3339, string(p.Value)); err == nil {
				rev.Time = t.UTC()
				continue
			}
		}
		rev.Props = append(rev.Props, p)
	}
	sortProps(rev.Props)
	return rev
}

// sortProps gives properties an order of their own: servers send them in that of a randomly seeded hash table.
func sortProps(props []origin.Prop) {
	slices.SortStableFunc(props, func(a, b origin.Prop) int { return cmp.Compare(a.Name, b.Name) })
}

// cleanPath makes a path relative and refuses what is no path in a repository, so that nothing after the readers has to
// fear "..", empty names or a depth without bound.
func cleanPath(path string) (string, error) {
	path = strings.Trim(path, "/")
	if path == "" {
		return "", nil
	}
	if len(path) > maxPath || strings.Count(path, "/") >= maxDepth {
		return "", fmt.Errorf("a path is longer or deeper than Gantry reads: %.100q", path)
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || strings.IndexByte(name, 0) >= 0 {
			return "", fmt.Errorf("%q is not a path in a repository", path)
		}
	}
	return path, nil
}

// emitter gives the changes of one revision to a sink. A deletion directly followed by an addition at its path is one
// replacement, so that a server and a dump of its repository, which write it differently, tell the same.
type emitter struct {
	sink    origin.Sink
	deleted *origin.Change // held back until it is known what follows
	changes int            // of the running revision
}

// sinkError is an error of the sink, on its way through a reader, which returns it as it was.
type sinkError struct{ error }

func (e *emitter) begin(rev *origin.Revision) error {
	e.changes = 0
	if err := e.sink.BeginRevision(rev); err != nil {
		return sinkError{err}
	}
	return nil
}

func (e *emitter) change(c *origin.Change) error {
	if e.changes++; e.changes > maxChanges {
		return errTooManyChanges
	}
	if e.deleted != nil && c.Action == origin.Add && c.Path == e.deleted.Path {
		c.Action, e.deleted = origin.Replace, nil
	}
	if err := e.flush(); err != nil {
		return err
	}
	if c.Action == origin.Delete {
		e.deleted = c
		return nil
	}
	sortProps(c.Props)
	return e.send(c)
}

// send makes of what happens to the root what may happen to it: it is there from the beginning on, and for ever. Where it
// was deleted at the origin, it is empty.
func (e *emitter) send(c *origin.Change) error {
	if c.Path == "" {
		switch {
		case c.Action == origin.Delete:
			c = &origin.Change{Action: origin.Replace, Dir: true}
		case c.Action == origin.Add && (c.Copied || !c.Dir):
			c.Action = origin.Replace
		case c.Action == origin.Add:
			c.Action = origin.Modify
		}
	}
	if err := e.sink.Change(c); err != nil {
		return sinkError{err}
	}
	return nil
}

var errTooManyChanges = fmt.Errorf("a revision has more than the %d changes that Gantry reads", maxChanges)

func (e *emitter) end() error {
	if err := e.flush(); err != nil {
		return err
	}
	if err := e.sink.EndRevision(); err != nil {
		return sinkError{err}
	}
	return nil
}

func (e *emitter) flush() error {
	if e.deleted == nil {
		return nil
	}
	c := e.deleted
	e.deleted = nil
	return e.send(c)
}
