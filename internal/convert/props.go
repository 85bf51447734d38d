package convert

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// Properties that a file's mode in Git tells.
const (
	propExecutable = "svn:executable"
	propSpecial    = "svn:special"
)

// isKept reports whether a property is recorded beside the tree: those that say how a tree is to be understood, unless
// the mode tells them or they are about locks or the server's own bookkeeping.
func isKept(name string) bool {
	switch {
	case name == propExecutable, name == propSpecial, name == "svn:needs-lock", strings.HasPrefix(name, "svn:entry:"):
		return false
	}
	return strings.HasPrefix(name, "svn:") || strings.HasPrefix(name, "svnmerge-")
}

// fileProps is what the properties of a file say. Stored is its blob: kept, and the flag that its mode does not show.
type fileProps struct {
	kept       []origin.Prop
	stored     []origin.Prop
	special    bool
	executable bool
}

// mode is the file's mode in Git. A special file whose text is no link is a file.
func (p fileProps) mode(isLink bool) uint32 {
	switch {
	case p.special && isLink:
		return pack.ModeLink
	case p.executable:
		return pack.ModeExec
	}
	return pack.ModeFile
}

func (a *applier) fileProps(e history.Entry) (fileProps, error) {
	stored, err := getProps(a.store, e.Side)
	if err != nil {
		return fileProps{}, err
	}
	return fileProps{
		stored:     stored,
		kept:       slices.DeleteFunc(slices.Clone(stored), func(p origin.Prop) bool { return !isKept(p.Name) }),
		special:    e.Mode == pack.ModeLink || hasProp(stored, propSpecial),
		executable: e.Mode == pack.ModeExec || hasProp(stored, propExecutable),
	}, nil
}

func hasProp(props []origin.Prop, name string) bool {
	return slices.ContainsFunc(props, func(p origin.Prop) bool { return p.Name == name })
}

// flag tells whether a path has a property after a change.
func flag(name string, before bool, c *origin.Change) bool {
	now := before && !c.FullProps
	for _, p := range c.Props {
		if p.Name == name {
			now = p.Value != nil
		}
	}
	return now
}

// newProps returns the kept properties after a change, sorted by name.
func newProps(before []origin.Prop, c *origin.Change) []origin.Prop {
	if len(c.Props) == 0 && !c.FullProps {
		return before
	}
	var props []origin.Prop
	if !c.FullProps {
		props = slices.Clone(before)
	}
	for _, p := range c.Props {
		if !isKept(p.Name) {
			continue
		}
		props = slices.DeleteFunc(props, func(old origin.Prop) bool { return old.Name == p.Name })
		if p.Value != nil {
			props = append(props, p)
		}
	}
	slices.SortFunc(props, func(a, b origin.Prop) int { return strings.Compare(a.Name, b.Name) })
	return props
}

func sameProps(a, b []origin.Prop) bool {
	return slices.EqualFunc(a, b, func(a, b origin.Prop) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) })
}

// putProps stores properties and returns their blob, Zero for none.
func putProps(store *pack.Store, props []origin.Prop) (pack.ID, error) {
	if len(props) == 0 {
		return pack.Zero, nil
	}
	return store.Put(pack.Blob, history.EncodeProps(props))
}

func getProps(store *pack.Store, id pack.ID) ([]origin.Prop, error) {
	if id.IsZero() {
		return nil, nil
	}
	_, data, err := store.Get(id)
	if err != nil {
		return nil, fmt.Errorf("convert: kept properties: %w", err)
	}
	return history.DecodeProps(data)
}
