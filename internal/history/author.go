// Package history knows what an import has read: the raw log of an origin's revisions, the table of their authors, and
// the layout that turns paths into branches and tags. Mapping a raw log to commits is a pure function of these.
//
// The format of the raw log is this package's own; see log.go. That of raw trees is told in tree.go.
package history

import (
	"strings"
	"unicode/utf8"
)

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

// noAuthor is how Subversion itself shows a revision without an author.
const noAuthor = "(no author)"

// authorOf names the author of a revision. That of a path-based origin is a bare user name, in the domain of the
// repository; that of a changeset is whatever its user had set, by custom a name and an address in angle brackets. As of
// a Git origin, it is known by both.
func authorOf(r *Record, uuid string) Author {
	name := strings.TrimSpace(strings.ReplaceAll(toUTF8(r.Author), "\x00", "")) // databases refuse NULs
	if name == "" {
		name = noAuthor
	}
	if r.Changeset != nil {
		identity := parseIdentity(name).Clean()
		return Author{RemoteID: identity.Email, RemoteName: identity.Name, Default: identity}
	}
	id := name
	if uuid != "" {
		id += "@" + uuid
	}
	return Author{RemoteID: id, RemoteName: name, Default: Identity{Name: name, Email: id}.Clean()}
}

// parseIdentity takes `Name <address>` apart, however broken. What has no angle bracket is an address when it looks like
// one, and else a name; Clean makes the one of the other.
func parseIdentity(user string) Identity {
	name, rest, found := strings.Cut(user, "<")
	if !found {
		if strings.Contains(user, "@") && !strings.Contains(user, " ") {
			return Identity{Email: user}
		}
		return Identity{Name: user}
	}
	address, _, _ := strings.Cut(strings.TrimLeft(rest, "< "), ">")
	name = strings.TrimSpace(name)
	if len(name) > 1 && name[0] == '"' && name[len(name)-1] == '"' {
		name = strings.ReplaceAll(name[1:len(name)-1], `\"`, `"`)
	}
	return Identity{Name: name, Email: address}
}

// Authors is the author table.
type Authors struct {
	uuid  string
	list  []Author
	known map[[2]string]bool // by RemoteID and RemoteName
}

// NewAuthors returns an empty table of the authors of a repository.
func NewAuthors(uuid string) *Authors { return &Authors{uuid: uuid, known: map[[2]string]bool{}} }

// Add enters the author of a revision unless it is known already.
func (a *Authors) Add(r *Record) {
	author := authorOf(r, a.uuid)
	if key := [2]string{author.RemoteID, author.RemoteName}; !a.known[key] {
		a.known[key] = true
		a.list = append(a.list, author)
	}
}

// List returns all authors, by ordinal.
func (a *Authors) List() []Author { return a.list }

// Clean makes an identity valid for Git: angle brackets, line ends and other control characters are dropped, bytes that
// are not UTF-8 replaced, spaces at the ends cut off. A name left empty becomes the address, an address the name.
func (i Identity) Clean() Identity {
	i.Name, i.Email = cleanIdent(i.Name), cleanIdent(i.Email)
	const unknown = "unknown"
	switch {
	case i.Name == "" && i.Email == "":
		return Identity{Name: unknown, Email: unknown}
	case i.Name == "":
		i.Name = i.Email
	case i.Email == "":
		i.Email = i.Name
	}
	return i
}

func cleanIdent(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '<' || r == '>' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.TrimSpace(s)
}

// toUTF8 returns text as it is when it is UTF-8. Other bytes are what they were in the days before: Latin-1.
func toUTF8(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for _, c := range text {
		b.WriteRune(rune(c))
	}
	return b.String()
}
