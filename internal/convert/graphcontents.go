package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"gantry/internal/delta"
	"gantry/internal/history"
	"gantry/internal/lfs"
	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// contents are those of which a graph of changesets has nothing but names: of Mercurial's extension lfs, which become objects
// of Git LFS, and of its extension largefiles, which become files in the place of their standins. They are brought before
// the changesets that have them get records, so that a record tells of what is there.
type contents struct {
	graph  *graph
	source origin.ContentSource // nil where there is none
	lfs    *lfs.Store

	mu       sync.Mutex // lanes find names beside each other
	sums     map[revlog.Node][]use
	pointers map[lfs.Pointer][]use
	absent   map[absentKey]Absent
	untold   int // that are absent, too

	texts    texts
	fold     folder
	expanded map[[2]pack.ID]expansion
}

// use is a path that has a content, and the changeset that brought it.
type use struct {
	path string
	link revlog.Node
}

type absentKey struct{ path, oid string }

const (
	standinDir = ".hglf/"

	// maxStandin is the most that a standin has, which is a sum in hexadecimal with white space around it.
	maxStandin = 128

	// maxAbsent is how many absent contents are kept by name.
	maxAbsent = 10_000

	// maxExpanded is how many directories are remembered with what they became.
	maxExpanded = 1 << 16
)

func newContents(g *graph) *contents {
	c := &contents{
		graph: g, lfs: g.Objects(), sums: map[revlog.Node][]use{}, pointers: map[lfs.Pointer][]use{}, absent: map[absentKey]Absent{},
		texts:    texts{store: g.store, dir: g.opt.Dir, git: delta.NewBuilder(nil, 0)},
		fold:     folder{store: g.store, delta: delta.NewBuilder(nil, 0)},
		expanded: map[[2]pack.ID]expansion{},
	}
	for _, a := range g.state.Absent {
		c.absent[absentKey{a.Path, a.OID}] = a
	}
	return c
}

// Objects is where the objects of Git LFS are that belong to what was read.
func (c *Conversion) Objects() *lfs.Store { return lfs.In(c.opt.Dir) }

// begin begins a pull, in which everything that was absent is asked for once more.
func (c *contents) begin(src origin.GraphSource) {
	c.source, _ = src.(origin.ContentSource)
	clear(c.sums)
	clear(c.pointers)
	for _, a := range c.absent {
		raw, err := hex.DecodeString(a.OID)
		switch {
		case err != nil:
		case len(raw) == len(revlog.Null) && !c.graph.keyed.Has(key(largeContent, "", revlog.Node(raw))):
			c.want(revlog.Node(raw), use{standinDir + a.Path, a.Changeset})
		case len(raw) == len(lfs.OID{}):
			c.pointer(a.Path, lfs.Pointer{OID: lfs.OID(raw), Size: a.Size}, a.Changeset)
		}
	}
}

// list returns the absent contents in the order of their paths.
func (c *contents) list() []Absent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.absent), func(a, b Absent) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.OID, b.OID))
	})
}

// lacks notes that a content is not there.
func (c *contents) lacks(a Absent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.Path = shown(a.Path)
	key := absentKey{a.Path, a.OID}
	if before, known := c.absent[key]; known {
		a.Changeset = before.Changeset
	} else if len(c.absent) == maxAbsent {
		c.untold++
		return
	}
	c.absent[key] = a
}

// come notes that a content is there.
func (c *contents) come(oid string, uses []use) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range uses {
		delete(c.absent, absentKey{shown(strings.TrimPrefix(u.path, standinDir)), oid})
	}
}

// pointer has an object of Git LFS brought, for a path.
func (c *contents) pointer(path string, p lfs.Pointer, link revlog.Node) {
	if p.Size == 0 {
		return
	}
	c.mu.Lock()
	c.pointers[p] = append(c.pointers[p], use{path, link})
	c.mu.Unlock()
}

// isStandin reports whether a file may be a standin, by its path.
func isStandin(path string) bool { return strings.HasPrefix(path, standinDir) }

// standin has the content of largefiles brought that a file names, if it does.
func (c *contents) standin(path string, text []byte, link revlog.Node) {
	if sum, ok := parseStandin(text); ok {
		c.want(sum, use{path, link})
	}
}

func (c *contents) want(sum revlog.Node, u use) {
	c.mu.Lock()
	c.sums[sum] = append(c.sums[sum], u)
	c.mu.Unlock()
}

// parseStandin reads the text of a standin.
func parseStandin(text []byte) (sum revlog.Node, ok bool) {
	if len(text) > maxStandin {
		return sum, false
	}
	digits := bytes.TrimSpace(text)
	if len(digits) != hex.EncodedLen(len(sum)) || !bytes.Equal(bytes.ToLower(digits), digits) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], digits)
	return sum, err == nil
}

// bring brings what was found to be wanted. No lane is at work.
func (c *contents) bring(ctx context.Context) error {
	c.untold = 0
	if err := c.bringSums(ctx); err != nil {
		return err
	}
	if err := c.bringPointers(ctx); err != nil {
		return err
	}
	if c.untold > 0 {
		c.graph.opt.Log.Warn("convert: more large contents are absent than are listed", "more", c.untold)
	}
	return nil
}

const noServer = "a bundle does not have it: read from the server"

func (c *contents) bringSums(ctx context.Context) error {
	var missing []revlog.Node
	for sum, uses := range c.sums {
		blob, size, err := c.content(sum)
		switch {
		case err != nil:
			return err
		case blob.IsZero():
			missing = append(missing, sum)
		default:
			c.foundLarge(blob, size, uses)
		}
	}
	slices.SortFunc(missing, func(a, b revlog.Node) int { return bytes.Compare(a[:], b[:]) })
	absent := func(sum revlog.Node, reason string) {
		for _, u := range c.sums[sum] {
			c.lacks(Absent{Path: strings.TrimPrefix(u.path, standinDir), OID: sum.String(), Changeset: u.link, Reason: reason})
		}
	}
	if c.source == nil {
		for _, sum := range missing {
			absent(sum, noServer)
		}
		clear(c.sums)
		return nil
	}
	err := c.source.Largefiles(ctx, missing, func(sum revlog.Node, in io.Reader) error { return c.take(sum, in, absent) }, absent)
	if err == nil {
		clear(c.sums)
	}
	return err
}

// take stores a content of largefiles, if it is the right one.
func (c *contents) take(sum revlog.Node, in io.Reader, absent func(revlog.Node, string)) error {
	t, err := c.texts.readFull(in, history.Entry{})
	if err != nil {
		return err
	}
	defer t.close()
	if got := revlog.Node(t.sumSHA1()); got != sum {
		absent(sum, fmt.Sprintf("what the server has in its place has the SHA-1 %v", got))
		return nil
	}
	g := c.graph
	g.gate.RLock()
	defer g.gate.RUnlock()
	blob, err := c.texts.put(t, history.Entry{})
	if err == nil {
		err = g.keyed.PutKeyed(key(largeContent, "", sum), pack.Zero, nil, blob[:])
	}
	if err != nil {
		return err
	}
	g.state.Standins = true
	clear(c.expanded) // what had a standin may have this now
	g.tally.add(Counts{Bytes: t.size})
	c.come(sum.String(), c.sums[sum])
	c.foundLarge(blob, t.size, c.sums[sum])
	return nil
}

// content is what was stored for a sum, a zero blob for nothing.
func (c *contents) content(sum revlog.Node) (blob pack.ID, size int64, err error) {
	id := key(largeContent, "", sum)
	if !c.graph.keyed.Has(id) {
		return pack.Zero, 0, nil
	}
	_, data, err := c.graph.keyed.Get(id)
	if err == nil && len(data) != len(blob) {
		err = fmt.Errorf("%w: %d bytes of a content", pack.ErrCorrupt, len(data))
	}
	if err != nil {
		return pack.Zero, 0, err
	}
	blob = pack.ID(data)
	_, size, err = c.graph.store.Stat(blob)
	return blob, size, err
}

// foundLarge tells of a content that is a large file, to the changesets that brought it.
func (c *contents) foundLarge(blob pack.ID, size int64, uses []use) {
	g := c.graph
	if size <= g.opt.LargeFile {
		return
	}
	for _, u := range uses {
		if _, fresh := g.isFresh[u.link]; !fresh { // it was absent when that got its record
			if len(g.fresh) == 0 {
				continue
			}
			u.link = g.fresh[0].node
		}
		g.tally.found(u.link, history.LargeFile{Path: strings.TrimPrefix(u.path, standinDir), OID: blob, Size: size})
	}
}

func (c *contents) bringPointers(ctx context.Context) error {
	missing := slices.Collect(maps.Keys(c.pointers))
	slices.SortFunc(missing, func(a, b lfs.Pointer) int {
		return cmp.Or(bytes.Compare(a.OID[:], b.OID[:]), cmp.Compare(a.Size, b.Size))
	})
	absent := func(p lfs.Pointer, reason string) {
		for _, u := range c.pointers[p] {
			c.lacks(Absent{Path: u.path, OID: p.OID.String(), Size: p.Size, Changeset: u.link, Reason: reason})
		}
	}
	if c.source != nil {
		if err := c.source.Objects(ctx, missing, c.lfs, absent); err != nil {
			return err
		}
	}
	for _, p := range missing {
		switch {
		case c.lfs.Has(p):
			c.come(p.OID.String(), c.pointers[p])
		case c.source == nil:
			absent(p, noServer)
		}
	}
	clear(c.pointers)
	return nil
}
