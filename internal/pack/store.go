package pack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

var (
	// ErrMissing is wrapped by errors about an object that the store does not hold.
	ErrMissing = errors.New("no such object")
	// ErrCorrupt is wrapped by errors about stored bytes that are not what was written.
	ErrCorrupt = errors.New("corrupt object store")
)

// Segment says what of one file of a store is valid. It is recorded in a checkpoint, as JSON.
type Segment struct {
	Name        string `json:"name"`
	Length      int64  `json:"length"`       // bytes of object data
	IndexLength int64  `json:"index_length"` // bytes of the object journal
}

// Options tune a store. The zero value is fit for use.
type Options struct {
	CacheBytes int64 // bound of the full texts kept in memory; 0 is 64 MiB
	Fast       bool  // deflates less, for what stays in the directory
}

// Where a segment ends and the next one begins.
const (
	segmentObjects = 512 << 10
	segmentBytes   = 1 << 30
)

// Store holds the objects of one conversion in a directory that it only ever appends to. What was put can be read at
// once, and survives the end of the process from the next Sync on.
//
// One goroutine at a time may call Put, PutDelta, PutKeyed, Sync and Close, with no Encoder at work during the last two;
// PutStream, Has, Get, Open and Stat may be called by any number beside it. Copy may run beside those that read.
type Store struct {
	dir, writer string
	cache       *cache

	mu       sync.RWMutex // guards the slice
	segments []*segment   // the last one may be growing

	encoder *Encoder // of the store's owner
	fast    bool

	writing    sync.Mutex // guards the growing segment, and what follows
	growing    *segment   // nil until something is put
	created    int        // segments, to name the next one
	maxObjects int
	maxBytes   int64
}

// OpenStore opens the store in dir with what segments say is valid, none for a new one. Writer is a word that no other
// owner of the directory has ever used: it is part of the names of new files, so that an owner that has lost its right
// and does not know it yet never writes into ours. Files of earlier owners are read, never changed.
func OpenStore(dir, writer string, segments []Segment, opt Options) (*Store, error) {
	if opt.CacheBytes == 0 {
		opt.CacheBytes = 64 << 20
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("pack: open store: %w", err)
	}
	s := &Store{
		dir: dir, writer: writer, cache: newCache(opt.CacheBytes),
		maxObjects: segmentObjects, maxBytes: segmentBytes, fast: opt.Fast,
	}
	s.encoder = s.Encoder()
	s.encoder.remembers = true
	for _, extent := range segments {
		g, err := openSegment(dir, writer, extent)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("pack: open store: %w", err), s.Close())
		}
		s.segments = append(s.segments, g)
	}
	return s, nil
}

// lookup finds an object's segment and record, in the newest segment first. The segment is nil when there is none.
func (s *Store) lookup(id ID) (*segment, record, error) {
	s.mu.RLock()
	segments := s.segments
	s.mu.RUnlock()
	for i := len(segments) - 1; i >= 0; i-- {
		r, _, ok, err := segments[i].find(id)
		if err != nil {
			return nil, record{}, fmt.Errorf("pack: look up %v: %w", id, err)
		}
		if ok {
			return segments[i], r, nil
		}
	}
	return nil, record{}, nil
}

// find is lookup of an object that should be there.
func (s *Store) find(id ID) (*segment, record, error) {
	g, r, err := s.lookup(id)
	if g == nil && err == nil {
		err = fmt.Errorf("pack: %w: %v", ErrMissing, id)
	}
	return g, r, err
}

// Has reports whether the store holds an object. One whose index cannot be read counts as not held.
func (s *Store) Has(id ID) bool {
	g, _, _ := s.lookup(id)
	return g != nil
}

// Stat returns an object's type and size.
func (s *Store) Stat(id ID) (Type, int64, error) {
	_, r, err := s.find(id)
	if err != nil {
		return 0, 0, err
	}
	return r.typ(), r.size(), nil
}

// Put is that of the store's own Encoder, which remembers the text: it is likely to be the base of the next version.
func (s *Store) Put(t Type, data []byte) (ID, error) { return s.encoder.Put(t, data) }

// PutDelta is that of the store's own Encoder, as Put.
func (s *Store) PutDelta(t Type, base ID, gitDelta, full []byte) (ID, error) {
	return s.encoder.PutDelta(t, base, gitDelta, full)
}

// PutKeyed is that of the store's own Encoder, as Put.
func (s *Store) PutKeyed(key, base ID, gitDelta, full []byte) error {
	return s.encoder.PutKeyed(key, base, gitDelta, full)
}

// PutStream stores an object of exactly size bytes without holding it in memory. What else is put waits until it ends.
func (s *Store) PutStream(t Type, size int64, r io.Reader) (ID, error) {
	if size < 0 || size > maxSize {
		return Zero, fmt.Errorf("pack: put %v: a size of %d is not supported", t, size)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	g, err := s.grow()
	if err != nil {
		return Zero, fmt.Errorf("pack: put %v of %d bytes: %w", t, size, err)
	}
	offset := g.length
	id, err := s.appendStream(g, t, size, r)
	if err != nil {
		g.cut(offset)
		return Zero, fmt.Errorf("pack: put %v of %d bytes: %w", t, size, err)
	}
	if s.Has(id) {
		g.cut(offset)
		return id, nil
	}
	g.commit(newRecord(id, t, 0, offset, size, g.length-offset))
	return id, nil
}

func (s *Store) appendStream(g *segment, t Type, size int64, r io.Reader) (ID, error) {
	e := s.Encoder()
	e.beginSum(t, size)
	if err := g.append(appendEntryHeader(nil, t, size)); err != nil {
		return Zero, err
	}
	z := e.deflater.z
	z.Reset(writerFunc(g.append))
	n, err := io.Copy(io.MultiWriter(e.hash, z), io.LimitReader(r, size+1))
	if err == nil {
		err = z.Close()
	}
	if err == nil && n != size {
		err = fmt.Errorf("the stream does not end after %d bytes", size)
	}
	return e.endSum(), err
}

type writerFunc func([]byte) error

func (f writerFunc) Write(p []byte) (int, error) { return len(p), f(p) }

// grow returns the segment to append to. The caller holds the lock.
func (s *Store) grow() (*segment, error) {
	if g := s.growing; g != nil {
		if g.index.count() < s.maxObjects && g.length < s.maxBytes {
			return g, nil
		}
		if err := g.seal(s.dir, s.writer); err != nil {
			return nil, err
		}
		s.growing = nil
	}
	for {
		s.created++
		g, err := createSegment(s.dir, fmt.Sprintf("%s-%d", s.writer, s.created))
		if errors.Is(err, os.ErrExist) {
			continue // of an earlier run under the same word
		}
		if err != nil {
			return nil, err
		}
		s.growing = g
		s.mu.Lock()
		s.segments = append(s.segments[:len(s.segments):len(s.segments)], g)
		s.mu.Unlock()
		return g, nil
	}
}

// Sync makes everything that was put durable. What it returns may be recorded, and given to OpenStore later. After an
// error the store is of no more use: open it again from the last Sync.
func (s *Store) Sync() ([]Segment, error) {
	var extents []Segment
	for _, g := range s.segments {
		if err := g.sync(); err != nil {
			return nil, fmt.Errorf("pack: sync %s: %w", g.name, err)
		}
		if e := g.extent(); e.IndexLength > 0 {
			extents = append(extents, e)
		}
	}
	return extents, nil
}

// Close closes the store's files. What was put since the last Sync is lost.
func (s *Store) Close() error {
	var errs []error
	for _, g := range s.segments {
		errs = append(errs, g.close())
	}
	s.segments, s.growing = nil, nil
	return errors.Join(errs...)
}
