// Package revlog knows the form in which Mercurial keeps and sends texts: revisions of a file, a manifest or the changelog,
// each told by a node and a patch, and what those texts say.
//
// The formats are Mercurial's own: mercurial/helptext/internals/revlogs.txt and changegroups.txt there.
package revlog

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"hash"
)

// Node is the id of a revision: the SHA-1 of its parents' nodes and its text.
type Node [sha1.Size]byte

// Null is the parent of what has none, and the base of a patch against nothing.
var Null Node

func (n Node) String() string { return hex.EncodeToString(n[:]) }

// MarshalText writes the node as String does.
func (n Node) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, n[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (n *Node) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNode(text)
	return err
}

// IsNull reports whether n is Null.
func (n Node) IsNull() bool { return n == Null }

// Sum returns the node that a text with these parents has.
func Sum(p1, p2 Node, text []byte) Node {
	s := NewSum(p1, p2)
	s.Write(text)
	return s.Node()
}

// Summer makes the node of a text that is written to it.
type Summer struct{ hash.Hash }

// NewSum begins the node of a text with these parents.
func NewSum(p1, p2 Node) Summer {
	if bytes.Compare(p1[:], p2[:]) > 0 {
		p1, p2 = p2, p1
	}
	s := Summer{sha1.New()}
	s.Write(p1[:])
	s.Write(p2[:])
	return s
}

// Node returns the node of what was written.
func (s Summer) Node() (n Node) {
	s.Sum(n[:0])
	return n
}

// Flags of a revision.
type Flags uint16

const (
	Censored Flags = 1 << 15 // the text was replaced by a tombstone and does not match the node
	Ellipsis Flags = 1 << 14 // of a narrow clone: the parents are not those of the node
	External Flags = 1 << 13 // the text is a pointer to a large file (LFS), and the node is that of the file itself
	Copies   Flags = 1 << 12 // a changeset whose copies are told beside it
)

// Revision is one revision as it travels. It is valid until the next one comes.
type Revision struct {
	Node   Node
	P1, P2 Node
	Link   Node // the changeset that brought it; of a changeset itself: Node
	Base   Node // of the same file, manifest or changelog, and sent or known before; Null: the empty text
	Flags  Flags
	Patch  []byte // makes the text of that of Base; see package delta
}

// Sink takes revisions from a reader: those of all changesets first, then those of manifests, then those of files, each
// file's together. A parent or base comes before what refers to it, or was there already. Of a repository with tree
// manifests the manifests are those of directories: dir ends in a slash then, and is empty for the root's.
//
// Behind files all this may begin once more, as where a bundle made some time ago is followed by what is newer: what came
// before is whole then. A revision may come again.
type Sink interface {
	Changeset(r *Revision) error
	Manifest(dir string, r *Revision) error
	File(path string, r *Revision) error
}
