package delta

// Window is one step of an svndiff: a stretch of target text made from a view of the source and new data.
type Window struct {
	SourceOffset int64 // where in the source the view begins
	SourceLen    int   // bytes of the view
	TargetLen    int   // bytes that the window makes

	instructions []byte
	data         []byte
}

// source is what a window's instruction takes its bytes from: the upper two bits of its first byte.
type source byte

const (
	fromView source = iota
	fromTarget
	fromData
)

// windowOp makes n bytes from those at off of its source. New data is used up in order, without offsets.
type windowOp struct {
	from source
	off  int64
	n    int64
}

func nextWindowOp(p []byte) (op windowOp, rest []byte, err error) {
	op.from, op.n = source(p[0]>>6), int64(p[0]&0x3f)
	p = p[1:]
	if op.n == 0 {
		if op.n, p, err = takeInt(p); err != nil {
			return op, nil, err
		}
	}
	if op.from != fromData {
		if op.off, p, err = takeInt(p); err != nil {
			return op, nil, err
		}
	}
	return op, p, nil
}

// check goes through all instructions, so that Apply and AppendGit need not.
func (w *Window) check() error {
	var made, used int64
	for p := w.instructions; len(p) > 0; {
		op, rest, err := nextWindowOp(p)
		if err != nil {
			return err
		}
		p = rest
		if op.n == 0 || op.n > int64(w.TargetLen)-made {
			return corrupt("svndiff: an instruction of %d bytes where %d are left", op.n, int64(w.TargetLen)-made)
		}
		switch op.from {
		case fromView:
			if op.off > int64(w.SourceLen)-op.n {
				return corrupt("svndiff: copies %d bytes at %d of a view of %d", op.n, op.off, w.SourceLen)
			}
		case fromTarget:
			if op.off >= made {
				return corrupt("svndiff: copies from %d of a target of %d so far", op.off, made)
			}
		case fromData:
			if used += op.n; used > int64(len(w.data)) {
				return corrupt("svndiff: uses %d bytes of new data of %d", used, len(w.data))
			}
		default:
			return corrupt("svndiff: instruction kind %d is reserved", op.from)
		}
		made += op.n
	}
	if made != int64(w.TargetLen) {
		return corrupt("svndiff: makes %d bytes instead of %d", made, w.TargetLen)
	}
	if used != int64(len(w.data)) {
		return corrupt("svndiff: uses %d bytes of new data of %d", used, len(w.data))
	}
	return nil
}

// Apply appends the window's target to dst. View is the SourceLen bytes of the source from SourceOffset on.
func (w *Window) Apply(dst, view []byte) ([]byte, error) {
	if len(view) != w.SourceLen {
		return nil, corrupt("svndiff: needs %d bytes of the source at %d, which has %d there", w.SourceLen, w.SourceOffset, len(view))
	}
	start, data := len(dst), w.data
	for p := w.instructions; len(p) > 0; {
		op, rest, _ := nextWindowOp(p)
		p = rest
		switch op.from {
		case fromView:
			dst = append(dst, view[op.off:op.off+op.n]...)
		case fromTarget:
			dst = appendRun(dst, start+int(op.off), int(op.n))
		case fromData:
			dst = append(dst, data[:op.n]...)
			data = data[op.n:]
		}
	}
	return dst, nil
}

// appendRun appends n bytes that begin at dst[at] and may run into what is being appended: a pattern repeated.
func appendRun(dst []byte, at, n int) []byte {
	for n > 0 {
		step := min(n, len(dst)-at)
		dst = append(dst, dst[at:at+step]...)
		at += step
		n -= step
	}
	return dst
}

// AppendGit adds the window to a Git delta against the whole source. Target is what Apply made of the window: Git
// has no copies from the target, so these become literal bytes.
func (w *Window) AppendGit(b *Builder, target []byte) {
	for p := w.instructions; len(p) > 0; {
		op, rest, _ := nextWindowOp(p)
		p = rest
		if op.from == fromView {
			b.Copy(w.SourceOffset+op.off, op.n)
		} else {
			b.Insert(target[:op.n])
		}
		target = target[op.n:]
	}
}
