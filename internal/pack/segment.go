package pack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// segment is one file of object data, with its index. The entries follow one another in the form of a pack; a journal
// of their records lies beside it. Only the last segment of a store grows, through one writer.
type segment struct {
	name  string
	data  *os.File
	index index

	mu     sync.RWMutex // guards index, and what follows
	length int64        // bytes of data, including those that wait in tail
	tail   []byte       // the last bytes, not yet in the file

	// Of the growing segment only, used by the writer alone.
	journal       *os.File
	journalLength int64
	journalTail   []byte
	synced        Segment
	failed        error // of a sync: what is durable is not known any more
}

func dataPath(dir, name string) string    { return filepath.Join(dir, name+".objects") }
func journalPath(dir, name string) string { return filepath.Join(dir, name+".journal") }

// sortedPath names the index that follows from the first journalLength bytes of a journal.
func sortedPath(dir, name string, journalLength int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%d.index", name, journalLength))
}

// createSegment makes the files of a new segment. An os.ErrExist means that the name is taken.
func createSegment(dir, name string) (*segment, error) {
	const flags = os.O_CREATE | os.O_EXCL | os.O_RDWR
	data, err := os.OpenFile(dataPath(dir, name), flags, 0o600)
	if err != nil {
		return nil, err
	}
	journal, err := os.OpenFile(journalPath(dir, name), flags, 0o600)
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	if err := syncDir(dir); err != nil {
		return nil, errors.Join(err, data.Close(), journal.Close())
	}
	return &segment{name: name, data: data, journal: journal, index: newTable()}, nil
}

// openSegment opens what is valid of a segment that an earlier owner wrote.
func openSegment(dir, writer string, s Segment) (*segment, error) {
	if s.Name == "" || strings.ContainsAny(s.Name, `/\`) || !filepath.IsLocal(s.Name) {
		return nil, fmt.Errorf("%q is not the name of a segment", s.Name)
	}
	if s.IndexLength < 0 || s.IndexLength%recordSize != 0 {
		return nil, fmt.Errorf("%s: %w: a journal of %d bytes", s.Name, ErrCorrupt, s.IndexLength)
	}
	data, err := os.Open(dataPath(dir, s.Name))
	if err != nil {
		return nil, err
	}
	seg := &segment{name: s.Name, data: data, length: s.Length, journalLength: s.IndexLength}
	if err = seg.checkSize(); err == nil {
		seg.index, err = openIndex(dir, writer, s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.Name, err), data.Close())
	}
	return seg, nil
}

func (g *segment) checkSize() error {
	info, err := g.data.Stat()
	if err != nil {
		return err
	}
	if info.Size() < g.length {
		return fmt.Errorf("%w: %d bytes of %d are left", ErrCorrupt, info.Size(), g.length)
	}
	return nil
}

// openIndex opens a segment's sorted index, and makes it first when there is none or it is damaged.
func openIndex(dir, writer string, s Segment) (*sorted, error) {
	path := sortedPath(dir, s.Name, s.IndexLength)
	count := int(s.IndexLength / recordSize)
	if x, err := openSorted(path, count, s.Length); err == nil {
		return x, nil
	}
	records, err := readJournal(journalPath(dir, s.Name), count)
	if err != nil {
		return nil, err
	}
	if err := writeSorted(path, path+"."+writer, records); err != nil {
		return nil, err
	}
	return openSorted(path, count, s.Length)
}

func readJournal(path string, count int) ([]record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.Size() < int64(count)*recordSize {
		return nil, fmt.Errorf("%w: the journal lost records", ErrCorrupt)
	}
	records := make([]record, count)
	for i := range records {
		if _, err := io.ReadFull(f, records[i][:]); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// find looks an object up.
func (g *segment) find(id ID) (record, int, bool, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.index.find(id)
}

// ReadAt reads object data, also what is not in the file yet. It is safe beside the writer.
func (g *segment) ReadAt(p []byte, off int64) (int, error) {
	g.mu.RLock()
	end := min(off+int64(len(p)), g.length)
	inFile := g.length - int64(len(g.tail))
	fromTail := 0
	if start := max(off, inFile); start < end {
		fromTail = copy(p[start-off:], g.tail[start-inFile:end-inFile])
	}
	g.mu.RUnlock()

	fromFile := max(0, int(min(end, inFile)-off))
	// What is in the file stays as it is: no lock is needed.
	if n, err := g.data.ReadAt(p[:fromFile], off); err != nil && n < fromFile {
		return n, err
	}
	n := fromFile + fromTail
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// flushAt is how much waits in memory before it is written.
const flushAt = 256 << 10

// append adds bytes of an entry whose record follows with commit. Until then they can be taken back with cut.
func (g *segment) append(p []byte) error {
	g.mu.Lock()
	g.tail = append(g.tail, p...)
	g.length += int64(len(p))
	full := len(g.tail) >= flushAt
	g.mu.Unlock()
	if full {
		return g.flush()
	}
	return nil
}

// commit makes an entry that was appended visible.
func (g *segment) commit(r record) {
	g.mu.Lock()
	g.index.(*table).insert(r)
	g.mu.Unlock()
	g.journalTail = append(g.journalTail, r[:]...)
	g.journalLength += recordSize
}

// cut takes back everything from offset on, which no record points to.
func (g *segment) cut(offset int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	inFile := g.length - int64(len(g.tail))
	// What was written already lies beyond the length: it means nothing and is written over.
	g.tail = g.tail[:max(0, offset-inFile)]
	g.length = offset
}

// flush writes what waits. It may be tried again after an error: it writes to the same place.
func (g *segment) flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := g.data.WriteAt(g.tail, g.length-int64(len(g.tail))); err != nil {
		return err
	}
	g.tail = g.tail[:0]
	if _, err := g.journal.WriteAt(g.journalTail, g.journalLength-int64(len(g.journalTail))); err != nil {
		return err
	}
	g.journalTail = g.journalTail[:0]
	return nil
}

// sync makes the segment durable up to here.
func (g *segment) sync() error {
	now := g.extent()
	if g.failed != nil || g.journal == nil || now == g.synced {
		return g.failed
	}
	if err := g.flush(); err != nil {
		return err
	}
	// The kernel tells of a failed write once only: after that, another sync proves nothing.
	if g.failed = errors.Join(g.data.Sync(), g.journal.Sync()); g.failed != nil {
		return g.failed
	}
	g.synced = now
	return nil
}

// extent is what a checkpoint says of the segment.
func (g *segment) extent() Segment {
	return Segment{Name: g.name, Length: g.length, IndexLength: g.journalLength}
}

// seal ends the segment's growth: its index moves to disk.
func (g *segment) seal(dir, writer string) error {
	if err := g.sync(); err != nil {
		return err
	}
	x, err := openIndex(dir, writer, g.extent())
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.index = x
	g.tail = nil
	g.mu.Unlock()
	g.journalTail = nil
	err = g.journal.Close()
	g.journal = nil
	return err
}

func (g *segment) close() error {
	errs := []error{g.data.Close()}
	if g.journal != nil {
		errs = append(errs, g.journal.Close())
	}
	if x, ok := g.index.(*sorted); ok {
		errs = append(errs, x.file.Close())
	}
	return errors.Join(errs...)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
