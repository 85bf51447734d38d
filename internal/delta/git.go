// Package delta reads, applies and writes copy/insert deltas: Git's form (gitformat-pack(5), "Deltified representation"),
// svndiff versions 0, 1 and 2 (Subversion, notes/svndiff) and Mercurial's patches, the latter two of which it rewrites into
// the first.
package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt is wrapped by every error about a delta that breaks its format or does not fit its base.
var ErrCorrupt = errors.New("corrupt delta")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("delta: %w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

const (
	maxGitCopy   = 0xffffff // a copy instruction has three bytes of length
	maxGitInsert = 0x7f     // an insert instruction has seven bits of length
	copy64K      = 0x10000  // the length that a copy instruction without length bytes means
)

// Builder writes one Git delta. Neighbouring copies and neighbouring inserts are joined as they are added.
// It may be used again after Reset.
type Builder struct {
	buf        []byte // room for the header, then the instructions
	baseSize   int64
	targetSize int64
	copyOff    int64 // a copy that is held back because the next one may extend it
	copyLen    int64
	insertAt   int // where the running insert's opcode is in buf, 0 when there is none
}

// headerRoom is the most that two sizes take.
const headerRoom = 2 * binary.MaxVarintLen64

// NewBuilder returns a builder of a delta against a base of baseSize bytes. It uses dst's capacity as its buffer.
func NewBuilder(dst []byte, baseSize int64) *Builder {
	b := &Builder{buf: dst}
	b.Reset(baseSize)
	return b
}

// Reset begins another delta in the same buffer; what Finish returned before is no longer valid.
func (b *Builder) Reset(baseSize int64) {
	var room [headerRoom]byte
	*b = Builder{buf: append(b.buf[:0], room[:]...), baseSize: baseSize}
}

// Copy adds n bytes of the base from offset off on. The range must lie in the base, and below 4 GiB.
func (b *Builder) Copy(off, n int64) {
	if n == 0 {
		return
	}
	b.targetSize += n
	if b.copyLen > 0 && off == b.copyOff+b.copyLen {
		b.copyLen += n
		return
	}
	b.flushCopy()
	b.copyOff, b.copyLen = off, n
	b.insertAt = 0
}

// Insert adds literal bytes. It does not keep p.
func (b *Builder) Insert(p []byte) {
	if len(p) == 0 {
		return
	}
	b.flushCopy()
	b.targetSize += int64(len(p))
	for len(p) > 0 {
		if b.insertAt == 0 || b.buf[b.insertAt] == maxGitInsert {
			b.insertAt = len(b.buf)
			b.buf = append(b.buf, 0)
		}
		n := min(len(p), maxGitInsert-int(b.buf[b.insertAt]))
		b.buf = append(b.buf, p[:n]...)
		b.buf[b.insertAt] += byte(n)
		p = p[n:]
	}
}

func (b *Builder) flushCopy() {
	for b.copyLen > 0 {
		n := min(b.copyLen, maxGitCopy)
		b.appendCopy(uint32(b.copyOff), uint32(n))
		b.copyOff += n
		b.copyLen -= n
	}
}

func (b *Builder) appendCopy(off, n uint32) {
	at := len(b.buf)
	b.buf = append(b.buf, 0x80)
	for bit := 0; bit < 4; bit++ {
		if c := byte(off >> (8 * bit)); c != 0 {
			b.buf[at] |= 1 << bit
			b.buf = append(b.buf, c)
		}
	}
	if n == copy64K {
		return
	}
	for bit := 0; bit < 3; bit++ {
		if c := byte(n >> (8 * bit)); c != 0 {
			b.buf[at] |= 0x10 << bit
			b.buf = append(b.buf, c)
		}
	}
}

// Len returns the size of the delta so far, its header at its largest.
func (b *Builder) Len() int { return len(b.buf) }

// Finish returns the delta. It is valid until Reset. Git itself does not apply a delta that makes an empty target: such
// an object has to be stored in full.
func (b *Builder) Finish() []byte {
	b.flushCopy()
	var header [headerRoom]byte
	n := binary.PutUvarint(header[:], uint64(b.baseSize))
	n += binary.PutUvarint(header[n:], uint64(b.targetSize))
	delta := b.buf[headerRoom-n:]
	copy(delta, header[:n])
	return delta
}

// Sizes returns the sizes of base and target that a Git delta states. They are not to be trusted before Apply.
func Sizes(delta []byte) (base, target int64, err error) {
	base, target, _, err = splitHeader(delta)
	return base, target, err
}

func splitHeader(delta []byte) (base, target int64, instructions []byte, err error) {
	b, n := binary.Uvarint(delta)
	if n <= 0 || int64(b) < 0 {
		return 0, 0, nil, corrupt("the size of the base is missing")
	}
	t, m := binary.Uvarint(delta[n:])
	if m <= 0 || int64(t) < 0 {
		return 0, 0, nil, corrupt("the size of the target is missing")
	}
	return int64(b), int64(t), delta[n+m:], nil
}

// Apply appends to dst what a Git delta makes of base. Everything is checked before dst grows.
func Apply(dst, base, delta []byte) ([]byte, error) {
	baseSize, targetSize, instructions, err := splitHeader(delta)
	if err != nil {
		return nil, err
	}
	if baseSize != int64(len(base)) {
		return nil, corrupt("made against %d bytes, applied to %d", baseSize, len(base))
	}
	if err := checkInstructions(instructions, baseSize, targetSize); err != nil {
		return nil, err
	}
	if need := len(dst) + int(targetSize); need > cap(dst) {
		dst = append(make([]byte, 0, need), dst...)
	}
	for len(instructions) > 0 {
		op, rest, _ := nextInstruction(instructions)
		if op.insert != nil {
			dst = append(dst, op.insert...)
		} else {
			dst = append(dst, base[op.off:op.off+op.n]...)
		}
		instructions = rest
	}
	return dst, nil
}

func checkInstructions(instructions []byte, baseSize, targetSize int64) error {
	var total int64
	for len(instructions) > 0 {
		op, rest, err := nextInstruction(instructions)
		if err != nil {
			return err
		}
		if op.insert == nil && op.off+op.n > baseSize {
			return corrupt("copies %d bytes at %d of a base of %d", op.n, op.off, baseSize)
		}
		total += op.n
		instructions = rest
	}
	if total != targetSize {
		return corrupt("makes %d bytes instead of %d", total, targetSize)
	}
	return nil
}

// gitOp is one instruction: a copy of n bytes at off, or an insert of n literal bytes.
type gitOp struct {
	off, n int64
	insert []byte
}

func nextInstruction(p []byte) (op gitOp, rest []byte, err error) {
	code := p[0]
	p = p[1:]
	switch {
	case code == 0:
		return gitOp{}, nil, corrupt("instruction 0 is reserved")
	case code < 0x80:
		n := int(code)
		if n > len(p) {
			return gitOp{}, nil, corrupt("an insert of %d bytes is cut short", n)
		}
		return gitOp{n: int64(n), insert: p[:n]}, p[n:], nil
	}
	for bit := 0; bit < 7; bit++ {
		if code&(1<<bit) == 0 {
			continue
		}
		if len(p) == 0 {
			return gitOp{}, nil, corrupt("a copy is cut short")
		}
		if bit < 4 {
			op.off |= int64(p[0]) << (8 * bit)
		} else {
			op.n |= int64(p[0]) << (8 * (bit - 4))
		}
		p = p[1:]
	}
	if op.n == 0 {
		op.n = copy64K
	}
	return op, p, nil
}
