// Package lfs knows what Git LFS keeps: pointers, which are in the place of contents in a tree
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md), and the directory of the contents beside a repository.
package lfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// OID names a content: its SHA-256.
type OID [sha256.Size]byte

func (o OID) String() string { return hex.EncodeToString(o[:]) }

// Pointer is in the place of a content.
type Pointer struct {
	OID  OID
	Size int64 // in bytes
}

const (
	version   = "https://git-lfs.github.com/spec/v1"
	oidMethod = "sha256:"

	maxPointer = 64 << 10 // bytes that a pointer may have with all that others have added to it
)

// ParsePointer reads a pointer, which may have further keys, as those of Mercurial do.
func ParsePointer(text []byte) (p Pointer, ok bool) {
	if len(text) > maxPointer {
		return p, false
	}
	found := map[string]string{}
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" "))
		if _, twice := found[string(key)]; twice {
			return p, false
		}
		found[string(key)] = string(value)
	}
	method, digits, _ := bytes.Cut([]byte(found["oid"]), []byte(":"))
	sum, err := hex.DecodeString(string(digits))
	if err != nil || string(method)+":" != oidMethod || len(sum) != len(p.OID) || found["version"] != version {
		return p, false
	}
	p.OID = OID(sum)
	p.Size, err = strconv.ParseInt(found["size"], 10, 64)
	return p, err == nil && p.Size >= 0 && found["size"][0] != '+' && (p.Size > 0 || p.OID == sha256.Sum256(nil))
}

// Text is the pointer as Git LFS writes it. An empty content is its own pointer.
func (p Pointer) Text() []byte {
	if p.Size == 0 {
		return nil
	}
	return fmt.Appendf(nil, "version %s\noid %s%s\nsize %d\n", version, oidMethod, p.OID, p.Size)
}
