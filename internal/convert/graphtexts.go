package convert

import (
	"crypto/sha1"
	"slices"

	"gantry/internal/delta"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// keyed is a store of what Git does not keep, and later patches need: the texts of changesets and manifests, the trees of
// manifests, and of revisions of files what their blobs do not say.
type keyed struct{ *pack.Store }

// textKind keeps keys of different kinds apart: a file may have the very text of a manifest.
type textKind byte

const (
	changesetText textKind = iota + 1
	manifestText
	manifestTree
	fileRevision
	largeContent // of the extension largefiles, by its SHA-1
)

// key is that of a revision. The same node may stand for several texts of files, where one of them was censored: the path
// tells them apart, as it does for trees, which depend on files.
func key(kind textKind, path string, node revlog.Node) pack.ID {
	if path == "" {
		node[len(node)-1] ^= byte(kind)
		return pack.ID(node)
	}
	buf := append(make([]byte, 0, 256), byte(kind))
	buf = append(append(buf, node[:]...), path...)
	return sha1.Sum(buf)
}

// textsCache bounds what the store of such texts keeps in memory: lanes keep those that they need.
const textsCache = 16 << 20

// chain keeps the texts of a lane that were used last, so that the next patch finds its base.
type chain struct {
	limit int // of bytes
	used  int
	held  []link // the one used last at the end

	spare [][]byte // buffers that wait for their next use, the newest at the end
	idle  int      // bytes of them
}

// link is a text, and of a file what became of it.
type link struct {
	node revlog.Node
	text []byte
	file fileText
}

// maxHeldLinks is how many texts are held, however short.
const maxHeldLinks = 256

// idleBytes is how much waits for its next use: what is made anew has to be cleared, and to be collected.
const idleBytes = 4 << 20

// reset forgets all texts.
func (c *chain) reset() {
	for i := range c.held {
		c.drop(c.held[i].text)
	}
	c.held, c.used = c.held[:0], 0
}

// find returns the text of a node, nil when it is not held. It is valid until the next add.
func (c *chain) find(node revlog.Node) *link {
	for i := len(c.held) - 1; i >= 0; i-- {
		if c.held[i].node != node {
			continue
		}
		if last := len(c.held) - 1; i < last {
			found := c.held[i]
			copy(c.held[i:], c.held[i+1:])
			c.held[last] = found
		}
		return &c.held[len(c.held)-1]
	}
	return nil
}

// add takes over a text. The last one and its base are held whatever their size.
func (c *chain) add(l link) *link {
	c.held = append(c.held, l)
	c.used += len(l.text)
	gone, most := 0, maxHeldLinks
	if len(c.held) == most {
		most /= 2 // not one at a time
	}
	for (c.used > c.limit || len(c.held)-gone > most) && len(c.held)-gone > 2 {
		c.used -= len(c.held[gone].text)
		c.drop(c.held[gone].text)
		gone++
	}
	c.held = slices.Delete(c.held, 0, gone)
	return &c.held[len(c.held)-1]
}

func (c *chain) drop(buf []byte) {
	if cap(buf) == 0 || cap(buf) > idleBytes {
		return
	}
	c.spare = append(c.spare, buf)
	c.idle += cap(buf)
	for c.idle > idleBytes {
		c.idle -= cap(c.spare[0])
		c.spare = slices.Delete(c.spare, 0, 1)
	}
}

// buffer returns an empty slice with room for size bytes, and not much more.
func (c *chain) buffer(size int64) []byte {
	most := 2*size + 4<<10
	for i, buf := range slices.Backward(c.spare) {
		if room := int64(cap(buf)); room >= size && room <= most {
			c.spare = slices.Delete(c.spare, i, i+1)
			c.idle -= cap(buf)
			return buf[:0]
		}
	}
	return make([]byte, 0, size+size/8)
}

// apply makes the text of a revision, and checks it unless it says that it is not what its node tells of.
func (c *chain) apply(r *revlog.Revision, base []byte) ([]byte, error) {
	patch := delta.Patch(r.Patch)
	size, err := patch.Check(int64(len(base)), delta.MaxText)
	if err != nil {
		return nil, corruptBy(err)
	}
	text, err := patch.Apply(c.buffer(size), base, delta.MaxText)
	if err != nil {
		return nil, corruptBy(err)
	}
	if r.Flags&(revlog.Censored|revlog.External) == 0 {
		if sum := revlog.Sum(r.P1, r.P2, text); sum != r.Node {
			return nil, notOf(sum)
		}
	}
	return text, nil
}

func notOf(node revlog.Node) error { return corrupt("its text is that of node %v", node) }
