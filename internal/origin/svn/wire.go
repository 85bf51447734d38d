package svn

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"time"

	"gantry/internal/origin"
)

const (
	maxWord    = 31       // the protocol's own bound
	maxNesting = 64       // lists in each other
	maxPassed  = 64 << 10 // items that are not known, and pieces of white space, in a row
	maxToken   = 256
	maxText    = 16 << 10  // bytes of a message, a mechanism's challenge, an address
	wireBuffer = 256 << 10 // bytes
	maxNoise   = 64 << 10  // bytes before a greeting

	greeting        = "( success ( "
	greetingRefused = "( failure ("
)

// malformed is an item that the protocol does not allow where it came.
type malformed string

func (e malformed) Error() string {
	return "the server does not keep to the Subversion protocol: " + string(e)
}

func malformedf(format string, args ...any) error { return malformed(fmt.Sprintf(format, args...)) }

// wire reads and writes the items of the ra_svn protocol: words, numbers, strings with their length, and lists. A list is
// read by open, its items, and close, which passes over items that newer servers may have added.
type wire struct {
	r   *bufio.Reader
	out []byte
	w   io.Writer
}

func newWire(rw io.ReadWriter) *wire {
	return &wire{r: bufio.NewReaderSize(rw, wireBuffer), w: rw}
}

// skipNoise passes over what login scripts say before the server greets.
func (w *wire) skipNoise() error {
	for range maxNoise {
		b, err := w.r.Peek(len(greeting))
		if err != nil {
			return err
		}
		if string(b) == greeting || bytes.HasPrefix(b, []byte(greetingRefused)) {
			return nil
		}
		_, _ = w.r.Discard(1)
	}
	return malformed("it talks without greeting")
}

// send writes items that are already in the form of the protocol; %s of an item takes the result of str.
func (w *wire) send(format string, args ...any) error {
	w.out = fmt.Appendf(w.out[:0], format, args...)
	w.out = append(w.out, ' ')
	_, err := w.w.Write(w.out)
	return err
}

// str is a string item.
func str(s string) string { return strconv.Itoa(len(s)) + ":" + s }

// peek returns the first byte of the next item.
func (w *wire) peek() (byte, error) {
	for range maxPassed {
		c, err := w.r.ReadByte()
		if err != nil {
			return 0, err
		}
		if !isSpace(c) {
			return c, w.r.UnreadByte()
		}
	}
	return 0, malformed("white space comes without end")
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// space takes the white space that ends every item.
func (w *wire) space() error {
	c, err := w.r.ReadByte()
	if err == nil && !isSpace(c) {
		err = malformedf("%q follows an item", c)
	}
	return err
}

func (w *wire) take(want byte) error {
	c, err := w.peek()
	if err != nil {
		return err
	}
	if c != want {
		return malformedf("%q came for %q", c, want)
	}
	_, _ = w.r.Discard(1)
	return w.space()
}

// open takes the beginning of a list.
func (w *wire) open() error { return w.take('(') }

// more reports whether the list has another item.
func (w *wire) more() (bool, error) {
	c, err := w.peek()
	return c != ')', err
}

// close takes the end of a list, with all items before it.
func (w *wire) close() error {
	passed := 0
	for depth := 1; depth > 0; {
		if passed++; passed > maxPassed {
			return malformed("a list has no end")
		}
		c, err := w.peek()
		switch {
		case err != nil:
			return err
		case c == '(':
			if depth++; depth > maxNesting {
				return malformed("lists are nested without end")
			}
			err = w.open()
		case c == ')':
			depth--
			err = w.take(')')
		case isDigit(c):
			err = w.skipNumberOrString()
		default:
			_, err = w.word()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// word reads a word. The result is valid until the next read.
func (w *wire) word() ([]byte, error) {
	c, err := w.peek()
	if err != nil {
		return nil, err
	}
	if !isAlpha(c) {
		return nil, malformedf("%q came for a word", c)
	}
	for n := 1; n <= maxWord; n++ {
		b, err := w.r.Peek(n + 1)
		if err != nil {
			return nil, err
		}
		if c := b[n]; isSpace(c) {
			_, _ = w.r.Discard(n + 1)
			return b[:n], nil
		} else if !isAlpha(c) && !isDigit(c) && c != '-' {
			return nil, malformedf("%q is in a word", c)
		}
	}
	return nil, malformed("a word has no end")
}

// digits reads a number up to the byte after it, which is taken, too.
func (w *wire) digits() (n int64, end byte, err error) {
	c, err := w.peek()
	if err != nil {
		return 0, 0, err
	}
	if !isDigit(c) {
		return 0, 0, malformedf("%q came for a number or a string", c)
	}
	for {
		c, err := w.r.ReadByte()
		if err != nil {
			return 0, 0, err
		}
		if !isDigit(c) {
			return n, c, nil
		}
		if n > (math.MaxInt64-9)/10 {
			return 0, 0, malformed("a number is out of range")
		}
		n = n*10 + int64(c-'0')
	}
}

func (w *wire) number() (int64, error) {
	n, end, err := w.digits()
	if err == nil && !isSpace(end) {
		err = malformedf("%q is in a number", end)
	}
	return n, err
}

// length reads the head of a string.
func (w *wire) length(bound int64) (int64, error) {
	n, end, err := w.digits()
	switch {
	case err != nil:
		return 0, err
	case end != ':':
		return 0, malformedf("%q came in a string's length", end)
	case n > bound:
		return 0, malformedf("a string of %d bytes came where Gantry reads up to %d", n, bound)
	}
	return n, nil
}

// short reads a string of up to bound bytes, which must be less than the buffer holds. The result is valid until the
// next read.
func (w *wire) short(bound int64) ([]byte, error) {
	n, err := w.length(bound)
	if err != nil {
		return nil, err
	}
	b, err := w.r.Peek(int(n) + 1)
	if err != nil {
		return nil, err
	}
	if !isSpace(b[n]) {
		return nil, malformedf("%q follows a string", b[n])
	}
	_, _ = w.r.Discard(int(n) + 1)
	return b[:n], nil
}

// bytes reads a string of up to bound bytes into memory of its own.
func (w *wire) bytes(bound int64) ([]byte, error) {
	n, err := w.length(bound)
	if err != nil {
		return nil, err
	}
	b, err := readN(w.r, n)
	if err != nil {
		return nil, err
	}
	return b, w.space()
}

// copyString gives a string of any length to a writer, without keeping it.
func (w *wire) copyString(dst io.Writer) error {
	n, err := w.length(math.MaxInt64 - 1)
	if err != nil {
		return err
	}
	for n > 0 {
		if w.r.Buffered() == 0 {
			if _, err := w.r.Peek(1); err != nil {
				return err
			}
		}
		part, _ := w.r.Peek(int(min(n, int64(w.r.Buffered()))))
		if _, err := dst.Write(part); err != nil {
			return err
		}
		_, _ = w.r.Discard(len(part))
		n -= int64(len(part))
	}
	return w.space()
}

func (w *wire) skipNumberOrString() error {
	n, end, err := w.digits()
	if err != nil || isSpace(end) {
		return err
	}
	if end != ':' {
		return malformedf("%q is in a number", end)
	}
	if n > maxPropsBytes {
		return malformedf("a string of %d bytes came that nobody asked for", n)
	}
	if _, err := io.CopyN(io.Discard, w.r, n); err != nil {
		return err
	}
	return w.space()
}

// path reads a path.
func (w *wire) path() (string, error) {
	b, err := w.short(maxPath)
	if err != nil {
		return "", err
	}
	path, err := cleanPath(string(b))
	if err != nil {
		return "", malformed(err.Error())
	}
	return path, nil
}

// optional reads a list that may be empty; read takes its items when it is not.
func (w *wire) optional(read func() error) error {
	if err := w.open(); err != nil {
		return err
	}
	more, err := w.more()
	if err != nil {
		return err
	}
	if more {
		if err := read(); err != nil {
			return err
		}
	}
	return w.close()
}

// each reads a list; read takes one item of it.
func (w *wire) each(read func() error) error {
	if err := w.open(); err != nil {
		return err
	}
	for {
		more, err := w.more()
		if err != nil {
			return err
		}
		if !more {
			return w.close()
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// optionalMD5 reads an optional checksum.
func (w *wire) optionalMD5() (sum []byte, err error) {
	err = w.optional(func() error {
		b, err := w.short(maxToken)
		if err != nil {
			return err
		}
		if sum, err = hex.DecodeString(string(b)); err != nil || len(sum) != 16 {
			return malformedf("%q is no checksum", b)
		}
		return nil
	})
	return sum, err
}

// proplist reads properties with their values.
func (w *wire) proplist() ([]origin.Prop, error) {
	var props []origin.Prop
	var size int64
	err := w.each(func() error {
		if err := w.open(); err != nil {
			return err
		}
		p, err := w.prop()
		if err != nil {
			return err
		}
		if p.Value, err = w.bytes(maxPropsBytes); err != nil {
			return err
		}
		if size, err = addPropSize(size, p); err != nil {
			return err
		}
		props = append(props, p)
		return w.close()
	})
	return props, err
}

// prop reads the name of a property.
func (w *wire) prop() (origin.Prop, error) {
	name, err := w.short(maxPropName)
	return origin.Prop{Name: string(name)}, err
}

// addPropSize adds up what properties take, so that many of them are not more than a large one may be.
func addPropSize(size int64, p origin.Prop) (int64, error) {
	const each = 64 // bytes of a Prop beside its name and value, about
	if size += int64(len(p.Name)+len(p.Value)) + each; size > maxPropsBytes {
		return 0, malformedf("properties of more than %d bytes came", int64(maxPropsBytes))
	}
	return size, nil
}

// link carries a session.
type link interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// timedConn ends a connection that is silent for too long, and makes every fault of it an origin.ErrTemporary.
type timedConn struct {
	link
	idle time.Duration
}

func (c timedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, c.fault(err)
	}
	n, err := c.link.Read(p)
	return n, c.fault(err)
}

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, c.fault(err)
	}
	n, err := c.link.Write(p)
	return n, c.fault(err)
}

func (c timedConn) fault(err error) error {
	var timeout net.Error
	var answer *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return err
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the server closed it", origin.ErrTemporary)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: the server was silent for %v", origin.ErrTemporary, c.idle)
	}
	var op *net.OpError // its text has our own address in it
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("%w: %w", origin.ErrTemporary, err)
}
