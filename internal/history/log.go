package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// Record is one revision in the raw log: what the origin said of it, unmapped, and what its tree became.
type Record struct {
	Number  int64
	Author  []byte    // raw bytes, nil when missing
	Time    time.Time // UTC, microseconds; zero when missing
	Message []byte    // raw bytes
	Props   []origin.Prop
	Root    Node
	Dirs    []DirChange // in the order of a walk, names sorted; a directory before those in it
	Large   []LargeFile
	Copies  []FileCopy

	// Unchanged are directories of which something was told that changed nothing that is kept, of themselves or of files in
	// them.
	Unchanged []string

	Changeset *Changeset // of a graph of changesets, nil for an origin of paths
}

// Changeset is what a revision of a graph has beyond one of paths. The Number of its record is its place in the order of
// reading, Author the user as it is, and the tree of Root what its manifest says; what else a record has of paths is empty.
type Changeset struct {
	Node    revlog.Node
	Parents []int64 // Numbers of records, at most 2
	Zone    int     // of Time, in seconds east of UTC
	Extras  []origin.Prop
}

// FileCopy is a file that was added as a copy of another, or whatever was added as a copy of something that the origin did
// not show. That is in no tree.
type FileCopy struct {
	Path string // at the origin
	From string
	Rev  int64 // of From
}

// DirChange is what a revision did to one directory. All directories on the way to a change are listed as well, so that
// the new tree of each branch can be read here.
type DirChange struct {
	Path   string // at the origin
	Action origin.Action
	Node   Node // its new state; zero for Delete

	// SameFiles tells that no file directly in it was added, changed or removed since what it was, or is a copy of.
	SameFiles bool

	Copied   bool
	CopyPath string
	CopyRev  int64
}

// LargeFile is a large file as it was first met.
type LargeFile struct {
	Path string // at the origin
	OID  pack.ID
	Size int64
}

// Segment is the part of one file of the raw log that is valid: its name within the directory and its length.
type Segment struct {
	Name   string `json:"name"`
	Length int64  `json:"length"`
}

// Log is the raw log of one conversion: files that are only ever appended to. Each file begins with logMagic, then
// comes one frame per revision: the length of its body (varint), the body, and the body's CRC-32C (4 bytes, little
// endian). The body's fields are those of Record in encode's order. It is used by one goroutine at a time.
type Log struct {
	dir    string
	writer string
	closed []Segment // written by earlier owners

	file    *os.File // ours, made when the first record comes
	out     *bufio.Writer
	current Segment
	scratch []byte
}

const logMagic = "gantry log 1\n"

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	// ErrCorrupt is wrapped by errors about a raw log that is not what was written.
	ErrCorrupt = errors.New("corrupt raw log")
)

// OpenLog opens the log in dir with what segments say is valid, none for a new one. Writer is a word that no other owner
// of the directory has ever used; files of earlier owners are read up to their valid length and never changed.
func OpenLog(dir, writer string, segments []Segment) (*Log, error) {
	for _, s := range segments {
		if filepath.Base(s.Name) != s.Name {
			return nil, fmt.Errorf("history: %w: %q is not the name of a segment", ErrCorrupt, s.Name)
		}
		if info, err := os.Stat(filepath.Join(dir, s.Name)); err != nil {
			return nil, fmt.Errorf("history: open the raw log: %w", err)
		} else if info.Size() < s.Length {
			return nil, fmt.Errorf("history: %w: %s has %d bytes of %d", ErrCorrupt, s.Name, info.Size(), s.Length)
		}
	}
	return &Log{dir: dir, writer: writer, closed: segments}, nil
}

// Append adds a record.
func (l *Log) Append(r *Record) error {
	if l.file == nil {
		if err := l.create(); err != nil {
			return fmt.Errorf("history: begin a segment of the raw log: %w", err)
		}
	}
	body := r.encode(l.scratch[:0])
	l.scratch = body
	var frame [binary.MaxVarintLen64]byte
	head := binary.PutUvarint(frame[:], uint64(len(body)))
	_, _ = l.out.Write(frame[:head]) // the writer keeps its first error
	_, _ = l.out.Write(body)
	sum := binary.LittleEndian.AppendUint32(frame[:0], crc32.Checksum(body, castagnoli))
	if _, err := l.out.Write(sum); err != nil {
		return fmt.Errorf("history: append r%d: %w", r.Number, err)
	}
	l.current.Length += int64(head + len(body) + len(sum))
	return nil
}

func (l *Log) create() error {
	name := fmt.Sprintf("log-%04d-%s", len(l.closed), l.writer)
	file, err := os.OpenFile(filepath.Join(l.dir, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	l.file, l.out = file, bufio.NewWriterSize(file, 64<<10)
	l.current = Segment{Name: name, Length: int64(len(logMagic))}
	_, err = l.out.WriteString(logMagic)
	return err
}

// Sync makes all records durable and returns the segments that hold them.
func (l *Log) Sync() ([]Segment, error) {
	if l.file == nil {
		return l.closed, nil
	}
	if err := l.out.Flush(); err != nil {
		return nil, fmt.Errorf("history: write the raw log: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return nil, fmt.Errorf("history: write the raw log: %w", err)
	}
	if err := syncDir(l.dir); err != nil {
		return nil, fmt.Errorf("history: write the raw log: %w", err)
	}
	return append(append([]Segment{}, l.closed...), l.current), nil
}

// syncDir makes the names of new files durable.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Records goes through all records in their order. It ends after the first error. A record is valid until the next one
// is asked for; no record may be appended meanwhile.
func (l *Log) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		segments := l.closed
		if l.file != nil {
			if err := l.out.Flush(); err != nil {
				yield(nil, fmt.Errorf("history: write the raw log: %w", err))
				return
			}
			segments = append(append([]Segment{}, l.closed...), l.current)
		}
		for _, s := range segments {
			if !l.readSegment(s, yield) {
				return
			}
		}
	}
}

func (l *Log) readSegment(s Segment, yield func(*Record, error) bool) (goOn bool) {
	fail := func(err error) bool {
		yield(nil, fmt.Errorf("history: read %s: %w", s.Name, err))
		return false
	}
	file, err := os.Open(filepath.Join(l.dir, s.Name))
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	in := newFrames(file, s.Length)
	if err := in.magic(); err != nil {
		return fail(err)
	}
	var record Record
	for {
		body, err := in.next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err == nil {
			err = record.decode(body)
		}
		if err != nil {
			return fail(err)
		}
		if !yield(&record, nil) {
			return false
		}
	}
}

// Close closes the log's file. What was appended since the last Sync may be lost.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// frames splits a segment into the bodies of its records.
type frames struct {
	in   *bufio.Reader
	left int64 // bytes of the segment that are not read yet
	body []byte
}

func newFrames(r io.Reader, length int64) *frames {
	return &frames{in: bufio.NewReaderSize(io.LimitReader(r, length), 64<<10), left: length}
}

func (f *frames) magic() error {
	var magic [len(logMagic)]byte
	if _, err := io.ReadFull(f.in, magic[:]); err != nil || string(magic[:]) != logMagic {
		return fmt.Errorf("%w: it does not begin with %q", ErrCorrupt, logMagic)
	}
	f.left -= int64(len(magic))
	return nil
}

// next returns the next body, valid until the call after, and io.EOF at the end of the segment.
func (f *frames) next() ([]byte, error) {
	if f.left == 0 {
		return nil, io.EOF
	}
	size, err := binary.ReadUvarint(f.in)
	if err != nil {
		return nil, fmt.Errorf("%w: a record is cut short", ErrCorrupt)
	}
	head := int64(len(binary.AppendUvarint(nil, size)))
	if size > uint64(f.left) || f.left-head < int64(size)+crc32.Size {
		return nil, fmt.Errorf("%w: a record of %d bytes where %d are left", ErrCorrupt, size, f.left)
	}
	need := int(size) + crc32.Size
	if need > cap(f.body) {
		f.body = make([]byte, need, need+need/4)
	}
	f.body = f.body[:need]
	if _, err := io.ReadFull(f.in, f.body); err != nil {
		return nil, fmt.Errorf("%w: a record is cut short", ErrCorrupt)
	}
	f.left -= head + int64(need)
	body := f.body[:size]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(f.body[size:]) {
		return nil, fmt.Errorf("%w: a record does not match its checksum", ErrCorrupt)
	}
	return body, nil
}

// Flags of a record and of a directory's change.
const (
	hasAuthor = 1 << iota
	hasTime
)

const (
	actionMask = 0x03
	hasSide    = 0x04
	hasCopy    = 0x08
	sameFiles  = 0x10
)

func (r *Record) encode(data []byte) []byte {
	var flags byte
	if r.Author != nil {
		flags |= hasAuthor
	}
	if !r.Time.IsZero() {
		flags |= hasTime
	}
	data = binary.AppendVarint(data, r.Number)
	data = append(data, flags)
	data = appendBytes(data, r.Author)
	if flags&hasTime != 0 {
		data = binary.AppendVarint(data, r.Time.UnixMicro())
	}
	data = appendBytes(data, r.Message)
	data = append(append(data, r.Root.Tree[:]...), r.Root.Side[:]...)
	data = appendProps(data, r.Props)
	data = binary.AppendUvarint(data, uint64(len(r.Dirs)))
	for i := range r.Dirs {
		data = r.Dirs[i].encode(data)
	}
	data = binary.AppendUvarint(data, uint64(len(r.Large)))
	for _, f := range r.Large {
		data = appendBytes(data, []byte(f.Path))
		data = append(data, f.OID[:]...)
		data = binary.AppendVarint(data, f.Size)
	}
	data = binary.AppendUvarint(data, uint64(len(r.Copies)))
	for _, f := range r.Copies {
		data = appendBytes(data, []byte(f.Path))
		data = appendBytes(data, []byte(f.From))
		data = binary.AppendVarint(data, f.Rev)
	}
	data = binary.AppendUvarint(data, uint64(len(r.Unchanged)))
	for _, p := range r.Unchanged {
		data = appendBytes(data, []byte(p))
	}
	if r.Changeset != nil {
		data = r.Changeset.encode(data)
	}
	return data
}

func (c *Changeset) encode(data []byte) []byte {
	data = append(data, c.Node[:]...)
	data = binary.AppendUvarint(data, uint64(len(c.Parents)))
	for _, n := range c.Parents {
		data = binary.AppendVarint(data, n)
	}
	data = binary.AppendVarint(data, int64(c.Zone))
	return appendProps(data, c.Extras)
}

func appendProps(data []byte, props []origin.Prop) []byte {
	data = binary.AppendUvarint(data, uint64(len(props)))
	for _, p := range props {
		data = appendBytes(data, []byte(p.Name))
		data = appendBytes(data, p.Value)
	}
	return data
}

func (c *DirChange) encode(data []byte) []byte {
	flags := byte(c.Action)
	if !c.Node.Side.IsZero() {
		flags |= hasSide
	}
	if c.Copied {
		flags |= hasCopy
	}
	if c.SameFiles {
		flags |= sameFiles
	}
	data = append(data, flags)
	data = appendBytes(data, []byte(c.Path))
	if c.Action != origin.Delete {
		data = append(data, c.Node.Tree[:]...)
	}
	if flags&hasSide != 0 {
		data = append(data, c.Node.Side[:]...)
	}
	if flags&hasCopy != 0 {
		data = appendBytes(data, []byte(c.CopyPath))
		data = binary.AppendVarint(data, c.CopyRev)
	}
	return data
}

// decode fills the record, reusing its slices; byte slices are copied out of the body.
func (r *Record) decode(body []byte) error {
	d := decoder{data: body}
	*r = Record{Number: d.int(), Props: r.Props[:0], Dirs: r.Dirs[:0], Large: r.Large[:0], Copies: r.Copies[:0], Unchanged: r.Unchanged[:0]}
	flags := d.byte()
	if author := d.bytes(); flags&hasAuthor != 0 {
		r.Author = append([]byte{}, author...)
	}
	if flags&hasTime != 0 {
		r.Time = time.UnixMicro(d.int()).UTC()
	}
	r.Message = bytes.Clone(d.bytes())
	r.Root = Node{Tree: d.id(), Side: d.id()}
	r.Props = d.props(r.Props)
	for n := d.count(2); n > 0 && d.err == nil; n-- {
		r.Dirs = append(r.Dirs, d.dirChange())
	}
	for n := d.count(len(pack.ID{})); n > 0 && d.err == nil; n-- {
		r.Large = append(r.Large, LargeFile{Path: string(d.bytes()), OID: d.id(), Size: d.int()})
	}
	if len(d.data) > 0 { // what was written before there were copies of files ends here
		for n := d.count(3); n > 0 && d.err == nil; n-- {
			r.Copies = append(r.Copies, FileCopy{Path: string(d.bytes()), From: string(d.bytes()), Rev: d.int()})
		}
	}
	if len(d.data) > 0 { // and before there were these, here
		for n := d.count(1); n > 0 && d.err == nil; n-- {
			r.Unchanged = append(r.Unchanged, string(d.bytes()))
		}
	}
	if len(d.data) > 0 {
		r.Changeset = d.changeset()
	}
	if d.err == nil && len(d.data) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.data))
	}
	if d.err != nil {
		return fmt.Errorf("%w: r%d: %w", ErrCorrupt, r.Number, d.err)
	}
	return nil
}

func (d *decoder) props(props []origin.Prop) []origin.Prop {
	for n := d.count(2); n > 0 && d.err == nil; n-- {
		props = append(props, origin.Prop{Name: string(d.bytes()), Value: bytes.Clone(d.bytes())})
	}
	return props
}

func (d *decoder) changeset() *Changeset {
	c := &Changeset{Node: revlog.Node(d.id())}
	for n := d.count(1); n > 0 && d.err == nil; n-- {
		c.Parents = append(c.Parents, d.int())
	}
	c.Zone, c.Extras = int(d.int()), d.props(nil)
	return c
}

func (d *decoder) dirChange() DirChange {
	flags := d.byte()
	c := DirChange{Action: origin.Action(flags & actionMask), Path: string(d.bytes()), SameFiles: flags&sameFiles != 0}
	if c.Action != origin.Delete {
		c.Node.Tree = d.id()
	}
	if flags&hasSide != 0 {
		c.Node.Side = d.id()
	}
	if flags&hasCopy != 0 {
		c.Copied, c.CopyPath, c.CopyRev = true, string(d.bytes()), d.int()
	}
	return c
}
