package revlog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"
)

// Changeset is what the text of a changeset says. Its bytes are the text's own, except for those of Extras.
type Changeset struct {
	Manifest    Node
	User        []byte
	Time        time.Time // UTC, whole seconds
	Zone        int       // seconds east of UTC, as Git has it
	Extras      []Extra   // in the order of the text, which is that of their keys
	Description []byte

	files []byte // one on each line
}

// Extra is something further that a changeset says of itself, such as its branch.
type Extra struct {
	Key   string
	Value []byte
}

// DefaultBranch is the named branch of changesets that name none.
const DefaultBranch = "default"

// Extra returns the value of an extra, nil when there is none.
func (c *Changeset) Extra(key string) (value []byte) {
	for _, e := range c.Extras {
		if e.Key == key {
			value = e.Value
		}
	}
	return value
}

// Branch returns the named branch that the changeset is on.
func (c *Changeset) Branch() string {
	if branch := c.Extra("branch"); branch != nil {
		return string(branch)
	}
	return DefaultBranch
}

// Closes reports whether the changeset closes its branch.
func (c *Changeset) Closes() bool { return c.Extra("close") != nil }

// Files yields the files that the changeset says it touches.
func (c *Changeset) Files() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := c.files; len(rest) > 0; {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
			if !yield(line) {
				return
			}
		}
	}
}

// ParseChangeset reads the text of a changeset: manifest, user, and date with extras on a line each, then files, an empty
// line and the description. The empty text is that of a changeset that says nothing.
func ParseChangeset(text []byte) (c Changeset, err error) {
	c.Time = time.Unix(0, 0).UTC()
	if len(text) == 0 {
		return c, nil
	}
	manifest, rest, ok1 := bytes.Cut(text, []byte("\n"))
	user, rest, ok2 := bytes.Cut(rest, []byte("\n"))
	date, rest, ok3 := bytes.Cut(rest, []byte("\n"))
	if !ok1 || !ok2 || !ok3 {
		return c, errors.New("revlog: the text of a changeset ends before its files")
	}
	if c.Manifest, err = ParseNode(manifest); err != nil {
		return c, fmt.Errorf("revlog: the manifest of a changeset: %w", err)
	}
	c.User = user
	if bytes.HasPrefix(rest, []byte("\n")) {
		c.Description = rest[1:]
	} else {
		end := bytes.Index(rest, []byte("\n\n"))
		if end < 0 {
			return c, errors.New("revlog: the text of a changeset has no description after its files")
		}
		c.files, c.Description = rest[:end], rest[end+2:]
	}
	return c, c.parseDate(date)
}

// parseDate reads "seconds zone" and extras. Old tools wrote fractions of seconds, and zones that are no numbers.
func (c *Changeset) parseDate(line []byte) error {
	seconds, rest, _ := bytes.Cut(line, []byte(" "))
	zone, extras, _ := bytes.Cut(rest, []byte(" "))
	when, err := strconv.ParseInt(string(seconds), 10, 64)
	if err != nil {
		fraction, err := strconv.ParseFloat(string(seconds), 64)
		if err != nil || math.IsNaN(fraction) {
			return fmt.Errorf("revlog: the date of a changeset begins with %.40q instead of seconds", seconds)
		}
		when = int64(max(-maxSeconds, min(fraction, maxSeconds)))
	}
	c.Time = time.Unix(max(-maxSeconds, min(when, maxSeconds)), 0).UTC()
	if west, err := strconv.ParseInt(string(zone), 10, 32); err == nil {
		c.Zone = -int(west)
	}
	c.Extras, err = parseExtras(extras)
	return err
}

// maxSeconds keeps dates where their microseconds fit into 64 bits.
const maxSeconds = 1 << 43

func parseExtras(text []byte) (extras []Extra, err error) {
	for item := range bytes.SplitSeq(text, []byte{0}) {
		if len(item) == 0 {
			continue
		}
		key, value, found := bytes.Cut(unescape(item), []byte(":"))
		if !found {
			return nil, fmt.Errorf("revlog: the extra %.60q of a changeset has no value", item)
		}
		extras = append(extras, Extra{string(key), value})
	}
	return extras, nil
}

// escapes are what stands for the byte after a backslash. Mercurial writes four of them; before 1.4 it wrote as Python does.
var escapes = map[byte]byte{'\\': '\\', '0': 0, 'n': '\n', 'r': '\r', 't': '\t', '\'': '\''}

// unescape takes the backslashes off that keep NUL, line ends and backslashes out of extras.
func unescape(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		if p[0] == '\\' && len(p) > 1 {
			if c, known := escapes[p[1]]; known {
				out, p = append(out, c), p[2:]
				continue
			}
			var c [1]byte
			if p[1] == 'x' && len(p) >= 4 {
				if _, err := hex.Decode(c[:], p[2:4]); err == nil {
					out, p = append(out, c[0]), p[4:]
					continue
				}
			}
		}
		out, p = append(out, p[0]), p[1:]
	}
	return out
}

// ParseNode reads a node of forty hexadecimal digits.
func ParseNode(digits []byte) (n Node, err error) {
	if len(digits) != hex.EncodedLen(len(n)) {
		return n, fmt.Errorf("%.60q is not a node", digits)
	}
	if _, err := hex.Decode(n[:], digits); err != nil {
		return n, fmt.Errorf("%.60q is not a node", digits)
	}
	return n, nil
}
