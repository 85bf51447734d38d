// Package rows keeps lists that are too long for memory: one row for each revision or commit of a history.
package rows

import (
	"fmt"
	"os"

	"gantry/internal/origin"
)

const (
	pageBytes = 4 << 10  // that are read at a time
	tailBytes = 64 << 10 // that are written at a time
)

// List is a list of rows of the same size, which only grows. All but its end is in a file without a name. It is used by one
// goroutine at a time.
type List struct {
	dir     string
	rowSize int
	file    *os.File // nil as long as memory is enough
	written int64    // bytes in file
	tail    []byte   // the rows after them
	page    []byte   // what was read last of file
	pageAt  int64
}

// New returns an empty list of rows of so many bytes, whose file will be in dir.
func New(dir string, rowSize int) *List { return &List{dir: dir, rowSize: rowSize} }

// Len is the number of rows.
func (l *List) Len() int { return int(l.written+int64(len(l.tail))) / l.rowSize }

// Append adds a row. It does not keep it.
func (l *List) Append(row []byte) error {
	if len(row) != l.rowSize {
		return fmt.Errorf("rows: a row of %d bytes in place of %d", len(row), l.rowSize)
	}
	if len(l.tail)+len(row) > tailBytes {
		if err := l.flush(); err != nil {
			return fmt.Errorf("rows: %w", err)
		}
	}
	l.tail = append(l.tail, row...)
	return nil
}

func (l *List) flush() (err error) {
	if l.file == nil {
		if l.file, err = origin.Spool(l.dir); err != nil {
			return err
		}
	}
	if _, err := l.file.WriteAt(l.tail, l.written); err != nil {
		return err
	}
	l.written += int64(len(l.tail))
	l.tail = l.tail[:0]
	return nil
}

// At returns the i-th row, valid until the next call of a method.
func (l *List) At(i int) ([]byte, error) {
	at := int64(i) * int64(l.rowSize)
	if at >= l.written {
		at -= l.written
		return l.tail[at : at+int64(l.rowSize)], nil
	}
	if at < l.pageAt || at >= l.pageAt+int64(len(l.page)) {
		if err := l.read(at); err != nil {
			return nil, fmt.Errorf("rows: %w", err)
		}
	}
	return l.page[at-l.pageAt : at-l.pageAt+int64(l.rowSize)], nil
}

// read reads the page that a row is in.
func (l *List) read(at int64) error {
	whole := int64(max(pageBytes/l.rowSize, 1) * l.rowSize)
	l.pageAt = at - at%whole
	l.page = append(l.page[:0], make([]byte, min(whole, l.written-l.pageAt))...)
	if _, err := l.file.ReadAt(l.page, l.pageAt); err != nil {
		l.page = l.page[:0]
		return err
	}
	return nil
}

// Close gives the file back.
func (l *List) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
