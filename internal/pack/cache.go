package pack

import (
	"container/list"
	"sync"
)

// cache keeps the full texts used last, within a bound of bytes. It is safe for concurrent use.
type cache struct {
	max int64

	mu    sync.Mutex
	used  int64
	order list.List // of *cached, the one used last in front
	byID  map[ID]*list.Element
}

type cached struct {
	id   ID
	typ  Type
	data []byte
}

// cachedOverhead is about what a cached text takes beside its bytes.
const cachedOverhead = 200

func newCache(limit int64) *cache {
	return &cache{max: limit, byID: map[ID]*list.Element{}}
}

// takes reports whether a text of this size is worth its room.
func (c *cache) takes(size int64) bool { return size <= c.max/8 }

func (c *cache) get(id ID) (Type, []byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[id]
	if e == nil {
		return 0, nil, false
	}
	c.order.MoveToFront(e)
	text := e.Value.(*cached)
	return text.typ, text.data, true
}

// add keeps data, which nobody may modify any more.
func (c *cache) add(id ID, t Type, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[id]; e != nil {
		c.order.MoveToFront(e)
		return
	}
	c.byID[id] = c.order.PushFront(&cached{id, t, data})
	c.used += int64(len(data)) + cachedOverhead
	for c.used > c.max {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byID, oldest.id)
		c.used -= int64(len(oldest.data)) + cachedOverhead
	}
}
