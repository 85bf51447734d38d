package gantry

// MaxPageSize is the most entries that one page of a list may have.
const MaxPageSize = 100

// Page names a part of a list. The zero value is the first page in the usual size.
type Page struct {
	Number int // counts from 1
	Size   int // entries on a page, 1 to MaxPageSize
}

// Limit is how many entries the page has at most.
func (p Page) Limit() int {
	switch {
	case p.Size <= 0:
		return 30
	case p.Size > MaxPageSize:
		return MaxPageSize
	}
	return p.Size
}

// Offset is how many entries come before the page.
func (p Page) Offset() int64 {
	if p.Number <= 1 {
		return 0
	}
	return int64(p.Number-1) * int64(p.Limit())
}
