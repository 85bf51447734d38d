package revlog

import (
	"bytes"
	"encoding/hex"
	"iter"
)

// metadataMark begins and ends what a file's text tells of itself before its content.
var metadataMark = []byte("\x01\n")

// SplitMetadata splits the text of a file's revision into the header that it may have, marks included, and its content.
func SplitMetadata(text []byte) (header, content []byte) {
	if !bytes.HasPrefix(text, metadataMark) {
		return nil, text
	}
	end := bytes.Index(text[len(metadataMark):], metadataMark)
	if end < 0 {
		return nil, text
	}
	end += 2 * len(metadataMark)
	return text[:end:end], text[end:]
}

// Keys of a header.
const (
	CopyPath    = "copy"     // the path that the file was copied from
	CopyNode    = "copyrev"  // and the node of the revision there
	CensoredKey = "censored" // in the place of a text that was taken away: why
)

// Metadata returns what a header says under a key, nil when it says nothing.
func Metadata(header []byte, key string) []byte {
	for line := range bytes.Lines(header) {
		if name, value, found := bytes.Cut(line, []byte(": ")); found && string(name) == key {
			return bytes.TrimSuffix(value, []byte("\n"))
		}
	}
	return nil
}

// Tag is one line of .hgtags: the name stands for the node from here on, or for nothing when that is Null or Nowhere.
type Tag struct {
	Node Node
	Name []byte
}

// Nowhere is in the place of what reads like a node and cannot be one. Mercurial keeps it for the working directory, so that
// no changeset has it.
var Nowhere = Node(bytes.Repeat([]byte{0xff}, len(Null)))

// Tags yields the tags of the content of a .hgtags file in its order, the later of equal names being the one that counts.
// Lines that say nothing are passed over, as Mercurial does.
func Tags(content []byte) iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		for len(content) > 0 {
			line := content
			if end := bytes.IndexAny(content, "\r\n"); end >= 0 {
				line, content = content[:end], content[end+1:]
			} else {
				content = nil
			}
			digits, name, found := bytes.Cut(line, []byte(" "))
			if _, err := hex.Decode(make([]byte, len(digits)/2), digits); !found || err != nil {
				continue
			}
			node, err := ParseNode(digits)
			if err != nil {
				node = Nowhere
			}
			if !yield(Tag{node, bytes.Trim(name, " \t\v\f")}) {
				return
			}
		}
	}
}
