package git

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// Skipped is a ref of the origin that cannot be kept.
type Skipped struct {
	Name   string
	Reason string
}

const (
	maxRefs    = 500_000
	maxRefLine = 4 << 10
)

// offer is what an origin lists: its branches and tags, and what its HEAD is.
type offer struct {
	refs   []gitdir.Ref
	head   string  // "" when the origin does not tell
	headID pack.ID // zero when HEAD leads to nothing
}

// line takes one line of "git ls-remote --symref".
func (o *offer) line(line []byte) error {
	target, name, ok := strings.Cut(string(bytes.TrimRight(line, "\n")), "\t")
	if !ok {
		return fmt.Errorf("git: unexpected %q in the list of refs", line)
	}
	if symbolic, ok := strings.CutPrefix(target, "ref: "); ok {
		if name == "HEAD" {
			o.head = symbolic
		}
		return nil
	}
	id, err := pack.ParseID(target)
	if err != nil {
		return gantry.Errorf(gantry.Invalid, "git.Fetch", "the origin uses object ids other than SHA-1 (%q), which cannot be imported", target)
	}
	switch {
	case name == "HEAD":
		o.headID = id
	case strings.HasSuffix(name, "^{}"): // what the tag before it points at
	case strings.HasPrefix(name, "refs/heads/"), strings.HasPrefix(name, "refs/tags/"):
		if len(o.refs) == maxRefs {
			return gantry.Errorf(gantry.TooLarge, "git.Fetch", "the origin has more than %d branches and tags", maxRefs)
		}
		o.refs = append(o.refs, gitdir.Ref{Name: name, ID: id})
	}
	return nil
}

// judge takes the refs that cannot be kept out of the offer.
func (o *offer) judge() ([]Skipped, error) {
	var skipped []Skipped
	o.refs = slices.DeleteFunc(o.refs, func(ref gitdir.Ref) bool {
		err := gitdir.CheckRefName(ref.Name)
		if err != nil {
			skipped = append(skipped, Skipped{ref.Name, gantry.Message(err)})
		}
		return err != nil
	})
	if len(o.refs) == 0 && len(skipped) > 0 {
		return nil, gantry.Errorf(gantry.Invalid, "git.Fetch", "no branch or tag of the origin can be kept: %s", skipped[0].Reason)
	}
	return skipped, nil
}

// refspecs asks for all branches and tags but those that are left out. Names with characters that Git forbids cannot be
// written here, and need not be: git ignores them by itself.
func refspecs(skipped []Skipped) string {
	var s strings.Builder
	s.WriteString("+refs/heads/*:refs/heads/*\n+refs/tags/*:refs/tags/*\n")
	for _, skip := range skipped {
		if !strings.ContainsFunc(skip.Name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }) {
			s.WriteString("^" + skip.Name + "\n")
		}
	}
	return s.String()
}

// chooseHead returns the branch that HEAD is to name: the origin's; else one that is where its HEAD is; else the first,
// with main and master before all others. "" when there are no branches.
func chooseHead(refs []gitdir.Ref, head string, id pack.ID) string {
	var branches []gitdir.Ref
	for _, ref := range refs {
		if strings.HasPrefix(ref.Name, "refs/heads/") {
			branches = append(branches, ref)
		}
	}
	rank := func(ref gitdir.Ref) int {
		n := slices.Index([]string{"refs/heads/main", "refs/heads/master"}, ref.Name)
		if n < 0 {
			n = 2
		}
		if ref.ID != id {
			n += 3
		}
		if ref.Name == head {
			n = -1
		}
		return n
	}
	if len(branches) == 0 {
		return ""
	}
	return slices.MinFunc(branches, func(a, b gitdir.Ref) int { return rank(a) - rank(b) }).Name
}
