package pack

import (
	"crypto/sha1"
	"fmt"
	"hash"
	"strconv"
)

// Encoder puts objects into a store. Any number of them may be at work at the same time, each in one goroutine: they sum
// and deflate beside each other. What one of them has put, all can read and take for a base.
//
// Texts are not remembered for those that ask the store for them: who puts a text keeps it while it is of use.
type Encoder struct {
	store     *Store
	hash      hash.Hash
	deflater  *deflater
	scratch   []byte
	remembers bool
}

// Encoder returns another encoder for the store.
func (s *Store) Encoder() *Encoder {
	return &Encoder{store: s, hash: sha1.New(), deflater: newDeflater(s.fast)}
}

// Put stores an object, unless it is there already, and returns its id. It does not keep data.
func (e *Encoder) Put(t Type, data []byte) (ID, error) {
	id := e.sum(t, data)
	if e.store.Has(id) {
		return id, nil
	}
	if err := e.putFull(id, t, data); err != nil {
		return Zero, putError(t, id, err)
	}
	return id, nil
}

// PutDelta stores an object of which a Git delta against base is known: as that delta when this saves enough and the
// chain of deltas below base is short, in full otherwise. It keeps neither slice. A base that the store does not hold
// is ErrMissing. That the delta makes full of the base is the caller's duty.
func (e *Encoder) PutDelta(t Type, base ID, gitDelta, full []byte) (ID, error) {
	id := e.sum(t, full)
	return id, e.putDelta(id, t, base, gitDelta, full)
}

// PutKeyed stores a text as a blob under a key that somebody else has given it: a store holds either such texts or Git's
// objects. Base is the key of the text that gitDelta is against, Zero for none. Otherwise it is as PutDelta.
func (e *Encoder) PutKeyed(key, base ID, gitDelta, full []byte) error {
	if !base.IsZero() {
		return e.putDelta(key, Blob, base, gitDelta, full)
	}
	if e.store.Has(key) {
		return nil
	}
	if err := e.putFull(key, Blob, full); err != nil {
		return putError(Blob, key, err)
	}
	return nil
}

func (e *Encoder) putDelta(id ID, t Type, base ID, gitDelta, full []byte) error {
	if e.store.Has(id) {
		return nil
	}
	_, b, err := e.store.find(base)
	if err != nil {
		return putError(t, id, err)
	}
	// Literal bytes deflate about as well in a delta as in the whole text, so the sizes before it compare well.
	pays := len(gitDelta) < len(full)/2
	if pays && max(b.size(), int64(len(full))) <= maxDeltified && b.depth() < maxDepth && b.typ() == t {
		header := appendEntryHeader(e.scratch[:0], refDelta, int64(len(gitDelta)))
		header = append(header, base[:]...)
		err = e.append(id, t, b.depth()+1, header, gitDelta, full)
	} else {
		err = e.putFull(id, t, full)
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

func (e *Encoder) putFull(id ID, t Type, full []byte) error {
	return e.append(id, t, 0, appendEntryHeader(e.scratch[:0], t, int64(len(full))), full, full)
}

// append stores an object: an entry of a header, which lies in scratch, and a payload, which is deflated.
func (e *Encoder) append(id ID, t Type, depth int, header, payload, full []byte) error {
	e.scratch = e.deflater.append(header, payload)
	if err := e.store.appendEntry(id, t, depth, e.scratch, int64(len(full))); err != nil {
		return err
	}
	if c := e.store.cache; e.remembers && (t == Blob || t == Tree) && c.takes(int64(len(full))) {
		c.add(id, t, full)
	}
	return nil
}

// appendEntry stores what an encoder made, unless another one was faster.
func (s *Store) appendEntry(id ID, t Type, depth int, entry []byte, size int64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	g, err := s.grow()
	if err != nil {
		return err
	}
	if _, _, there, err := g.find(id); there || err != nil {
		return err
	}
	offset := g.length
	if err := g.append(entry); err != nil {
		return err
	}
	g.commit(newRecord(id, t, depth, offset, size, int64(len(entry))))
	return nil
}

// sum is Sum with the encoder's own hash.
func (e *Encoder) sum(t Type, data []byte) ID {
	e.beginSum(t, int64(len(data)))
	e.hash.Write(data)
	return e.endSum()
}

func (e *Encoder) beginSum(t Type, size int64) {
	e.hash.Reset()
	e.scratch = append(e.scratch[:0], t.String()...)
	e.scratch = append(e.scratch, ' ')
	e.scratch = strconv.AppendInt(e.scratch, size, 10)
	e.scratch = append(e.scratch, 0)
	e.hash.Write(e.scratch)
}

func (e *Encoder) endSum() ID {
	e.scratch = e.hash.Sum(e.scratch[:0])
	return ID(e.scratch)
}
