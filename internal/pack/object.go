// Package pack reads and writes Git objects, packs and pack indexes (gitformat-pack(5)), without calling git.
package pack

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
)

// ID is a Git object id (SHA-1).
type ID [20]byte

// Zero is the id of no object; in a ref update it stands for a ref that does not exist.
var Zero ID

// EmptyTree is the id of the tree without entries.
var EmptyTree = ID{0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee, 0x49, 0x04}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id names no object.
func (id ID) IsZero() bool { return id == Zero }

// ParseID reads 40 hexadecimal digits.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return Zero, fmt.Errorf("pack: %q is not an object id", s)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return Zero, fmt.Errorf("pack: %q is not an object id", s)
	}
	return id, nil
}

// Type is the type of a Git object, with the numbers of the pack format.
type Type uint8

const (
	Commit Type = 1
	Tree   Type = 2
	Blob   Type = 3
	Tag    Type = 4
)

var typeNames = [...]string{Commit: "commit", Tree: "tree", Blob: "blob", Tag: "tag"}

func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Modes of tree entries.
const (
	ModeTree    = 0o040000
	ModeFile    = 0o100644
	ModeExec    = 0o100755
	ModeLink    = 0o120000
	ModeGitlink = 0o160000
)

// Sum returns the id of an object.
func Sum(t Type, data []byte) ID {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", t, len(data))
	h.Write(data)
	return ID(h.Sum(nil))
}
