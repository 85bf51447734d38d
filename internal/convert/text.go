package convert

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"

	"gantry/internal/delta"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

const (
	// maxInMemory bounds the texts that are held in memory. Longer ones go through files.
	maxInMemory = 16 << 20

	// Subversion's text of a symbolic link is this prefix and the target. Targets are as long as Linux allows.
	linkPrefix = "link "
	maxLink    = 4095
)

// texts builds file contents from what an origin sends. A text is what Subversion holds, which for a symbolic link is
// not what Git holds.
type texts struct {
	store *pack.Store
	dir   string // for texts that are not held in memory

	diff *delta.SVNDiff
	git  *delta.Builder
	buf  []byte
}

// text is one content: in memory, valid until the next one is read, or in a file of its own.
type text struct {
	size  int64
	data  []byte
	delta []byte // against the file before, nil when there is none

	file *os.File // instead of data, with its sums
	md5  []byte
	sha1 []byte
}

func (t *text) close() {
	if t.file != nil {
		t.file.Close()
	}
}

func (t *text) readerAt() io.ReaderAt {
	if t.file != nil {
		return t.file
	}
	return bytes.NewReader(t.data)
}

// view returns a range of the text that a delta asks for. The last view of a file is overwritten.
func (t *text) view(buf []byte, off int64, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if off > t.size || int64(n) > t.size-off {
		return nil, corrupt("a delta needs %d bytes at %d of a text of %d", n, off, t.size)
	}
	if t.file == nil {
		return t.data[off : off+int64(n)], nil
	}
	if n > cap(buf) {
		buf = make([]byte, n)
	}
	_, err := t.file.ReadAt(buf[:n], off)
	return buf[:n], err
}

func (t *text) sumMD5() []byte {
	if t.file != nil {
		return t.md5
	}
	sum := md5.Sum(t.data)
	return sum[:]
}

func (t *text) sumSHA1() []byte {
	if t.file != nil {
		return t.sha1
	}
	sum := sha1.Sum(t.data)
	return sum[:]
}

// verify holds the text against what the origin says of it, and tells whether it says anything.
func (t *text) verify(c *origin.Change) (checked bool, err error) {
	if c.MD5 != nil {
		if sum := t.sumMD5(); !bytes.Equal(sum, c.MD5) {
			return false, corrupt("the MD5 of the text is %x, the origin says %x", sum, c.MD5)
		}
	}
	if c.SHA1 != nil {
		if sum := t.sumSHA1(); !bytes.Equal(sum, c.SHA1) {
			return false, corrupt("the SHA-1 of the text is %x, the origin says %x", sum, c.SHA1)
		}
	}
	return c.MD5 != nil || c.SHA1 != nil, nil
}

// aside is the size in bytes from which on a text is worth another goroutine.
const aside = 16 << 10

// verifying is verify beside what else is done with the text. The outcome must be asked for before the next text is read.
func (t *text) verifying(c *origin.Change) (outcome func() (checked bool, err error)) {
	var checked bool
	var err error
	if t.size < aside {
		checked, err = t.verify(c)
		return func() (bool, error) { return checked, err }
	}
	done := make(chan struct{})
	go func() {
		checked, err = t.verify(c)
		close(done)
	}()
	return func() (bool, error) {
		<-done
		return checked, err
	}
}

// isLink reports whether the text of a special file is a symbolic link that Git can hold.
func (t *text) isLink(path string) bool {
	target, ok := bytes.CutPrefix(t.data, []byte(linkPrefix))
	return ok && canLink(target, path)
}

// canLink reports whether Git can hold a symbolic link at a path. It refuses one in the place of .gitmodules.
func canLink(target []byte, path string) bool {
	return len(target) > 0 && len(target) <= maxLink && bytes.IndexByte(target, 0) < 0 && baseName(path) != ".gitmodules"
}

// read builds the text of a change; old is the file before, or what it is a copy of.
func (ts *texts) read(c *origin.Change, old history.Entry) (*text, error) {
	in, err := c.Text.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if !c.Text.Delta() {
		return ts.readFull(in, old)
	}
	base, err := ts.openBase(old)
	if err != nil {
		return nil, err
	}
	defer base.close()
	// The sum of the result proves that the base was right. Only without it the base is checked itself.
	if sum := c.Text.BaseMD5(); sum != nil && c.MD5 == nil && c.SHA1 == nil {
		if have := base.sumMD5(); !bytes.Equal(have, sum) {
			return nil, corrupt("the MD5 of the text before is %x, the origin says %x", have, sum)
		}
	}
	t, err := ts.readDelta(in, base, old)
	if errors.Is(err, delta.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", origin.ErrCorrupt, err)
	}
	return t, err
}

// whole returns the text of a file that is small enough to be held in memory.
func (ts *texts) whole(e history.Entry) ([]byte, error) {
	if e.Mode == 0 {
		return nil, nil
	}
	_, data, err := ts.store.Get(e.ID)
	if err == nil && e.Mode == pack.ModeLink {
		data = append([]byte(linkPrefix), data...)
	}
	return data, err
}

// openBase returns the text that a delta applies to.
func (ts *texts) openBase(old history.Entry) (*text, error) {
	if old.Mode != 0 {
		_, size, err := ts.store.Stat(old.ID)
		if err != nil {
			return nil, err
		}
		if size > maxInMemory {
			return ts.spill(func(w io.Writer) error {
				_, _, in, err := ts.store.Open(old.ID)
				if err != nil {
					return err
				}
				defer in.Close()
				_, err = io.Copy(w, in)
				return err
			})
		}
	}
	data, err := ts.whole(old)
	return &text{data: data, size: int64(len(data))}, err
}

// isBase reports whether Git may take a file's blob as the base of a delta between texts.
func isBase(old history.Entry) bool { return old.Mode == pack.ModeFile || old.Mode == pack.ModeExec }

func (ts *texts) readDelta(in io.Reader, base *text, old history.Entry) (*text, error) {
	if ts.diff == nil {
		ts.diff = delta.NewSVNDiff(in)
	} else {
		ts.diff.Reset(in)
	}
	transcode := isBase(old) && base.file == nil
	ts.git.Reset(base.size)
	ts.buf = ts.buf[:0]
	var viewBuf []byte
	for {
		w, err := ts.diff.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		view, err := base.view(viewBuf, w.SourceOffset, w.SourceLen)
		if err != nil {
			return nil, err
		}
		if base.file != nil {
			viewBuf = view
		}
		start := len(ts.buf)
		if ts.buf, err = w.Apply(ts.buf, view); err != nil {
			return nil, err
		}
		if transcode {
			w.AppendGit(ts.git, ts.buf[start:])
		}
		if len(ts.buf) > maxInMemory {
			return ts.spill(func(w io.Writer) error {
				if _, err := w.Write(ts.buf); err != nil {
					return err
				}
				_, err := ts.diff.ApplyTo(w, base.readerAt())
				return err
			})
		}
	}
	t := &text{data: ts.buf, size: int64(len(ts.buf))}
	if transcode {
		t.delta = ts.git.Finish()
	}
	return t, nil
}

func (ts *texts) readFull(in io.Reader, old history.Entry) (*text, error) {
	buf := bytes.NewBuffer(ts.buf[:0])
	_, err := io.Copy(buf, io.LimitReader(in, maxInMemory+1))
	ts.buf = buf.Bytes()
	if err != nil {
		return nil, err
	}
	if len(ts.buf) > maxInMemory {
		return ts.spill(func(w io.Writer) error {
			if _, err := w.Write(ts.buf); err != nil {
				return err
			}
			_, err := io.Copy(w, in)
			return err
		})
	}
	t := &text{data: ts.buf, size: int64(len(ts.buf))}
	if isBase(old) {
		t.delta, err = ts.trim(t.data, old)
	}
	return t, err
}

// trim makes a delta for an origin that sends whole texts: what is the same at both ends is copied. It is not the
// smallest one, but most edits are in one place, and it costs no search.
func (ts *texts) trim(data []byte, old history.Entry) ([]byte, error) {
	if _, size, err := ts.store.Stat(old.ID); err != nil || size > maxInMemory {
		return nil, err
	}
	base, err := ts.whole(old)
	if err != nil {
		return nil, err
	}
	shorter := min(len(base), len(data))
	head := 0
	for head < shorter && base[head] == data[head] {
		head++
	}
	tail := 0
	for tail < shorter-head && base[len(base)-1-tail] == data[len(data)-1-tail] {
		tail++
	}
	ts.git.Reset(int64(len(base)))
	ts.git.Copy(0, int64(head))
	ts.git.Insert(data[head : len(data)-tail])
	ts.git.Copy(int64(len(base)-tail), int64(tail))
	return ts.git.Finish(), nil
}

// spill makes a text in a file without a name, so that nothing is left of it however the process ends.
func (ts *texts) spill(fill func(io.Writer) error) (*text, error) {
	file, err := os.CreateTemp(ts.dir, "text-")
	if err != nil {
		return nil, err
	}
	t := &text{file: file}
	if err := os.Remove(file.Name()); err != nil {
		t.close()
		return nil, err
	}
	md5Sum, sha1Sum := md5.New(), sha1.New()
	out := bufio.NewWriterSize(file, 256<<10)
	err = fill(io.MultiWriter(out, md5Sum, sha1Sum))
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		t.size, err = file.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.md5, t.sha1 = md5Sum.Sum(nil), sha1Sum.Sum(nil)
	return t, nil
}

// put stores a text as a blob; old is what its delta applies to.
func (ts *texts) put(t *text, old history.Entry) (pack.ID, error) {
	switch {
	case t.file != nil:
		return ts.store.PutStream(pack.Blob, t.size, t.file)
	case t.delta != nil:
		return ts.store.PutDelta(pack.Blob, old.ID, t.delta, t.data)
	}
	return ts.store.Put(pack.Blob, t.data)
}
