package svn

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gantry"
	"gantry/internal/origin"
)

const magicHeader = "SVN-fs-dump-format-version"

// dumpReader reads the records of a dump one after the other.
type dumpReader struct {
	in     *bufio.Reader
	plain  *os.File // where content can be passed over by seeking; nil when compressed
	size   int64    // of plain
	close  func()
	name   string
	offset int64   // in the uncompressed dump
	rev    int64   // the revision that is being read; -1 before the first
	begun  bool    // the format's version was seen
	again  *record // that next returns once more
	oldest int64   // revision that copies may be from
}

type recordKind uint8

const (
	recordVersion recordKind = iota
	recordUUID
	recordRevision
	recordNode
)

// record is the header of one record. Its content, propLen and then textLen bytes, is read or skipped after it.
type record struct {
	kind      recordKind
	version   int64
	uuid      string
	number    int64
	path      string
	nodeKind  Kind
	action    origin.Action
	hasAction bool
	copied    bool
	copyPath  string
	copyRev   int64
	propDelta bool
	textDelta bool
	textMD5   []byte
	textSHA1  []byte
	baseMD5   []byte

	propLen    int64  // -1: no properties are told
	textLen    int64  // -1: no text is told
	contentLen int64  // -1: not told
	left       int64  // bytes of content not yet read
	block      []byte // the properties, when they were read already
}

const dumpBuffer = 64 << 10 // bytes

func newDumpReader(name string) *dumpReader {
	return &dumpReader{name: name, rev: -1, close: func() {}}
}

// reader reads the dump from its beginning.
func (d *Dump) reader() (*dumpReader, error) {
	r := newDumpReader(filepath.Base(d.file.Name()))
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("svn: dump %s: %w", r.name, err)
	}
	stat, err := d.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("svn: dump %s: %w", r.name, err)
	}
	raw := bufio.NewReaderSize(d.file, dumpBuffer)
	if err := r.start(raw); err != nil {
		return nil, err
	}
	if r.in == raw && stat.Mode().IsRegular() {
		r.plain, r.size = d.file, stat.Size()
	}
	return r, nil
}

// start sees how the dump is compressed.
func (r *dumpReader) start(raw *bufio.Reader) error {
	content, compressed, err := origin.Inflate(raw)
	switch {
	case err != nil && compressed:
		return r.readError(err)
	case err != nil:
		return fmt.Errorf("svn: dump %s: %w", r.name, err)
	case compressed:
		r.in, r.close = bufio.NewReaderSize(content, 2*dumpBuffer), func() { _ = content.Close() } // a reader's: nothing can be lost
	default:
		r.in = raw
	}
	return nil
}

// errorf says what is wrong with the dump, and where.
func (r *dumpReader) errorf(format string, args ...any) error {
	where := fmt.Sprintf("byte %d", r.offset)
	if r.rev >= 0 {
		where = fmt.Sprintf("r%d, byte %d", r.rev, r.offset)
	}
	return gantry.Errorf(gantry.Invalid, "svn.Dump", "the dump %s cannot be read at %s: %w", r.name, where, fmt.Errorf(format, args...))
}

// readError says why bytes that must be there are not.
func (r *dumpReader) readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.errorf("it ends too early, its end is missing: %w", io.ErrUnexpectedEOF)
	}
	return r.errorf("%w", err)
}

// next reads the header of the next record, io.EOF at the end of the dump. The content of the one before must have been
// read or skipped.
func (r *dumpReader) next() (*record, error) {
	if rec := r.again; rec != nil {
		r.again = nil
		return rec, nil
	}
	rec := &record{propLen: -1, textLen: -1, contentLen: -1, copyRev: -1}
	for first := true; ; {
		line, err := r.line()
		if first && errors.Is(err, io.EOF) && len(line) == 0 {
			return nil, io.EOF
		}
		if err != nil {
			return nil, r.readError(err)
		}
		if len(line) == 0 {
			if first {
				continue // records are set apart by any number of empty lines
			}
			break
		}
		name, value, found := bytes.Cut(line, []byte(": "))
		if !found || !r.begun && string(name) != magicHeader {
			if !r.begun {
				return nil, r.errorf("this is not a Subversion dump, as svnadmin dump writes it")
			}
			return nil, r.errorf("a header was expected, not %.60q", line)
		}
		if err := rec.header(string(name), value, first); err != nil {
			return nil, r.errorf("%w", err)
		}
		r.begun, first = true, false
	}
	return rec, r.check(rec)
}

// line reads one line of a header, without its end. The result is valid until the next read.
func (r *dumpReader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	r.offset += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errors.New("a header line has no end")
	}
	if err != nil {
		return line, err
	}
	return line[:len(line)-1], nil
}

// header takes one line of a record's header; the first one tells what the record is.
func (rec *record) header(name string, value []byte, first bool) (err error) {
	if first {
		switch name {
		case magicHeader:
			rec.kind = recordVersion
		case "UUID":
			rec.kind = recordUUID
		case "Revision-number":
			rec.kind = recordRevision
		case "Node-path":
			rec.kind = recordNode
		default:
			return fmt.Errorf("no record begins with %.60q", name)
		}
	}
	switch name {
	case magicHeader:
		rec.version, err = number(name, value)
	case "UUID":
		rec.uuid = string(value)
	case "Revision-number":
		rec.number, err = number(name, value)
	case "Node-path":
		rec.path = string(value)
	case "Node-kind":
		kinds := map[string]Kind{"file": File, "dir": Dir}
		if rec.nodeKind = kinds[string(value)]; rec.nodeKind == None {
			return fmt.Errorf("%.60q is no kind of node", value)
		}
	case "Node-action":
		actions := map[string]origin.Action{"change": origin.Modify, "add": origin.Add, "delete": origin.Delete, "replace": origin.Replace}
		if rec.action, rec.hasAction = actions[string(value)]; !rec.hasAction {
			return fmt.Errorf("%.60q is no action", value)
		}
	case "Node-copyfrom-path":
		rec.copied, rec.copyPath = true, string(value)
	case "Node-copyfrom-rev":
		rec.copyRev, err = number(name, value)
	case "Prop-content-length":
		rec.propLen, err = number(name, value)
	case "Text-content-length":
		rec.textLen, err = number(name, value)
	case "Content-length":
		rec.contentLen, err = number(name, value)
	case "Prop-delta":
		rec.propDelta = string(value) == "true"
	case "Text-delta":
		rec.textDelta = string(value) == "true"
	case "Text-content-md5":
		rec.textMD5, err = digest(name, value, 16)
	case "Text-content-sha1":
		rec.textSHA1, err = digest(name, value, 20)
	case "Text-delta-base-md5":
		rec.baseMD5, err = digest(name, value, 16)
	}
	return err
}

func number(name string, value []byte) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %.60q, not a number", name, value)
	}
	return n, nil
}

func digest(name string, value []byte, size int) ([]byte, error) {
	sum, err := hex.DecodeString(string(value))
	if err != nil || len(sum) != size {
		return nil, fmt.Errorf("%s is %.60q, not a checksum", name, value)
	}
	return sum, nil
}

// check completes a header and refuses one that contradicts itself.
func (r *dumpReader) check(rec *record) error {
	switch rec.kind {
	case recordVersion:
		if rec.version < 1 || rec.version > 3 {
			return r.errorf("its format is %d; Gantry reads formats 1 to 3", rec.version)
		}
	case recordRevision:
		if rec.number <= r.rev {
			return r.errorf("r%d follows r%d", rec.number, r.rev)
		}
		r.rev = rec.number
	case recordNode:
		if r.rev < 0 {
			return r.errorf("the node %.60q is in no revision", rec.path)
		}
		if !rec.hasAction {
			return r.errorf("the node %.60q has no action", rec.path)
		}
	}
	props, text := max(rec.propLen, 0), max(rec.textLen, 0)
	if text > math.MaxInt64-props || rec.contentLen >= 0 && rec.contentLen != props+text {
		return r.errorf("the content's length is not that of its parts")
	}
	rec.left = props + text
	return nil
}

// props reads the properties of a record, which come first in its content.
func (r *dumpReader) props(rec *record) ([]origin.Prop, error) {
	block, err := r.propBlock(rec)
	if err != nil {
		return nil, err
	}
	props, err := parseProps(block, rec.propDelta)
	if err != nil {
		return nil, r.errorf("%w", err)
	}
	return props, nil
}

func (r *dumpReader) propBlock(rec *record) ([]byte, error) {
	if rec.block != nil {
		return rec.block, nil
	}
	if rec.propLen > maxPropsBytes {
		return nil, r.errorf("properties of %d bytes are more than the %d that Gantry reads", rec.propLen, maxPropsBytes)
	}
	n := max(rec.propLen, 0)
	block, err := readN(r.in, n)
	r.offset += int64(len(block))
	rec.left -= int64(len(block))
	if err != nil {
		return nil, r.readError(err)
	}
	rec.block = block
	return block, nil
}

// parseProps reads the properties of a dump record; their values are parts of block. Only changes of properties may
// take one away.
func parseProps(block []byte, changes bool) ([]origin.Prop, error) {
	var props []origin.Prop
	malformed := errors.New("its properties are malformed")
	item := func(letter byte) ([]byte, bool) { // "K 3\nabc\n"
		line, rest, found := bytes.Cut(block, []byte("\n"))
		if !found || len(line) < 3 || line[0] != letter || line[1] != ' ' {
			return nil, false
		}
		n, err := strconv.ParseUint(string(line[2:]), 10, 32)
		if err != nil || n >= uint64(len(rest)) || rest[n] != '\n' {
			return nil, false
		}
		block = rest[n+1:]
		return rest[:n:n], true
	}
	for len(block) > 0 && !bytes.Equal(block, []byte("PROPS-END\n")) {
		if name, ok := item('D'); ok && changes {
			props = append(props, origin.Prop{Name: string(name)})
			continue
		}
		name, ok := item('K')
		if !ok {
			return nil, malformed
		}
		value, ok := item('V')
		if !ok {
			return nil, malformed
		}
		props = append(props, origin.Prop{Name: string(name), Value: value})
	}
	return props, nil
}

// skip passes over what is left of a record's content.
func (r *dumpReader) skip(rec *record) error {
	n := rec.left
	rec.left = 0
	if r.plain != nil && n > int64(r.in.Buffered()) {
		if n > r.size-r.offset {
			return r.readError(io.ErrUnexpectedEOF)
		}
		r.offset += n
		if _, err := r.plain.Seek(r.offset, io.SeekStart); err != nil {
			return r.readError(err)
		}
		r.in.Reset(r.plain)
		return nil
	}
	skipped, err := io.CopyN(io.Discard, r.in, n)
	r.offset += skipped
	if err != nil {
		return r.readError(err)
	}
	return nil
}

// deriveUUID makes a UUID (RFC 9562, version 5 in form) of a revision's properties.
func (r *dumpReader) deriveUUID(rec *record) (string, error) {
	block, err := r.propBlock(rec)
	if err != nil {
		return "", err
	}
	h := sha1.Sum(fmt.Appendf(nil, "svn dump r%d\n%s", rec.number, block))
	h[6] = h[6]&0x0f | 0x50
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]), nil
}

// textReader reads the text that is left of a record's content.
type textReader struct {
	r   *dumpReader
	rec *record
}

func (t textReader) Read(p []byte) (int, error) {
	if t.rec.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > t.rec.left {
		p = p[:t.rec.left]
	}
	n, err := t.r.in.Read(p)
	t.r.offset += int64(n)
	t.rec.left -= int64(n)
	if err != nil {
		return n, t.r.readError(err)
	}
	return n, nil
}

// readN reads n bytes into memory that grows with what really comes, so that a length alone costs nothing.
func readN(r io.Reader, n int64) ([]byte, error) {
	const step = 64 << 10
	if n <= step {
		b := make([]byte, n)
		k, err := io.ReadFull(r, b)
		return b[:k], err
	}
	var b bytes.Buffer
	b.Grow(step)
	_, err := io.CopyN(&b, r, n)
	return b.Bytes(), err
}
