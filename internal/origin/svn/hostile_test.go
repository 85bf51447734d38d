package svn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// tape is a connection on which the other side says what it has said before, whatever it is asked, and hangs up.
type tape struct {
	net.Conn // nil: what is not below is not used
	says     io.Reader
}

func (c tape) Read(p []byte) (int, error)       { return c.says.Read(p) }
func (c tape) Write(p []byte) (int, error)      { return len(p), nil }
func (c tape) Close() error                     { return nil }
func (c tape) SetReadDeadline(time.Time) error  { return nil }
func (c tape) SetWriteDeadline(time.Time) error { return nil }

// hear reads a history from a server that says just this.
func hear(says io.Reader) (*model, error) {
	m := newModel()
	s, err := Dial(context.Background(), Options{
		URL:  &url.URL{Scheme: "svn", Host: "hostile.invalid", Path: "/repo"},
		Dial: func(context.Context, string, string) (net.Conn, error) { return tape{says: says}, nil },
	})
	if err != nil {
		return m, err
	}
	defer s.Close()
	return m, s.Replay(context.Background(), 1, s.Info().Head, m)
}

// recordSession is all that svnserve says while small is read.
func recordSession(t *testing.T) []byte {
	t.Helper()
	r := svnfixture.NewRepo(t)
	r.Load(t, small().Bytes())
	var tape *recorder
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialTCP(ctx, network, addr)
		tape = &recorder{Conn: conn}
		return tape, err
	}
	replay(t, dial(t, opt))
	root := "svn://" + opt.URL.Host + "/repo"
	return bytes.Replace(tape.heard.Bytes(), []byte(str(root)), []byte(str("svn://hostile.invalid/repo")), 1)
}

// Wherever a server hangs up, that is a fault of the connection, and what came until then is the beginning of the truth.
func TestHangUpAnywhere(t *testing.T) {
	t.Parallel()
	session := recordSession(t)
	truth, err := hear(bytes.NewReader(session))
	if err != nil || len(truth.trees) != 4 {
		t.Fatalf("%d revisions, %v", len(truth.trees), err)
	}
	for n := range len(session) {
		m, err := hear(bytes.NewReader(session[:n]))
		if n == len(session)-1 && err == nil {
			continue // the last space
		}
		if !errors.Is(err, origin.ErrTemporary) {
			t.Errorf("after %d bytes: got %v", n, err)
		}
		if !isPrefix(m.told, truth.told) {
			t.Errorf("after %d bytes: %q", n, m.told)
		}
	}
}

func isPrefix(part, whole []string) bool {
	return len(part) <= len(whole) && slices.Equal(part, whole[:len(part)])
}

// A byte that changes on the way in a text or its checksum is found out or does not matter; anywhere else it does no harm.
func TestDamagedSession(t *testing.T) {
	t.Parallel()
	session := recordSession(t)
	truth, err := hear(bytes.NewReader(session))
	if err != nil {
		t.Fatal(err)
	}
	guarded := guardedBytes(t, session)
	silent := 0
	for n := range len(session) {
		for _, flip := range []byte{1, 0x80} {
			damaged := bytes.Clone(session)
			damaged[n] ^= flip
			m, err := hear(bytes.NewReader(damaged))
			if err == nil && !slices.Equal(m.told, truth.told) {
				silent++
				if guarded[n] {
					t.Errorf("byte %d (%q) is %q: other texts, and no error", n, session[n], damaged[n])
				}
			}
		}
	}
	t.Logf("%d of %d changes are other names, properties or messages, of which the protocol has no checksums", silent, 2*len(session))
}

// guardedBytes tells which bytes of a session are of texts or checksums.
func guardedBytes(t *testing.T, session []byte) map[int]bool {
	t.Helper()
	guarded := map[int]bool{}
	for _, command := range []string{"( textdelta-chunk ( ", "( close-file ( "} {
		for at := 0; ; {
			i := bytes.Index(session[at:], []byte(command))
			if i < 0 {
				break
			}
			from := at + i + len(command)
			from += bytes.IndexByte(session[from:], ' ') // behind the token
			end := from + bytes.Index(session[from:], []byte(" ) ) "))
			for k := from; k < end; k++ {
				guarded[k] = true
			}
			at = end
		}
	}
	if len(guarded) < 100 {
		t.Fatalf("only %d bytes are guarded", len(guarded))
	}
	return guarded
}

// begun is a session up to the answer to replay-range, of a repository whose newest revision is r1.
const begun = "( success ( 2 2 ( ) ( edit-pipeline ) ) ) ( success ( ( ANONYMOUS ) 1:r ) ) ( success ( ) ) ( success ( 1:u 26:svn://hostile.invalid/repo ( ) ) ) " +
	logInNot + "( success ( 1 ) ) " + logInNot + "( success ( dir ) ) " + logInNot

// A server that goes on and on is stopped within bounds of memory and time.
func TestWithoutEnd(t *testing.T) {
	t.Parallel()
	const edit = begun + "( revprops ( ) ) ( open-root ( ( ) 1:r ) ) "
	for _, tt := range []struct{ name, begin, again string }{
		{"greeting", "( success ( 2 2 ( ", "X "},
		{"greeting of lists", "( success ( 2 2 ( ) ( ) ", "( 1 2 ) "},
		{"ways to log in", "( success ( 2 2 ( ) ( ) ) ) ( success ( ( ", "X "},
		{"errors", "( success ( 2 2 ( ) ( ) ) ) ( failure ( ", "( 1 1:x 0: 0 ) "},
		{"long errors", "( success ( 2 2 ( ) ( ) ) ) ( failure ( ( 1 ", "16383:" + strings.Repeat("x", 16383) + " "},
		{"string of an unknown item", "( success ( 2 2 ( ) ( ) 9223372036854775807:", "x"},
		{"spaces", "( success ( 2 2 ", "   \n"},
		{"revision properties", begun + "( revprops ( ", "( 1:a 1:b ) "},
		{"large revision properties", begun + "( revprops ( ( 1:a 99999999999:", "b"},
		{"properties of a directory", edit, "( change-dir-prop ( 1:r 1:a ( 1:b ) ) ) "},
		{"nothing said in arguments", edit + "( open-root ( ", "1:x "},
		{"depth", edit, "( add-dir ( 1:d 1:r 1:r ( ) ) ) "},
		{"deletions", edit, "( delete-entry ( 1:f ( ) 1:r ) ) "},
		{"numbers", begun + "( revprops ( ", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Dial(context.Background(), Options{
				URL: &url.URL{Scheme: "svn", Host: "hostile.invalid", Path: "/repo"},
				Dial: func(context.Context, string, string) (net.Conn, error) {
					return tape{says: io.MultiReader(strings.NewReader(tt.begin), &repeated{text: tt.again})}, nil
				},
			})
			if err == nil {
				defer s.Close()
				err = s.Replay(context.Background(), 1, 1, idle{})
			}
			if err == nil || errors.Is(err, origin.ErrTemporary) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A server that gives up a revision waits to be told that this was heard, and then says why.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	go func() {
		heard := make([]byte, 100)
		_, _ = far.Read(heard) // the question
		_, _ = io.WriteString(far, logInNot+"( revprops ( ) ) ( abort-edit ( ) ) ")
		for all := ""; !strings.HasSuffix(all, "( success ( ) ) "); {
			n, err := far.Read(heard)
			if err != nil {
				return
			}
			all += string(heard[:n])
		}
		_, _ = io.WriteString(far, "( failure ( ( 160017 3:why 0: 0 ) ) ) ")
	}()
	s := &Session{wire: newWire(timedConn{near, 10 * time.Second})}
	if err := s.replayRange(1, 1, idle{}); err == nil || !strings.Contains(err.Error(), "why (E160017)") {
		t.Errorf("got %v", err)
	}
}

// idle is a sink that believes everything.
type idle struct{}

func (idle) BeginRevision(*origin.Revision) error { return nil }
func (idle) Change(*origin.Change) error          { return nil }
func (idle) EndRevision() error                   { return nil }

// Of a dump that ends too early only what is told completely is believed.
func TestDumpCutAnywhere(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	r.Load(t, small().Bytes())
	for name, dump := range map[string][]byte{"format 2": r.Dump(t), "format 3": r.Dump(t, "--deltas")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truth := replay(t, openDump(t, dump))
			whole := 0
			for n := range len(dump) {
				m, err := readDump(t, dump[:n])
				told := m.told
				if last := len(told) - 1; last >= 0 && strings.HasPrefix(told[last], "2 ") {
					told = told[:last] // a deletion: that something takes its place is told next
				}
				if !isPrefix(told, truth.told) {
					t.Errorf("after %d bytes: %q", n, m.told)
				}
				if err == nil {
					// Nothing in the format tells that there was to be more than whole records.
					whole++
					if rest := bytes.TrimLeft(dump[n:], "\n"); len(rest) > 0 && !bytes.HasPrefix(rest, []byte("Node-path: ")) && !bytes.HasPrefix(rest, []byte("Revision-number: ")) {
						t.Errorf("after %d bytes: no error before %.40q", n, rest)
					}
				}
			}
			if whole > len(dump)/20 {
				t.Errorf("%d of %d cuts are not found out", whole, len(dump))
			}
		})
	}
}

// A changed byte in a text or a checksum of a dump is found out, or does not matter; elsewhere it does no harm.
func TestDamagedDump(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	r.Load(t, small().Bytes())
	for name, dump := range map[string][]byte{"format 2": r.Dump(t), "format 3": r.Dump(t, "--deltas")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truth := replay(t, openDump(t, dump))
			for n := range len(dump) {
				damaged := bytes.Clone(dump)
				damaged[n] ^= 1
				m, err := readDump(t, damaged)
				if err != nil {
					continue
				}
				for rev, tree := range m.trees {
					for path, node := range tree {
						if !wasText(truth, node.Text) {
							t.Errorf("byte %d (%q): r%d %s is %q, and no error", n, damaged[n], rev, path, node.Text)
						}
					}
				}
			}
		})
	}
}

// wasText reports whether a text is one of those that were really there: a changed path moves it.
func wasText(m *model, text string) bool {
	for _, tree := range m.trees {
		for _, n := range tree {
			if n.Text == text {
				return true
			}
		}
	}
	return text == ""
}

func readDump(t *testing.T, dump []byte) (*model, error) {
	t.Helper()
	m := newModel()
	d, err := OpenDump(context.Background(), writeDump(t, dump))
	if err != nil {
		return m, err
	}
	defer d.Close()
	if err := d.Replay(context.Background(), 1, d.Info().Head, m); err != nil {
		return m, fmt.Errorf("replay: %w", err)
	}
	return m, nil
}
