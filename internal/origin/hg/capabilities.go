package hg

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// capabilities are what a server says that it can do (mercurial/helptext/internals/wireprotocol.txt).
type capabilities struct {
	words   map[string]string // with what follows the equal sign
	bundle2 map[string]string // parts and their forms; nil where bundles of version 2 are not known
}

// parseCapabilities reads the answer to the command of this name. It takes anything: what is not understood is not there.
func parseCapabilities(text string) capabilities {
	c := capabilities{words: map[string]string{}}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		c.words[name] = value
	}
	escaped, ok := c.words["bundle2"]
	if !ok {
		return c
	}
	blob, err := url.PathUnescape(escaped)
	if err != nil {
		return c
	}
	c.bundle2 = map[string]string{}
	for _, line := range strings.Split(blob, "\n") {
		name, value, _ := strings.Cut(line, "=")
		name, err := url.PathUnescape(name)
		if err != nil {
			continue
		}
		if value, err = url.PathUnescape(value); err == nil {
			c.bundle2[name] = value
		}
	}
	return c
}

func (c *capabilities) has(name string) bool {
	_, ok := c.words[name]
	return ok
}

// number is the value of a capability that is one, 0 where it is none.
func (c *capabilities) number(name string) int {
	n, err := strconv.Atoi(c.words[name])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// lists reports whether an item is in the list that a capability's value is.
func lists(value, item string) bool { return slices.Contains(strings.Split(value, ","), item) }

// streams reports whether the server sends its files as they are, by version 2 of that. One that has secret changesets
// knows how to, and does not.
func (c *capabilities) streams() bool {
	return (c.has("stream") || c.has("streamreqs")) && lists(c.bundle2["stream"], "v2")
}

// spoken is what Gantry itself says that it can do, where it asks for a bundle. Who does not know markers of obsolescence is
// refused a stream by a server that has some.
var spoken = "HG20,bundle2=" + url.PathEscape("HG20\nchangegroup=01,02,03,04\nobsmarkers=V0,V1\nphases=heads\nstream=v2")
