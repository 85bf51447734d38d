package hg

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"gantry/internal/delta"
	"gantry/internal/revlog"
)

const (
	maxPath   = 64 << 10      // bytes of a file's path
	maxChunk  = delta.MaxText // bytes of a chunk, which never has more behind its length
	readStep  = 1 << 20       // bytes that are taken at once for what somebody says is to come
	keepChunk = 16 << 20      // bytes of a chunk that is held in memory
)

// changegroup reads one changegroup (mercurial/helptext/internals/changegroups.txt).
type changegroup struct {
	in      *bufio.Reader
	to      *intake
	version int // 1 to 4
	chunk   []byte
	large   large // a chunk that is not held in memory
	rev     revlog.Revision
}

// headerSizes are those of what comes before the patch of a revision, by version.
var headerSizes = [...]int{1: 80, 2: 100, 3: 102, 4: 103}

func readChangegroup(in *bufio.Reader, version int, to *intake) error {
	c := &changegroup{in: in, to: to, version: version, large: large{dir: to.tempDir}}
	defer c.large.close()
	if err := c.group(to.changeset); err != nil {
		return err
	}
	if err := c.group(func(r *revlog.Revision) error { return to.manifest("", r) }); err != nil {
		return err
	}
	if version >= 3 {
		if err := c.named(to.manifest); err != nil {
			return err
		}
	}
	return c.named(to.file)
}

// named reads groups that have a name each, up to an empty one.
func (c *changegroup) named(send func(name string, r *revlog.Revision) error) error {
	for {
		chunk, err := c.next(maxPath)
		if err != nil || chunk == nil {
			return err
		}
		name := string(chunk)
		if err := c.group(func(r *revlog.Revision) error { return send(name, r) }); err != nil {
			return err
		}
	}
}

// group reads revisions of one thing, up to an empty chunk.
func (c *changegroup) group(send func(*revlog.Revision) error) error {
	r := &c.rev
	*r = revlog.Revision{}
	for first := true; ; first = false {
		previous := r.Node
		chunk, err := c.next(maxChunk)
		if err != nil || chunk == nil {
			return err
		}
		if len(chunk) < headerSizes[c.version] {
			return malformedf("a revision of %d bytes, which are not even its header", len(chunk))
		}
		beside := false // more belongs to the revision than its text
		if c.version == 4 {
			beside = chunk[0]&1 != 0
			chunk = chunk[1:]
		}
		take := func() (n revlog.Node) {
			n, chunk = revlog.Node(chunk[:len(n)]), chunk[len(n):]
			return n
		}
		r.Node, r.P1, r.P2 = take(), take(), take()
		switch {
		case c.version > 1:
			r.Base = take()
		case first:
			r.Base = r.P1
		default:
			r.Base = previous
		}
		r.Link = take()
		r.Flags = 0
		if c.version >= 3 {
			r.Flags, chunk = revlog.Flags(binary.BigEndian.Uint16(chunk)), chunk[2:]
		} else if replaces(chunk, tombstone) { // nothing else tells of it
			r.Flags = revlog.Censored
		}
		r.Patch = chunk
		if err := checkRevision(r); err != nil {
			return err
		}
		if err := send(r); err != nil {
			return err
		}
		if beside {
			if err := c.skip(); err != nil {
				return err
			}
		}
	}
}

// replaces reports whether a patch puts a text in the place of its base that begins so.
func replaces(patch []byte, begin string) bool {
	const header = 12 // of a hunk
	return len(patch) > header && bytes.HasPrefix(patch[header:], []byte(begin))
}

// Texts that are not what their nodes tell of begin so, and always come whole.
const (
	tombstone = "\x01\n" + revlog.CensoredKey + ":"
	pointer   = "version https://git-lfs.github.com/spec/"
)

// knownFlags are those that a revision may have.
const knownFlags = revlog.Censored | revlog.Ellipsis | revlog.External | revlog.Copies

// checkRevision refuses what no revision is. What its node does not tell of must look like it: no flag keeps a text from
// being checked.
func checkRevision(r *revlog.Revision) error {
	switch {
	case r.Node.IsNull():
		return malformedf("a revision has the node that stands for none")
	case r.Flags&^knownFlags != 0:
		return malformedf("revision %s has the unknown flags %#x", r.Node, uint16(r.Flags&^knownFlags))
	case r.Flags&revlog.Ellipsis != 0:
		return malformedf("revision %s is one of a narrow clone, which does not have all of its history; take the repository that it was cloned from", r.Node)
	case r.Flags&revlog.Censored != 0 && !replaces(r.Patch, tombstone):
		return malformedf("revision %s says that its text was taken away, and has one", r.Node)
	case r.Flags&revlog.External != 0 && !replaces(r.Patch, pointer):
		return malformedf("revision %s says that its text is kept elsewhere, and not where", r.Node)
	case r.Base == r.Node:
		return malformedf("revision %s is a patch against itself", r.Node)
	}
	return nil
}

// next reads the next chunk, nil for an empty one. It is valid until the one after.
func (c *changegroup) next(limit int) ([]byte, error) {
	n, err := c.length(limit)
	if err != nil || n == 0 {
		return nil, err
	}
	if n > keepChunk {
		return c.large.fill(func(w io.Writer) error {
			_, err := io.CopyN(w, c.in, int64(n))
			return unexpected(err)
		})
	}
	c.chunk, err = readInto(c.in, c.chunk[:0], n)
	return c.chunk, err
}

// skip passes over a chunk.
func (c *changegroup) skip() error {
	n, err := c.length(maxChunk)
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, c.in, int64(n))
	return unexpected(err)
}

// length reads how many bytes a chunk has, 0 for an empty one.
func (c *changegroup) length(limit int) (int, error) {
	var word [4]byte
	if _, err := io.ReadFull(c.in, word[:]); err != nil {
		return 0, unexpected(err)
	}
	n := int64(int32(binary.BigEndian.Uint32(word[:])))
	switch {
	case n == 0:
		return 0, nil
	case n <= int64(len(word)) || n-int64(len(word)) > int64(limit):
		return 0, malformedf("a chunk has a length of %d where at most %d can be", n, limit)
	}
	return int(n) - len(word), nil
}

// readInto appends n bytes to buf. Memory is taken as bytes come, however many are said to come.
func readInto(in io.Reader, buf []byte, n int) ([]byte, error) {
	for n > 0 {
		step := min(n, max(readStep, len(buf)))
		start := len(buf)
		buf = slices.Grow(buf, step)[:start+step]
		if _, err := io.ReadFull(in, buf[start:]); err != nil {
			return buf, unexpected(err)
		}
		n -= step
	}
	return buf, nil
}

// unexpected makes an end that comes too early one.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
