package svn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gantry/internal/origin"
)

// oneWay is a connection whose other side has said all it has to say.
type oneWay struct{ io.Reader }

func (oneWay) Write(p []byte) (int, error) { return len(p), nil }

func wireOf(text string) *wire { return newWire(oneWay{strings.NewReader(text)}) }

func TestItems(t *testing.T) {
	t.Parallel()
	word := func(w *wire) (any, error) { b, err := w.word(); return string(b), err }
	number := func(w *wire) (any, error) { return w.number() }
	short := func(w *wire) (any, error) { b, err := w.short(10); return string(b), err }
	owned := func(w *wire) (any, error) { b, err := w.bytes(10); return string(b), err }
	path := func(w *wire) (any, error) { return w.path() }
	rest := func(w *wire) (any, error) { return "passed", w.close() }
	for _, tt := range []struct {
		name string
		read func(*wire) (any, error)
		text string
		want any // nil: an error
	}{
		{"word", word, "\n  edit-pipeline ", "edit-pipeline"},
		{"word of 31", word, strings.Repeat("w", 31) + " ", strings.Repeat("w", 31)},
		{"word of 32", word, strings.Repeat("w", 32) + " ", nil},
		{"word with a sign", word, "a_b ", nil},
		{"word without end", word, "abc", nil},
		{"number for a word", word, "12 ", nil},
		{"number", number, "9223372036854775807 ", nil},
		{"large number", number, "922337203685477579 ", int64(922337203685477579)},
		{"number over 2^64", number, "18446744073709551617 ", nil},
		{"negative number", number, "-1 ", nil},
		{"string", short, "3:a b ", "a b"},
		{"string with a parenthesis", owned, "1:( ", "("},
		{"empty string", short, "0: ", ""},
		{"string too long", short, "11:abcdefghijk ", nil},
		{"string without space", short, "1:ab ", nil},
		{"string cut short", owned, "5:ab", nil},
		{"path", path, "6:/a/b// ", "a/b"},
		{"path upwards", path, "6:a/../b ", nil},
		{"path with a NUL", path, "3:a\x00b ", nil},
		{"list within", rest, "a 1 2:)  ( b ( ) ) ) ", "passed"},
		{"list without end", rest, "a ( b ) ", nil},
	} {
		got, err := tt.read(wireOf(tt.text))
		if failed := tt.want == nil; failed != (err != nil) || !failed && got != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// Properties come through as they were sent, wherever the buffer ends.
func TestProplist(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) origin.Prop {
			return origin.Prop{Name: rapid.String().Draw(t, "name"), Value: []byte(rapid.String().Draw(t, "value"))}
		})).Draw(t, "props")
		var b strings.Builder
		b.WriteString("( ")
		for _, p := range want {
			fmt.Fprintf(&b, "( %s %s later ) ", str(p.Name), str(string(p.Value)))
		}
		b.WriteString(") ")
		got, err := newWire(oneWay{oneByte{strings.NewReader(b.String())}}).proplist()
		if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
}

// oneByte reads a byte at a time.
type oneByte struct{ r io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.r.Read(p[:min(1, len(p))]) }

// repeated says the same for ever.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// A server that goes on without end is not followed without end.
func TestEndless(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, begin, again string
	}{
		{"revision properties", "( revprops ( ", "( 1:a 1:b ) "},
		{"node properties", "( revprops ( ) ) ( open-root ( ( ) 1:r ) ) ", "( change-dir-prop ( 1:r 1:a ( 1:b ) ) ) "},
		{"directories", "( revprops ( ) ) ( open-root ( ( ) 1:r ) ) ", "( open-dir ( 1:a 1:r 1:r ( ) ) ) "},
		{"nesting", "( revprops ( ) ) ( open-root ( ( ", "( "},
		{"an unknown command", "( revprops ( ) ) ", "( dance ( ) ) "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Session{wire: newWire(oneWay{io.MultiReader(strings.NewReader(logInNot+tt.begin), &repeated{text: tt.again})})}
			err := s.replayRange(1, 1, drain{t})
			var protocol malformed
			if !errors.As(err, &protocol) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// logInNot is the request to log in with nothing asked for.
const logInNot = "( success ( ( ) 0: ) ) "

// What cannot be an edit is refused.
func TestEditRefused(t *testing.T) {
	t.Parallel()
	const root = "( open-root ( ( ) 1:r ) ) "
	const file = root + "( add-file ( 1:f 1:r 1:c ( ) ) ) "
	for _, tt := range []struct{ name, edits, want string }{
		{"unknown command", "( dance ( ) ) ", `"dance" is not known`},
		{"no root", "( add-dir ( 1:a 1:r 1:d ( ) ) ) ", "not in the directory"},
		{"another parent", root + "( add-dir ( 1:a 1:x 1:d ( ) ) ) ", "not in the directory"},
		{"two files at once", file + "( add-file ( 1:g 1:r 1:d ( ) ) ) ", "still open"},
		{"text of no file", root + "( textdelta-chunk ( 1:c 1:x ) ) ", "not open"},
		{"text out of turn", file + "( textdelta-chunk ( 1:c 1:x ) ) ", "out of turn"},
		{"two texts", file + "( apply-textdelta ( 1:c ( ) ) ) ( textdelta-end ( 1:c ) ) ( apply-textdelta ( 1:c ( ) ) ) ", "two texts"},
		{"text without end", file + "( apply-textdelta ( 1:c ( ) ) ) ( close-file ( 1:c ( ) ) ) ", "no end"},
		{"bad checksum", file + "( close-file ( 1:c ( 2:ab ) ) ) ", "no checksum"},
		{"copy of the future", root + "( add-file ( 1:f 1:r 1:c ( 1:g 1 ) ) ) ", "not an earlier revision"},
		{"end within a directory", root + "( finish-replay ( ) ) ", "within a directory"},
		{"giving up", root + "( abort-edit ( ) ) ( failure ( ( 160004 14:is corrupt now 0: 0 ) ) ) ", "is corrupt now (E160004)"},
		{"giving up without a reason", root + "( abort-edit ( ) ) ( success ( ) ) ", "did not say why"},
		{"unknown command within", root + "( failure ( ( 210001 4:what 0: 0 ) ) ) ", "r1: the server says: what (E210001)"},
		{"failure within", root + "( failure ( ( 170001 0: 0: 0 ) ) ) ", "asks for credentials"},
	} {
		s := &Session{wire: wireOf(logInNot + "( revprops ( ) ) " + tt.edits)}
		if err := s.replayRange(1, 1, drain{t}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// FuzzItems passes over arbitrary items.
func FuzzItems(f *testing.F) {
	f.Add([]byte("( success ( 2 2 ( ANONYMOUS ) ( edit-pipeline svndiff1 ) ) ) ) "))
	f.Add([]byte("( failure ( ( 210005 3:abc 0: 0 ) ) ) ) "))
	f.Add([]byte("9223372036854775807:"))
	f.Fuzz(func(t *testing.T, items []byte) {
		w := newWire(oneWay{bytes.NewReader(items)})
		_ = w.close()
	})
}
