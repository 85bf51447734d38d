package hgbundle

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// node is the id of a revision: the SHA-1 of its parents' and its text.
type node [sha1.Size]byte

func (n node) String() string { return hex.EncodeToString(n[:]) }

func (n node) appendTo(dst []byte) []byte { return hex.AppendEncode(dst, n[:]) }

// revision is a revision of a file, a manifest or the changelog.
type revision struct {
	node   node
	p1, p2 node
	number int // in its revlog
}

// id is the revision's node, the null node for none.
func (r *revision) id() node {
	if r == nil {
		return node{}
	}
	return r.node
}

func newRevision(p1, p2 *revision, text []byte) *revision {
	r := &revision{p1: p1.id(), p2: p2.id()}
	low, high := r.p1, r.p2
	if bytes.Compare(low[:], high[:]) > 0 {
		low, high = high, low
	}
	h := sha1.New()
	h.Write(low[:])
	h.Write(high[:])
	h.Write(text)
	h.Sum(r.node[:0])
	return r
}

// revlog is the revisions of one thing, in the order in which they are sent.
type revlog struct {
	chunks []chunk
	known  map[node]*revision
}

// chunk is a revision as it is sent.
type chunk struct {
	*revision
	base  node
	link  *revision // the changeset that brings it
	patch []byte    // that makes its text of the base's
}

// add adds a revision, which is told by a patch against p1. One that is there already is not added again.
func (l *revlog) add(p1, p2 *revision, text, patch []byte, link *revision) (r *revision, added bool) {
	r = newRevision(p1, p2, text)
	if known := l.known[r.node]; known != nil {
		return known, false
	}
	l.append(r, p1, patch, link)
	return r, true
}

func (l *revlog) append(r, base *revision, patch []byte, link *revision) {
	if l.known == nil {
		l.known = map[node]*revision{}
	}
	r.number = len(l.chunks)
	l.known[r.node] = r
	l.chunks = append(l.chunks, chunk{r, base.id(), link, patch})
}

// appendHunk appends a hunk of a patch: data in the place of what is between start and end.
func appendHunk(patch []byte, start, end int, data ...[]byte) []byte {
	patch = binary.BigEndian.AppendUint32(patch, uint32(start))
	patch = binary.BigEndian.AppendUint32(patch, uint32(end))
	patch = binary.BigEndian.AppendUint32(patch, uint32(total(data)))
	for _, d := range data {
		patch = append(patch, d...)
	}
	return patch
}

// parcel is a bundle being written. Errors of w stick until Flush.
type parcel struct{ w *bufio.Writer }

// begin writes what comes before the changegroup, which is the payload of the only part.
func (p *parcel) begin(changesets int) {
	p.w.WriteString("HG20")
	p.number(0) // parameters of the stream
	count := fmt.Sprint(changesets)
	var head []byte
	head = append(head, byte(len("CHANGEGROUP")))
	head = append(head, "CHANGEGROUP"...)
	head = binary.BigEndian.AppendUint32(head, 0) // the part's number
	head = append(head, 1, 1)                     // mandatory and advisory parameters
	head = append(head, byte(len("version")), byte(len("02")), byte(len("nbchanges")), byte(len(count)))
	head = append(head, "version"+"02"+"nbchanges"+count...)
	p.number(len(head))
	p.w.Write(head)
}

func (p *parcel) end() {
	p.part(0) // no more files
	p.number(0)
	p.number(0)
}

// group writes the revisions of a revlog.
func (p *parcel) group(l *revlog) {
	for _, c := range l.chunks {
		head := make([]byte, 0, 5*len(node{}))
		for _, n := range []node{c.node, c.p1, c.p2, c.base, c.link.node} {
			head = append(head, n[:]...)
		}
		p.chunk(head, c.patch)
	}
	p.part(0)
}

// chunk writes a chunk of the changegroup.
func (p *parcel) chunk(pieces ...[]byte) {
	p.part(4+total(pieces), pieces...)
}

// part writes a piece of the part's payload: a number and what comes after it.
func (p *parcel) part(number int, pieces ...[]byte) {
	p.number(4 + total(pieces))
	p.number(number)
	for _, piece := range pieces {
		p.w.Write(piece)
	}
}

func (p *parcel) number(n int) { p.w.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
