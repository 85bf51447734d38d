package revlog

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"iter"
)

// Entry is one line of a manifest.
type Entry struct {
	Path []byte // raw bytes with slashes, from the root or, in a tree manifest, from its directory
	Node Node
	Flag byte // 0: a file, or one of these
}

// Flags of an entry.
const (
	Executable = 'x'
	Symlink    = 'l'
	Tree       = 't' // a directory of a tree manifest; Node is the manifest that it has
)

// Entries yields the entries of a manifest's text, which are in the order of the bytes of their paths; after an error,
// nothing more. They lie in the text.
func Entries(text []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last []byte
		for rest := text; len(rest) > 0; {
			e, after, err := NextEntry(rest)
			if err == nil && last != nil && bytes.Compare(e.Path, last) <= 0 {
				err = fmt.Errorf("revlog: a manifest has %.200q after %.200q", e.Path, last)
			}
			if !yield(e, err) || err != nil {
				return
			}
			last, rest = e.Path, after
		}
	}
}

// NextEntry reads the first line of text: path, NUL, node in hexadecimal, flag.
func NextEntry(text []byte) (e Entry, rest []byte, err error) {
	path, tail, found := bytes.Cut(text, []byte{0})
	digits := hex.EncodedLen(len(e.Node))
	if !found || len(path) == 0 || bytes.IndexByte(path, '\n') >= 0 || len(tail) <= digits {
		return e, nil, badLine(text)
	}
	if _, err := hex.Decode(e.Node[:], tail[:digits]); err != nil {
		return e, nil, badLine(text)
	}
	e.Path = path
	switch flag := tail[digits]; flag {
	case '\n':
		return e, tail[digits+1:], nil
	case Executable, Symlink, Tree:
		if len(tail) > digits+1 && tail[digits+1] == '\n' {
			e.Flag = flag
			return e, tail[digits+2:], nil
		}
	}
	return e, nil, badLine(text)
}

func badLine(text []byte) error {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return fmt.Errorf("revlog: a manifest has the line %.200q, which is no path with node and flag", line)
}
