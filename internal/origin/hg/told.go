package hg

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"

	"gantry/internal/revlog"
)

// told is what was told of a repository beside its revisions.
type told struct {
	bookmarks map[string]revlog.Node
	names     int                      // bytes of them
	obsolete  map[revlog.Node]struct{} // changesets that were rewritten or given up

	phase       phase    // of changesets of which nothing else is told
	phaseRoots  []phased // every descendant has at least this phase
	phaseHeads  []phased // every ancestor has at most this phase
	phasesKnown bool     // something was told of phases
}

// phased is a changeset with a phase that it hands on.
type phased struct {
	phase phase
	node  revlog.Node
}

const (
	maxTold  = 2 << 20  // roots, heads and markers each
	maxNames = 64 << 20 // bytes of bookmarks
)

func tooMany(what string) error { return malformedf("there are more than %d %s", maxTold, what) }

// bookmark keeps where a bookmark is; Null and Nowhere: it is gone.
func (t *told) bookmark(name string, node revlog.Node) error {
	if node.IsNull() || node == revlog.Nowhere {
		delete(t.bookmarks, name)
		return nil
	}
	if t.bookmarks == nil {
		t.bookmarks = make(map[string]revlog.Node)
	}
	if t.names += len(name) + len(node); t.names > maxNames {
		return malformedf("there are bookmarks of more than %d bytes", maxNames)
	}
	t.bookmarks[name] = node
	return nil
}

// bookmarks reads node, length of the name in two bytes, and name, again and again.
func (p *part) bookmarks() error {
	in := bufio.NewReader(p)
	for {
		var head [22]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return atEnd(err)
		}
		name := make([]byte, binary.BigEndian.Uint16(head[20:]))
		if _, err := io.ReadFull(in, name); err != nil {
			return unexpected(err)
		}
		if err := p.to.told.bookmark(string(name), revlog.Node(head[:20])); err != nil {
			return err
		}
	}
}

// listKeys reads what a namespace has.
func (p *part) listKeys() error {
	if p.params["namespace"] != "bookmarks" {
		return nil
	}
	return p.to.told.readBookmarks(p)
}

// readBookmarks reads lines of name, tab and node.
func (t *told) readBookmarks(in io.Reader) error {
	return eachLine(in, func(line string) error {
		name, digits, found := strings.Cut(line, "\t")
		node, err := revlog.ParseNode([]byte(digits))
		if !found || err != nil {
			return malformedf("a bookmark is told as %.100q", line)
		}
		return t.bookmark(name, node)
	})
}

// phaseHeads reads phase in four bytes and node, again and again.
func (p *part) phaseHeads() error {
	t := &p.to.told
	t.phasesKnown = true
	in := bufio.NewReader(p)
	for {
		var entry [24]byte
		if _, err := io.ReadFull(in, entry[:]); err != nil {
			return atEnd(err)
		}
		if len(t.phaseHeads) == maxTold {
			return tooMany("heads of phases")
		}
		number := phase(binary.BigEndian.Uint32(entry[:]))
		t.phaseHeads = append(t.phaseHeads, phased{number, revlog.Node(entry[4:])})
	}
}

// readPhaseRoots reads the file phaseroots of a store: phase and node on each line.
func (t *told) readPhaseRoots(in io.Reader) error {
	t.phasesKnown = true
	return eachLine(in, func(line string) error {
		digits, node, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, err1 := strconv.ParseInt(digits, 10, 32)
		root, err2 := revlog.ParseNode([]byte(node))
		if err1 != nil || err2 != nil {
			return malformedf("phaseroots has the line %.100q", line)
		}
		if len(t.phaseRoots) == maxTold {
			return tooMany("roots of phases")
		}
		t.phaseRoots = append(t.phaseRoots, phased{phase(number), root})
		return nil
	})
}

// Markers of obsolescence (mercurial/obsolete.py) come in two formats.
const (
	marker0Size = 1 + 4 + 1 + nodeSize           // successors, bytes of metadata, flags, predecessor
	marker1Size = 4 + 8 + 2 + 2 + 3              // size, date, zone, flags, numbers of successors, parents and metadata
	maxMarker   = marker1Size + 32*511 + 255*512 // of the second format: what its own counts allow
	nodeSize    = len(revlog.Node{})
	longNodes   = 1 << 1 // flag of a marker whose nodes are of SHA-256
)

// readMarkers reads an obsstore, or the part that has its form: which changesets others stand for.
func (t *told) readMarkers(in *bufio.Reader) error {
	version, err := in.ReadByte()
	if err != nil {
		return atEnd(err)
	}
	for {
		var node revlog.Node
		switch version {
		case 0:
			node, err = readMarker0(in)
		case 1:
			node, err = readMarker1(in)
		default:
			return malformedf("markers of obsolescence have format %d: 0 and 1 can be read", version)
		}
		if err != nil {
			return atEnd(err)
		}
		if t.obsolete == nil {
			t.obsolete = make(map[revlog.Node]struct{})
		}
		if len(t.obsolete) == maxTold {
			return tooMany("obsolete changesets")
		}
		t.obsolete[node] = struct{}{}
	}
}

// readMarker0 returns the predecessor that a marker of the first format is about, io.EOF at the end.
func readMarker0(in *bufio.Reader) (node revlog.Node, err error) {
	var head [marker0Size]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return node, err
	}
	more := int64(head[0])*int64(nodeSize) + int64(binary.BigEndian.Uint32(head[1:]))
	_, err = io.CopyN(io.Discard, in, more)
	return revlog.Node(head[6:]), unexpected(err)
}

// readMarker1 does so in the second format. A node of SHA-256 is cut: it is of no changeset that there can be.
func readMarker1(in *bufio.Reader) (node revlog.Node, err error) {
	var head [marker1Size + nodeSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return node, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size < int64(len(head)) || size > maxMarker {
		return node, malformedf("a marker of obsolescence has %d bytes", size)
	}
	if _, err := io.CopyN(io.Discard, in, size-int64(len(head))); err != nil {
		return node, unexpected(err)
	}
	if binary.BigEndian.Uint16(head[14:])&longNodes != 0 {
		return revlog.Null, nil
	}
	return revlog.Node(head[marker1Size:]), nil
}

// maxLine bounds a line of what is told.
const maxLine = 64 << 10

// eachLine calls do for every line that is not empty.
func eachLine(in io.Reader, do func(line string) error) error {
	r := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return malformedf("a line of %.60q... has more than %d bytes", line, maxLine)
		}
		if text := strings.TrimSuffix(string(line), "\n"); text != "" && (err == nil || errors.Is(err, io.EOF)) {
			if err := do(text); err != nil {
				return err
			}
		}
		if err != nil {
			return atEnd(err)
		}
	}
}

// atEnd takes io.EOF for what it is.
func atEnd(err error) error {
	if err == io.EOF { //nolint:errorlint // an error that wraps it is the reader's own
		return nil
	}
	return err
}
