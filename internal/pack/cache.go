package pack

import (
	"bytes"
	"slices"
	"sync"
)

// cache keeps the full texts used last, within a bound of bytes. It is safe for concurrent use.
//
// Most texts are small, and there are many: by themselves they would keep the garbage collector busy. So they lie in slabs,
// one after the other, and a slab goes as a whole, the oldest one first. What is used while its slab is in the older half
// is copied into the newest one.
type cache struct {
	max       int64
	slabBytes int

	mu    sync.Mutex
	used  int64
	slabs []*slab
	first uint32 // number of slabs[0]
	open  uint32 // number of the slab that small texts come into
	byID  map[ID]cached
}

// slab holds small texts, or a single large one.
type slab struct {
	texts []byte
	ids   []ID
}

// cached says where a text is. It has no pointers.
type cached struct {
	slab   uint32 // its number
	start  uint32
	length uint32
	typ    Type
}

// cachedOverhead is about what a cached text takes beside its bytes.
const cachedOverhead = 120

// slabsAtLeast is how many slabs of small texts fit in a cache, and largeInSlab how many that are just not large fit in a
// slab.
const (
	slabsAtLeast = 256
	largeInSlab  = 16
)

func newCache(limit int64) *cache {
	return &cache{max: limit, slabBytes: int(limit / slabsAtLeast), byID: map[ID]cached{}}
}

// takes reports whether a text of this size is worth its room.
func (c *cache) takes(size int64) bool { return size <= c.max/8 }

func (c *cache) get(id ID) (Type, []byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byID[id]
	if !ok {
		return 0, nil, false
	}
	age := int(at.slab - c.first)
	text := c.slabs[age].texts[at.start : at.start+at.length : at.start+at.length]
	if age < len(c.slabs)/2 {
		c.put(id, at.typ, text)
	}
	return at.typ, text, true
}

// add keeps a copy of data.
func (c *cache) add(id ID, t Type, data []byte) {
	if c.isLarge(data) {
		data = bytes.Clone(data)
	}
	c.adopt(id, t, data)
}

// adopt keeps data, which nobody may modify any more.
func (c *cache) adopt(id ID, t Type, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byID[id]; !ok {
		c.put(id, t, data)
	}
}

func (c *cache) isLarge(data []byte) bool { return len(data) > c.slabBytes/largeInSlab }

// put puts a text into the slab that is open, large ones into slabs of their own.
func (c *cache) put(id ID, t Type, data []byte) {
	at := cached{length: uint32(len(data)), typ: t}
	if c.isLarge(data) {
		at.slab = c.grow(slices.Clip(data))
	} else {
		at.slab = c.room(len(data))
	}
	s := c.slabs[at.slab-c.first]
	if !c.isLarge(data) {
		at.start = uint32(len(s.texts))
		s.texts = append(s.texts, data...)
	}
	s.ids = append(s.ids, id)
	c.byID[id] = at
	c.used += cachedOverhead
	for c.used > c.max {
		c.drop()
	}
}

// room returns a slab of the newer half that has room for a text.
func (c *cache) room(length int) (number uint32) {
	if i := int(int64(c.open) - int64(c.first)); i >= len(c.slabs)/2 && i < len(c.slabs) {
		if texts := c.slabs[i].texts; cap(texts)-len(texts) >= length {
			return c.open
		}
	}
	c.open = c.grow(make([]byte, 0, c.slabBytes))
	return c.open
}

func (c *cache) grow(texts []byte) (number uint32) {
	c.slabs = append(c.slabs, &slab{texts: texts})
	c.used += int64(cap(texts))
	return c.first + uint32(len(c.slabs)-1)
}

// drop drops the oldest slab with all texts that are not in a newer one.
func (c *cache) drop() {
	oldest := c.slabs[0]
	for _, id := range oldest.ids {
		if c.byID[id].slab == c.first {
			delete(c.byID, id)
		}
	}
	c.used -= int64(cap(oldest.texts)) + int64(len(oldest.ids))*cachedOverhead
	c.slabs[0] = nil
	c.slabs = c.slabs[1:]
	c.first++
}
