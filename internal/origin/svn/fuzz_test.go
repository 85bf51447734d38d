package svn

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// drain is a sink that reads every text and keeps nothing. It fails on what no reader may send.
type drain struct{ t *testing.T }

func (d drain) BeginRevision(*origin.Revision) error { return nil }
func (d drain) EndRevision() error                   { return nil }

func (d drain) Change(c *origin.Change) error {
	if clean, err := cleanPath(c.Path); err != nil || clean != c.Path {
		d.t.Errorf("path %q", c.Path)
	}
	if c.Copied && c.Action != origin.Add && c.Action != origin.Replace {
		d.t.Errorf("action %d is a copy", c.Action)
	}
	if c.Text == nil {
		return nil
	}
	r, err := c.Text.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// small is a history with something of everything, small enough to be mutated quickly.
func small() *svnfixture.History {
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("alice", "Begin", svnfixture.Mkdir("a").With("color", "blue"), svnfixture.Put("a/b", "text\n").With("x", "y"))
	h.Commit("", "Copy", svnfixture.CopyDir("a", 1, "c"), svnfixture.Delete("a"))
	h.Commit("bob", "Edit", svnfixture.Edit("c/b", "another text\n"), svnfixture.TouchDir("c").WithNone())
	h.Commit("bob", "Replace", svnfixture.CopyFile("a/b", 1, "c/b").Text("third\n").Replacing())
	return h
}

var update = flag.Bool("update", false, "write what svnserve says of small to testdata")

const recorded = "testdata/replay.ra_svn"

// TestRecord makes the seed of FuzzReplay: all that svnserve answers to replay-range.
func TestRecord(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	r := svnfixture.NewRepo(t)
	r.Load(t, small().Bytes())
	var tape *recorder
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialTCP(ctx, network, addr)
		tape = &recorder{Conn: conn}
		return tape, err
	}
	s := dial(t, opt)
	tape.heard.Reset()
	replay(t, s)
	if err := os.WriteFile(recorded, tape.heard.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recorder keeps what the other side says.
type recorder struct {
	net.Conn
	heard bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.heard.Write(p[:n])
	return n, err
}

// FuzzReplay reads arbitrary answers to replay-range.
func FuzzReplay(f *testing.F) {
	seed, err := os.ReadFile(recorded)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("( success ( ( ANONYMOUS CRAM-MD5 ) 5:realm ) ) ( step ( 3:abc ) ) ( success ( ) ) "))
	f.Add([]byte(logInNot + "( failure ( ( 210001 0: 0: 0 ) ) ) "))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, answers []byte) {
		s := &Session{wire: newWire(oneWay{bytes.NewReader(answers)}), spool: spool{dir: dir}}
		s.opt.Credentials = origin.Credentials{Username: "alice", Password: "sesame"}
		_ = s.replayRange(1, 4, drain{t})
		_ = s.spool.close()
	})
}

// The seed is a whole and right replay, so that mutations of it reach everything.
func TestRecordedReplay(t *testing.T) {
	t.Parallel()
	seed, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{wire: newWire(oneWay{bytes.NewReader(seed)})}
	m := newModel()
	if err := s.replayRange(1, 4, m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(replay(t, openDump(t, small().Bytes())).trees, m.trees); diff != "" {
		t.Error(diff)
	}
}

// FuzzDump reads arbitrary dumps to their end.
func FuzzDump(f *testing.F) {
	f.Add(small().Bytes())
	f.Add([]byte("SVN-fs-dump-format-version: 3\n\nUUID: x\n\nRevision-number: 1\n\nNode-path: a\nNode-kind: file\nNode-action: change\n" +
		"Prop-delta: true\nProp-content-length: 16\nText-delta: true\nText-content-length: 4\n\nD 1\na\nPROPS-END\nSVN\x00\n\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	name := f.TempDir() + "/dump"
	f.Fuzz(func(t *testing.T, dump []byte) {
		if err := os.WriteFile(name, dump, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDump(context.Background(), name)
		if err != nil {
			return
		}
		defer d.Close()
		_ = d.Replay(context.Background(), 1, d.Info().Head, drain{t})
	})
}
