package pack

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"gantry/internal/delta"
)

// Get returns an object. The slice belongs to the store: it must not be modified.
func (s *Store) Get(id ID) (Type, []byte, error) {
	if t, data, ok := s.cache.get(id); ok {
		return t, data, nil
	}
	g, r, err := s.find(id)
	if err != nil {
		return 0, nil, err
	}
	data, err := s.text(g, r)
	if err != nil {
		return 0, nil, fmt.Errorf("pack: get %v %v: %w", r.typ(), id, err)
	}
	return r.typ(), data, nil
}

// text returns a found object's full text, and remembers it.
func (s *Store) text(g *segment, r record) ([]byte, error) {
	if _, data, ok := s.cache.get(r.id()); ok {
		return data, nil
	}
	data, err := s.rebuild(g, r)
	if err == nil && s.cache.takes(int64(len(data))) {
		s.cache.adopt(r.id(), r.typ(), data)
	}
	return data, err
}

// rebuilder has the buffers that rebuilding a text needs.
type rebuilder struct {
	raw    []byte
	deltas []byte    // one after the other, the newest first
	starts []int     // of each in deltas
	full   []byte    // the text below the deltas
	texts  [2][]byte // between them
}

var rebuilders = sync.Pool{New: func() any { return new(rebuilder) }}

// rebuild makes an object's full text from its entry and those below it.
func (s *Store) rebuild(g *segment, r record) ([]byte, error) {
	b := rebuilders.Get().(*rebuilder)
	defer rebuilders.Put(b)
	base, err := s.collect(b, g, r)
	if err != nil {
		return nil, err
	}
	text, err := b.apply(base)
	if err == nil && int64(len(text)) != r.size() {
		err = fmt.Errorf("%w: %d bytes instead of %d", ErrCorrupt, len(text), r.size())
	}
	return text, err
}

// collect gathers the deltas of an object's chain and returns the text below them.
func (s *Store) collect(b *rebuilder, g *segment, r record) (base []byte, err error) {
	b.deltas, b.starts = b.deltas[:0], b.starts[:0]
	for {
		e, err := b.read(g, r)
		if err != nil {
			return nil, err
		}
		if e.typ != refDelta {
			if len(b.starts) > 0 {
				b.full = resize(b.full, int(e.size))
				base = b.full
			} else {
				base = make([]byte, e.size)
			}
			return base, inflate(base, b.raw[e.header:])
		}
		if len(b.starts) == maxDepth {
			return nil, fmt.Errorf("%w: a chain of more than %d deltas", ErrCorrupt, maxDepth)
		}
		start := len(b.deltas)
		b.starts = append(b.starts, start)
		b.deltas = slices.Grow(b.deltas, int(e.size))[:start+int(e.size)]
		if err := inflate(b.deltas[start:], b.raw[e.header:]); err != nil {
			return nil, err
		}
		if _, data, ok := s.cache.get(e.base); ok {
			return data, nil
		}
		if g, r, err = s.find(e.base); err != nil {
			return nil, err
		}
	}
}

// read reads a stored entry into raw.
func (b *rebuilder) read(g *segment, r record) (entry, error) {
	b.raw = resize(b.raw, int(r.length()))
	if _, err := g.ReadAt(b.raw, r.offset()); err != nil {
		return entry{}, err
	}
	e, err := parseEntry(b.raw)
	if err == nil && e.size > maxRatio*r.length() {
		err = fmt.Errorf("%w: an entry of %d bytes cannot hold %d", ErrCorrupt, r.length(), e.size)
	}
	return e, err
}

// apply applies the deltas, the oldest first. Only the last text gets memory of its own.
func (b *rebuilder) apply(base []byte) ([]byte, error) {
	end := len(b.deltas)
	for i, start := range slices.Backward(b.starts) {
		var into []byte
		if i > 0 {
			into = b.texts[i%2][:0]
		}
		text, err := delta.Apply(into, base, b.deltas[start:end])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.texts[i%2] = text
		}
		base, end = text, start
	}
	return base, nil
}

// resize returns a slice of n bytes in p's memory when it is large enough.
func resize(p []byte, n int) []byte {
	if n > cap(p) {
		return make([]byte, n, n+n/4)
	}
	return p[:n]
}

// streamed is the size from which on Open does not hold an object in memory.
const streamed = 1 << 20

// Open returns a reader of an object and its size. Large objects are not held in memory.
func (s *Store) Open(id ID) (Type, int64, io.ReadCloser, error) {
	g, r, err := s.find(id)
	if err != nil {
		return 0, 0, nil, err
	}
	if r.depth() > 0 || r.size() < streamed {
		_, data, err := s.Get(id)
		return r.typ(), r.size(), io.NopCloser(bytes.NewReader(data)), err
	}
	body, err := openEntry(g, r)
	if err != nil {
		return 0, 0, nil, fmt.Errorf("pack: open %v %v: %w", r.typ(), id, err)
	}
	return r.typ(), r.size(), body, nil
}
