package pack

import (
	"errors"
	"io"
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
	CacheBytes int64 // bound of the full texts kept in memory; 0 is 96 MiB
}

// Store holds the objects of one conversion in a directory that it only ever appends to. What was put can be read at
// once, and survives the end of the process from the next Sync on.
//
// One goroutine at a time may call Put, PutDelta, PutStream, Sync and Close; Has, Get, Open, Stat and Copy may be called
// by any number beside it.
type Store struct{}

// OpenStore opens the store in dir with what segments say is valid, none for a new one. Writer is a word that no other
// owner of the directory has ever used: it is part of the names of new files, so that an owner that has lost its right
// and does not know it yet never writes into ours. Files of earlier owners are read, never changed.
func OpenStore(dir, writer string, segments []Segment, opt Options) (*Store, error) {
	return nil, errors.New("unimplemented")
}

// Has reports whether the store holds an object.
func (s *Store) Has(id ID) bool { return false }

// Put stores an object, unless it is there already, and returns its id. It does not keep data.
func (s *Store) Put(t Type, data []byte) (ID, error) { return Zero, errors.New("unimplemented") }

// PutDelta stores an object of which a Git delta against base is known: as that delta when this saves enough and the
// chain of deltas below base is short, in full otherwise. It keeps neither slice. A base that the store does not hold
// is ErrMissing. That the delta makes full of the base is the caller's duty.
func (s *Store) PutDelta(t Type, base ID, gitDelta, full []byte) (ID, error) {
	return Zero, errors.New("unimplemented")
}

// PutStream stores an object of exactly size bytes without holding it in memory.
func (s *Store) PutStream(t Type, size int64, r io.Reader) (ID, error) {
	return Zero, errors.New("unimplemented")
}

// Get returns an object. The slice belongs to the store: it must not be modified.
func (s *Store) Get(id ID) (Type, []byte, error) { return 0, nil, errors.New("unimplemented") }

// Open returns a reader of an object and its size. Large objects are not held in memory.
func (s *Store) Open(id ID) (Type, int64, io.ReadCloser, error) {
	return 0, 0, nil, errors.New("unimplemented")
}

// Stat returns an object's type and size.
func (s *Store) Stat(id ID) (Type, int64, error) { return 0, 0, errors.New("unimplemented") }

// Sync makes everything that was put durable. What it returns may be recorded, and given to OpenStore later.
func (s *Store) Sync() ([]Segment, error) { return nil, errors.New("unimplemented") }

// Close closes the store's files. What was put since the last Sync is lost.
func (s *Store) Close() error { return nil }
