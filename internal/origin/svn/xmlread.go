package svn

import (
	"bytes"
	"encoding/base64"
	"io"
)

// root opens the document's element, which must be the given one.
func (x *xmlReader) root(want xmlName) error {
	for {
		token, err := x.next()
		switch {
		case err != nil:
			return err
		case token.kind == xmlText && isBlank(token.text):
		case token.kind == xmlStart && x.element() == want:
			return nil
		case token.kind == xmlStart:
			return malformedf("the answer is <%s>, not <%s>", x.element(), want)
		default:
			return malformed("the answer is no XML")
		}
	}
}

// element is the name of the innermost element.
func (x *xmlReader) element() xmlName { return x.open[len(x.open)-1].name }

// attr is an attribute of the innermost element, before anything in it is read.
func (x *xmlReader) attr(name string) (string, bool) {
	for _, a := range x.attrs {
		if a.name == name {
			return a.value, true
		}
	}
	return "", false
}

// each reads the innermost element to its end; read takes each element in it, or as much of it as it likes.
func (x *xmlReader) each(read func(xmlName) error) error {
	depth := len(x.open)
	blank := 0
	for {
		token, err := x.next()
		if err != nil {
			return err
		}
		switch token.kind {
		case xmlEnd:
			return nil
		case xmlText:
			if blank += len(token.text); !isBlank(token.text) || blank > maxIgnored {
				return malformedf("there is text in <%s>: %.60q", x.element(), token.text)
			}
		case xmlStart:
			blank = 0
			if err := read(x.element()); err != nil {
				return err
			}
			if len(x.open) > depth {
				if err := x.skip(depth); err != nil {
					return err
				}
			}
		}
	}
}

// skip passes over what is left until no more than depth elements are open.
func (x *xmlReader) skip(depth int) error {
	passed := 0
	for len(x.open) > depth {
		token, err := x.next()
		if err != nil {
			return err
		}
		if passed += len(token.text) + 1; passed > maxIgnored {
			return malformedf("<%s> has no end", x.element())
		}
	}
	return nil
}

func isBlank(b []byte) bool { return len(bytes.Trim(b, " \t\r\n")) == 0 }

// text reads the innermost element, which has nothing but text, to its end.
func (x *xmlReader) text(bound int) ([]byte, error) {
	var out bytes.Buffer
	err := x.copyText(writer(func(p []byte) (int, error) {
		if out.Len()+len(p) > bound {
			return 0, malformedf("a text of more than %d bytes came", bound)
		}
		return out.Write(p)
	}))
	return out.Bytes(), err
}

// base64Text is text for an element that may hold base64.
func (x *xmlReader) base64Text(bound int) ([]byte, error) {
	var out bytes.Buffer
	decoder := unbase64{out: writer(func(p []byte) (int, error) {
		if out.Len()+len(p) > bound {
			return 0, malformedf("a value of more than %d bytes came", bound)
		}
		return out.Write(p)
	})}
	if err := x.copyText(&decoder); err != nil {
		return nil, err
	}
	if out.Len() == 0 {
		return []byte{}, decoder.end() // a value that is empty, and not none
	}
	return out.Bytes(), decoder.end()
}

// copyText writes the text of the innermost element to dst, and reads the element's end.
func (x *xmlReader) copyText(dst io.Writer) error {
	for {
		token, err := x.next()
		if err != nil {
			return err
		}
		switch token.kind {
		case xmlEnd:
			return nil
		case xmlStart:
			return malformedf("<%s> is where text was expected", x.element())
		case xmlText:
			if _, err := dst.Write(token.text); err != nil {
				return err
			}
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// unbase64 decodes base64 (RFC 4648, section 4) that comes in pieces and with white space anywhere.
type unbase64 struct {
	out     io.Writer
	coded   []byte // less than four characters between two calls
	decoded []byte
	padded  bool // nothing may follow
}

func (d *unbase64) Write(p []byte) (int, error) {
	if !bytes.ContainsAny(p, " \t\r\n") {
		d.coded = append(d.coded, p...)
	} else {
		for _, c := range p {
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				d.coded = append(d.coded, c)
			}
		}
	}
	if d.padded && len(d.coded) > 0 {
		return 0, malformed("something follows the end of base64")
	}
	whole := len(d.coded) &^ 3
	if whole == 0 {
		return len(p), nil
	}
	if need := base64.StdEncoding.DecodedLen(whole); cap(d.decoded) < need {
		d.decoded = make([]byte, need)
	}
	n, err := base64.StdEncoding.Decode(d.decoded[:cap(d.decoded)], d.coded[:whole])
	if err != nil {
		return 0, malformed("what should be base64 is none")
	}
	d.padded = d.coded[whole-1] == '='
	d.coded = d.coded[:copy(d.coded, d.coded[whole:])]
	if d.padded && len(d.coded) > 0 {
		return 0, malformed("something follows the end of base64")
	}
	if _, err := d.out.Write(d.decoded[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end makes sure that nothing is left.
func (d *unbase64) end() error {
	if len(d.coded) > 0 {
		return malformed("base64 ends too early")
	}
	return nil
}
