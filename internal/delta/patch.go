package delta

import (
	"encoding/binary"
	"iter"
	"math"
)

// Patch is a delta as Mercurial keeps and sends it (mercurial/helptext/internals/changegroups.txt, "Delta Groups"): hunks
// of start, end and length, four bytes each with the highest first, and the new bytes that stand for base[start:end].
type Patch []byte

// hunkHeader is the size of a hunk without its new bytes.
const hunkHeader = 12

// MaxText is the most bytes that a text of Mercurial has: what a patch can tell of.
const MaxText = math.MaxInt32

// FullPatch appends to dst the beginning of a patch that makes a text of size bytes of an empty base: the text itself
// goes behind it. Size is at most MaxText.
func FullPatch(dst []byte, size int) []byte {
	var header [hunkHeader]byte
	binary.BigEndian.PutUint32(header[8:], uint32(size))
	return append(dst, header[:]...)
}

// Hunk stands New in the place of what the base has from Start up to End.
type Hunk struct {
	Start, End int64
	New        []byte
}

// Hunks yields the hunks of a patch that was checked.
func (p Patch) Hunks() iter.Seq[Hunk] {
	return func(yield func(Hunk) bool) {
		for len(p) > 0 {
			var h Hunk
			if h, p = p.first(); !yield(h) {
				return
			}
		}
	}
}

// first takes the first hunk of a patch that has a whole one.
func (p Patch) first() (h Hunk, rest Patch) {
	end := hunkHeader + int(binary.BigEndian.Uint32(p[8:]))
	h = Hunk{
		Start: int64(binary.BigEndian.Uint32(p)),
		End:   int64(binary.BigEndian.Uint32(p[4:])),
		New:   p[hunkHeader:end:end],
	}
	return h, p[end:]
}

// Check goes through all of a patch of a base of so many bytes: every hunk is whole, lies in the base and behind the one
// before. It returns the size of the target, which is at most limit.
func (p Patch) Check(base, limit int64) (target int64, err error) {
	var last int64
	target = base
	for rest := p; len(rest) > 0; {
		if len(rest) < hunkHeader {
			return 0, corrupt("patch: a hunk is cut short")
		}
		if n := int64(binary.BigEndian.Uint32(rest[8:])); n > int64(len(rest)-hunkHeader) {
			return 0, corrupt("patch: a hunk of %d new bytes where %d are left", n, len(rest)-hunkHeader)
		}
		var h Hunk
		h, rest = rest.first()
		if h.Start < last || h.End < h.Start || h.End > base {
			return 0, corrupt("patch: a hunk from %d to %d after %d of a base of %d bytes", h.Start, h.End, last, base)
		}
		last = h.End
		target += int64(len(h.New)) - (h.End - h.Start)
	}
	if target > limit {
		return 0, corrupt("patch: makes %d bytes, %d is the most", target, limit)
	}
	return target, nil
}

// Apply appends to dst what the patch makes of base, at most limit bytes. Everything is checked before dst grows.
func (p Patch) Apply(dst, base []byte, limit int64) ([]byte, error) {
	target, err := p.Check(int64(len(base)), limit)
	if err != nil {
		return nil, err
	}
	if need := len(dst) + int(target); need > cap(dst) {
		dst = append(make([]byte, 0, need), dst...)
	}
	var last int64
	for h := range p.Hunks() {
		dst = append(dst, base[last:h.Start]...)
		dst = append(dst, h.New...)
		last = h.End
	}
	return append(dst, base[last:]...), nil
}

// AppendGit adds a patch that was checked against base to a Git delta. Git's base and target may be without the first
// baseCut and targetCut bytes, such as a header that is kept apart. B is of a base of len(base)-baseCut bytes.
func (p Patch) AppendGit(b *Builder, base []byte, baseCut, targetCut int64) {
	w := cutter{b: b, base: base, baseCut: baseCut, skip: targetCut}
	var last int64
	for h := range p.Hunks() {
		w.copy(last, h.Start)
		w.insert(h.New)
		last = h.End
	}
	w.copy(last, int64(len(base)))
}

// cutter writes a Git delta of a base and a target that begin later.
type cutter struct {
	b       *Builder
	base    []byte
	baseCut int64
	skip    int64 // bytes of the target that are still to be cut off
}

func (w *cutter) insert(p []byte) {
	cut := min(w.skip, int64(len(p)))
	w.skip -= cut
	w.b.Insert(p[cut:])
}

func (w *cutter) copy(from, to int64) {
	if from < w.baseCut { // Git's base does not have these bytes
		end := min(to, w.baseCut)
		w.insert(w.base[from:end])
		from = end
	}
	cut := min(w.skip, to-from)
	w.skip -= cut
	w.b.Copy(from+cut-w.baseCut, to-from-cut)
}
