package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rename is a branch or tag whose ref is not called as it is called at the origin.
type Rename struct {
	Path   string // at the origin
	Ref    string // "" when there is none
	Reason string // why there is none
}

// refNames gives out ref names: valid ones (git-check-ref-format(1)), of which no two are the same without regard of
// case and none is a directory of another.
type refNames struct {
	taken map[string]bool // names in lower case; false for their directories
}

func newRefNames() *refNames { return &refNames{taken: map[string]bool{}} }

// claim returns prefix and name as a ref name, with a number behind it when that one is taken.
func (r *refNames) claim(prefix, name string) string {
	name = cleanRefName(name)
	if r.isBelowTaken(prefix + name) {
		name = strings.ReplaceAll(name, "/", "_")
	}
	for n := 1; ; n++ {
		ref := prefix + name
		if n > 1 {
			ref += "-" + strconv.Itoa(n)
		}
		if !isMisleading(ref) && r.take(strings.ToLower(ref)) {
			return ref
		}
	}
}

func (r *refNames) take(ref string) bool {
	if _, taken := r.taken[ref]; taken {
		return false
	}
	r.taken[ref] = true
	for dir, ok := cutLast(ref); ok; dir, ok = cutLast(dir) {
		r.taken[dir] = false
	}
	return true
}

// isBelowTaken reports whether a ref that is given out would have to be a directory.
func (r *refNames) isBelowTaken(ref string) bool {
	for dir, ok := cutLast(strings.ToLower(ref)); ok; dir, ok = cutLast(dir) {
		if r.taken[dir] {
			return true
		}
	}
	return false
}

func cutLast(ref string) (dir string, ok bool) {
	dir, _ = split(ref)
	return dir, dir != ""
}

// isMisleading reports whether git takes a branch's name for something else: HEAD, or an object id.
func isMisleading(ref string) bool {
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	return ok && (name == "HEAD" || len(name) == 40 && strings.Trim(name, "0123456789abcdefABCDEF") == "")
}

// cleanRefName puts an underscore wherever a ref name may not have what the name has.
// What is too long for a file system is cut.
func cleanRefName(name string) string {
	parts := strings.Split(cut(name, maxRefName), "/")
	for i, part := range parts {
		parts[i] = cleanRefPart(cut(part, maxRefPart))
	}
	return strings.Join(parts, "/")
}

// Bytes of a ref's name, of which git makes a file. They leave room for a number behind it and for git's own ".lock".
const (
	maxRefPart = 200
	maxRefName = 2000
)

// cut shortens a name to some bytes, and not within a character.
func cut(name string, most int) string {
	if len(name) <= most {
		return name
	}
	for most > 0 && !utf8.RuneStart(name[most]) {
		most--
	}
	return name[:most]
}

func cleanRefPart(part string) string {
	part = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == utf8.RuneError || strings.ContainsRune(`~^:?*[\`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(part, "_"))
	part = strings.ReplaceAll(part, "..", "__")
	part = strings.ReplaceAll(part, "@{", "@_")
	if part == "" || part == "@" {
		return "_" + part
	}
	if part[0] == '.' || part[0] == '-' {
		part = "_" + part[1:]
	}
	if last := len(part) - 1; part[last] == '.' {
		part = part[:last] + "_"
	}
	if base, ok := strings.CutSuffix(part, ".lock"); ok {
		part = base + "_lock"
	}
	return part
}
