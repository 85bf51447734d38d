package pack

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
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
}

// Where a segment ends and the next one begins.
const (
	segmentObjects = 512 << 10
	segmentBytes   = 1 << 30
)

// Store holds the objects of one conversion in a directory that it only ever appends to. What was put can be read at
// once, and survives the end of the process from the next Sync on.
//
// One goroutine at a time may call Put, PutDelta, PutStream, Sync and Close; Has, Get, Open and Stat may be called by any
// number beside it. Copy may run beside those that read.
type Store struct {
	dir, writer string
	cache       *cache

	mu       sync.RWMutex // guards the slice
	segments []*segment   // the last one may be growing

	// Used by the writer alone.
	growing    *segment // nil until something is put
	created    int      // segments, to name the next one
	maxObjects int
	maxBytes   int64
	hash       hash.Hash
	deflater   *deflater
	scratch    []byte
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
		maxObjects: segmentObjects, maxBytes: segmentBytes,
		hash: sha1.New(), deflater: newDeflater(),
	}
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

// Put stores an object, unless it is there already, and returns its id. It does not keep data.
func (s *Store) Put(t Type, data []byte) (ID, error) {
	id := s.sum(t, data)
	if s.Has(id) {
		return id, nil
	}
	if err := s.putFull(id, t, data); err != nil {
		return Zero, putError(t, id, err)
	}
	return id, nil
}

// PutDelta stores an object of which a Git delta against base is known: as that delta when this saves enough and the
// chain of deltas below base is short, in full otherwise. It keeps neither slice. A base that the store does not hold
// is ErrMissing. That the delta makes full of the base is the caller's duty.
func (s *Store) PutDelta(t Type, base ID, gitDelta, full []byte) (ID, error) {
	id := s.sum(t, full)
	return id, s.putDelta(id, t, base, gitDelta, full)
}

// PutKeyed stores a text as a blob under a key that somebody else has given it: a store holds either such texts or Git's
// objects. Base is the key of the text that gitDelta is against, Zero for none. Otherwise it is as PutDelta.
func (s *Store) PutKeyed(key, base ID, gitDelta, full []byte) error {
	if !base.IsZero() {
		return s.putDelta(key, Blob, base, gitDelta, full)
	}
	if s.Has(key) {
		return nil
	}
	if err := s.putFull(key, Blob, full); err != nil {
		return putError(Blob, key, err)
	}
	return nil
}

func (s *Store) putDelta(id ID, t Type, base ID, gitDelta, full []byte) error {
	if s.Has(id) {
		return nil
	}
	_, b, err := s.find(base)
	if err != nil {
		return putError(t, id, err)
	}
	// Literal bytes deflate about as well in a delta as in the whole text, so the sizes before it compare well.
	pays := len(gitDelta) < len(full)/2
	if pays && max(b.size(), int64(len(full))) <= maxDeltified && b.depth() < maxDepth && b.typ() == t {
		header := appendEntryHeader(s.scratch[:0], refDelta, int64(len(gitDelta)))
		header = append(header, base[:]...)
		err = s.append(id, t, b.depth()+1, header, gitDelta, full)
	} else {
		err = s.putFull(id, t, full)
	}
	if err != nil {
		return putError(t, id, err)
	}
	return nil
}

// maxDeltified is the largest object that is stored as a delta, or that a delta is stored against: to read the one, both
// have to be in memory.
const maxDeltified = 32 << 20

func putError(t Type, id ID, err error) error { return fmt.Errorf("pack: put %v %v: %w", t, id, err) }

func (s *Store) putFull(id ID, t Type, full []byte) error {
	return s.append(id, t, 0, appendEntryHeader(s.scratch[:0], t, int64(len(full))), full, full)
}

// append stores an object: an entry of a header, which lies in scratch, and a payload, which is deflated.
func (s *Store) append(id ID, t Type, depth int, header, payload, full []byte) error {
	g, err := s.grow()
	if err != nil {
		return err
	}
	s.scratch = s.deflater.append(header, payload)
	offset := g.length
	if err := g.append(s.scratch); err != nil {
		return err
	}
	g.commit(newRecord(id, t, depth, offset, int64(len(full)), int64(len(s.scratch))))
	// The text is likely to be the base of the next version.
	if (t == Blob || t == Tree) && s.cache.takes(int64(len(full))) {
		s.cache.add(id, t, bytes.Clone(full))
	}
	return nil
}

// sum is Sum with the writer's own hash.
func (s *Store) sum(t Type, data []byte) ID {
	s.beginSum(t, int64(len(data)))
	s.hash.Write(data)
	return s.endSum()
}

func (s *Store) beginSum(t Type, size int64) {
	s.hash.Reset()
	s.scratch = append(s.scratch[:0], t.String()...)
	s.scratch = append(s.scratch, ' ')
	s.scratch = strconv.AppendInt(s.scratch, size, 10)
	s.scratch = append(s.scratch, 0)
	s.hash.Write(s.scratch)
}

func (s *Store) endSum() ID {
	s.scratch = s.hash.Sum(s.scratch[:0])
	return ID(s.scratch)
}

// PutStream stores an object of exactly size bytes without holding it in memory.
func (s *Store) PutStream(t Type, size int64, r io.Reader) (ID, error) {
	if size < 0 || size > maxSize {
		return Zero, fmt.Errorf("pack: put %v: a size of %d is not supported", t, size)
	}
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
	s.beginSum(t, size)
	if err := g.append(appendEntryHeader(nil, t, size)); err != nil {
		return Zero, err
	}
	z := s.deflater.large
	z.Reset(writerFunc(g.append))
	n, err := io.Copy(io.MultiWriter(s.hash, z), io.LimitReader(r, size+1))
	if err == nil {
		err = z.Close()
	}
	if err == nil && n != size {
		err = fmt.Errorf("the stream does not end after %d bytes", size)
	}
	return s.endSum(), err
}

type writerFunc func([]byte) error

func (f writerFunc) Write(p []byte) (int, error) { return len(p), f(p) }

// grow returns the segment to append to.
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
