package svn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"gantry/internal/origin"
)

// Bounds on the XML of an answer.
const (
	maxTag      = 1 << 20 // bytes of one tag: two paths, each byte of which may be escaped
	maxXMLName  = 256     // bytes, of a namespace, too
	maxXMLDepth = 64      // elements in each other
	maxXMLAttrs = 32      // of one element
	maxXMLNames = 512     // names that are remembered
	maxIgnored  = 1 << 20 // bytes of what is passed over in one go
)

// xmlReader reads XML as WebDAV servers write it (XML 1.0 and Namespaces in XML): elements with their attributes, and text
// piece by piece, which it never holds whole. It refuses document type declarations, and with them entities. White space
// in attributes and characters that XML does not allow are taken as they come, because that is how mod_dav_svn sends
// paths that have them.
type xmlReader struct {
	in     *bufio.Reader
	open   []xmlElement
	spaces []xmlSpace // declared by the open elements
	attrs  []xmlAttr  // of the innermost element
	names  map[string]string
	tag    []byte
	char   [utf8.UTFMax]byte
	empty  bool // the innermost element was written as <a/>
	cdata  bool
}

type xmlName struct{ space, local string }

func (n xmlName) String() string { return n.space + n.local }

type xmlElement struct {
	name   xmlName
	raw    string // as it is written
	spaces int    // declared outside of it
}

type xmlSpace struct{ prefix, uri string }

// xmlAttr is an attribute. Nothing that is read here has two of the same name in different namespaces.
type xmlAttr struct{ name, value string }

// xmlToken is a piece of text, the beginning of an element, or its end.
type xmlToken struct {
	kind xmlKind
	text []byte // valid until the next token
}

type xmlKind uint8

const (
	xmlText xmlKind = iota
	xmlStart
	xmlEnd
)

var errAnswerEnds = fmt.Errorf("%w: the server's answer ends too early", origin.ErrTemporary)

// reset makes x read another document.
func (x *xmlReader) reset(r io.Reader) {
	if x.in == nil {
		x.in = bufio.NewReaderSize(r, 64<<10)
		x.names = map[string]string{}
	}
	x.in.Reset(r)
	x.open, x.spaces, x.attrs, x.empty, x.cdata = x.open[:0], x.spaces[:0], x.attrs[:0], false, false
}

// next reads a token.
func (x *xmlReader) next() (xmlToken, error) {
	for {
		if x.empty {
			x.empty = false
			return xmlToken{kind: xmlEnd}, x.pop()
		}
		if _, err := x.in.Peek(1); err != nil {
			return xmlToken{}, early(err)
		}
		buffered, _ := x.in.Peek(x.in.Buffered())
		switch {
		case x.cdata:
			text, err := x.inCData(buffered)
			if err != nil || len(text) > 0 {
				return xmlToken{kind: xmlText, text: text}, err
			}
		case buffered[0] == '<':
			token, ok, err := x.markup()
			if err != nil || ok {
				return token, err
			}
		case buffered[0] == '&':
			text, err := x.reference()
			return xmlToken{kind: xmlText, text: text}, err
		default:
			n := len(buffered)
			if i := bytes.IndexByte(buffered, '<'); i >= 0 {
				n = i
			}
			if i := bytes.IndexByte(buffered[:n], '&'); i >= 0 {
				n = i
			}
			_, _ = x.in.Discard(n)
			return xmlToken{kind: xmlText, text: buffered[:n]}, nil
		}
	}
}

func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errAnswerEnds
	}
	return err
}

// inCData returns text up to the section's end, nothing at its end.
func (x *xmlReader) inCData(buffered []byte) ([]byte, error) {
	const end = "]]>"
	switch i := bytes.Index(buffered, []byte(end)); {
	case i > 0:
		_, _ = x.in.Discard(i)
		return buffered[:i], nil
	case i == 0:
		_, _ = x.in.Discard(len(end))
		x.cdata = false
		return nil, nil
	case len(buffered) >= len(end):
		n := len(buffered) - len(end) + 1
		_, _ = x.in.Discard(n)
		return buffered[:n], nil
	}
	if _, err := x.in.Peek(len(end)); err != nil {
		return nil, early(err)
	}
	return nil, nil
}

// markup reads what begins with an angle bracket. ok is false after what means nothing.
func (x *xmlReader) markup() (token xmlToken, ok bool, err error) {
	begin, err := x.in.Peek(2)
	if err != nil {
		return xmlToken{}, false, early(err)
	}
	switch begin[1] {
	case '?':
		return xmlToken{}, false, x.pass("?>")
	case '!':
		return xmlToken{}, false, x.declaration()
	case '/':
		tag, err := x.readTag()
		if err != nil {
			return xmlToken{}, false, err
		}
		name := bytes.TrimRight(tag[2:len(tag)-1], " \t\r\n")
		if len(x.open) == 0 || x.open[len(x.open)-1].raw != string(name) {
			return xmlToken{}, false, malformedf("</%.60s> ends an element that is not open", name)
		}
		return xmlToken{kind: xmlEnd}, true, x.pop()
	}
	tag, err := x.readTag()
	if err != nil {
		return xmlToken{}, false, err
	}
	return xmlToken{kind: xmlStart}, true, x.start(tag[1 : len(tag)-1])
}

// declaration passes over a comment, or begins a section of text.
func (x *xmlReader) declaration() error {
	const comment, section = "<!--", "<![CDATA["
	if b, err := x.in.Peek(len(comment)); err == nil && string(b) == comment {
		_, _ = x.in.Discard(len(comment))
		return x.pass("-->")
	}
	b, err := x.in.Peek(len(section))
	if err == nil && string(b) == section && len(x.open) > 0 {
		_, _ = x.in.Discard(len(section))
		x.cdata = true
		return nil
	}
	return malformed("an answer has a document type declaration")
}

// pass reads up to the end of something that means nothing.
func (x *xmlReader) pass(end string) error {
	matched := 0
	for range maxIgnored {
		c, err := x.in.ReadByte()
		switch {
		case err != nil:
			return early(err)
		case c == end[matched]:
			matched++
		case c == '-' && matched == 2: // "--->"
		case c == end[0]:
			matched = 1
		default:
			matched = 0
		}
		if matched == len(end) {
			return nil
		}
	}
	return malformed("an answer has a comment without end")
}

// readTag reads up to the angle bracket that ends a tag, which is none in quotes. The result is valid until the next read.
func (x *xmlReader) readTag() ([]byte, error) {
	var quote byte
	x.tag = x.tag[:0]
	for {
		part, err := x.in.ReadSlice('>')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, early(err)
		}
		for _, c := range part {
			switch {
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case c == quote:
				quote = 0
			}
		}
		ended := err == nil && quote == 0
		if ended && len(x.tag) == 0 {
			return part, nil
		}
		if len(x.tag)+len(part) > maxTag {
			return nil, malformed("an answer has a tag without end")
		}
		if x.tag = append(x.tag, part...); ended {
			return x.tag, nil
		}
	}
}

// start opens the element of a tag.
func (x *xmlReader) start(tag []byte) error {
	if len(x.open) == maxXMLDepth {
		return malformed("elements are nested without end")
	}
	if n := len(tag); n > 0 && tag[n-1] == '/' {
		tag, x.empty = tag[:n-1], true
	}
	end := bytes.IndexAny(tag, " \t\r\n")
	if end < 0 {
		end = len(tag)
	}
	raw, err := x.name(tag[:end])
	if err != nil {
		return err
	}
	e := xmlElement{raw: raw, spaces: len(x.spaces)}
	if err := x.readAttrs(tag[end:]); err != nil {
		return err
	}
	if e.name, err = x.resolve(raw); err != nil {
		return err
	}
	x.open = append(x.open, e)
	return nil
}

// name returns a name of the document, the same string for the same bytes.
func (x *xmlReader) name(raw []byte) (string, error) {
	if len(raw) == 0 || len(raw) > maxXMLName {
		return "", malformedf("%.60q is no name of an element or attribute", raw)
	}
	if name, known := x.names[string(raw)]; known {
		return name, nil
	}
	name := string(raw)
	if len(x.names) < maxXMLNames {
		x.names[name] = name
	}
	return name, nil
}

// readAttrs reads the attributes of a tag; those that declare a namespace are kept apart.
func (x *xmlReader) readAttrs(tag []byte) error {
	x.attrs = x.attrs[:0]
	for range maxXMLAttrs {
		tag = bytes.TrimLeft(tag, " \t\r\n")
		if len(tag) == 0 {
			return nil
		}
		before, after, found := bytes.Cut(tag, []byte("="))
		after = bytes.TrimLeft(after, " \t\r\n")
		if !found || len(after) == 0 || after[0] != '"' && after[0] != '\'' {
			return malformedf("%.60q is no attribute", tag)
		}
		raw, rest, found := bytes.Cut(after[1:], after[:1])
		if !found || bytes.IndexByte(raw, '<') >= 0 {
			return malformedf("%.60q is no attribute", tag)
		}
		tag = rest
		value, err := unescapeXML(raw)
		if err != nil {
			return err
		}
		name, err := x.name(bytes.TrimRight(before, " \t\r\n"))
		if err != nil {
			return err
		}
		prefix, local := splitName(name)
		switch {
		case prefix == "xmlns", name == "xmlns":
			if name == "xmlns" {
				local = ""
			}
			if len(value) > maxXMLName {
				return malformed("the name of a namespace is too long")
			}
			x.spaces = append(x.spaces, xmlSpace{local, value})
		default:
			x.attrs = append(x.attrs, xmlAttr{local, value})
		}
	}
	return malformed("an element has attributes without end")
}

func splitName(name string) (prefix, local string) {
	for i := range len(name) {
		if name[i] == ':' {
			return name[:i], name[i+1:]
		}
	}
	return "", name
}

// resolve finds the namespace of an element.
func (x *xmlReader) resolve(raw string) (xmlName, error) {
	prefix, local := splitName(raw)
	for i := len(x.spaces) - 1; i >= 0; i-- {
		if x.spaces[i].prefix == prefix {
			return xmlName{x.spaces[i].uri, local}, nil
		}
	}
	if prefix != "" {
		return xmlName{}, malformedf("the element %.60s is in a namespace that is not declared", raw)
	}
	return xmlName{"", local}, nil
}

// pop closes the innermost element.
func (x *xmlReader) pop() error {
	last := len(x.open) - 1
	x.spaces = x.spaces[:x.open[last].spaces]
	x.open = x.open[:last]
	return nil
}

// reference reads one character that is written by its name or number.
func (x *xmlReader) reference() ([]byte, error) {
	const longest = len("&#x0010ffff;")
	b, _ := x.in.Peek(longest)
	end := bytes.IndexByte(b, ';')
	if end < 0 {
		if len(b) < longest {
			return nil, errAnswerEnds
		}
		return nil, malformedf("%q begins no character", b)
	}
	r, err := character(b[1:end])
	if err != nil {
		return nil, err
	}
	_, _ = x.in.Discard(end + 1)
	return utf8.AppendRune(x.char[:0], r), nil
}

func character(name []byte) (rune, error) {
	switch string(name) {
	case "lt":
		return '<', nil
	case "gt":
		return '>', nil
	case "amp":
		return '&', nil
	case "quot":
		return '"', nil
	case "apos":
		return '\'', nil
	}
	if digits, ok := bytes.CutPrefix(name, []byte("#")); ok {
		base := 10
		if hex, ok := bytes.CutPrefix(digits, []byte("x")); ok {
			digits, base = hex, 16
		}
		if n, err := strconv.ParseUint(string(digits), base, 21); err == nil && n > 0 && utf8.ValidRune(rune(n)) {
			return rune(n), nil
		}
	}
	return 0, malformedf("&%.12s; is no character", name)
}

func unescapeXML(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '&') < 0 {
		return string(raw), nil
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		before, after, found := bytes.Cut(raw, []byte("&"))
		if out = append(out, before...); !found {
			break
		}
		name, rest, found := bytes.Cut(after, []byte(";"))
		if !found {
			return "", malformedf("&%.12s begins no character", after)
		}
		r, err := character(name)
		if err != nil {
			return "", err
		}
		out, raw = utf8.AppendRune(out, r), rest
	}
	return string(out), nil
}
