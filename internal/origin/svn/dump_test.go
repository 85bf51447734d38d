package svn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"gantry"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

func unescape(t *testing.T, address string) string {
	t.Helper()
	u, err := url.PathUnescape(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func openDump(t *testing.T, dump []byte) *Dump {
	t.Helper()
	d, err := OpenDump(context.Background(), writeDump(t, dump))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func writeDump(t testing.TB, dump []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "repo.dump")
	if err := os.WriteFile(name, dump, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func compressed(t *testing.T, dump []byte, open func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	_, err := w.Write(dump)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdWriter(w io.Writer) io.WriteCloser {
	z, _ := zstd.NewWriter(w)
	return z
}

// Every revision read from every form of dump is what svn export shows, and all forms tell the same.
func TestDump(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	full, deltas := r.Dump(t), r.Dump(t, "--deltas")
	first := replay(t, openDump(t, full))
	judge(t, r, "", first)
	for _, tt := range []struct {
		name string
		dump []byte
	}{
		{"deltas", deltas},
		{"gzip", compressed(t, deltas, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })},
		{"zstd", compressed(t, full, zstdWriter)},
		{"in parts", append(r.Dump(t, "-r", "0:9"), r.Dump(t, "-r", "10:HEAD", "--incremental", "--deltas")...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := openDump(t, tt.dump)
			if got, want := d.Info(), (origin.Info{UUID: svnfixture.StandardUUID, Root: "repo.dump", Head: r.Head(t)}); got != want {
				t.Errorf("info %+v, want %+v", got, want)
			}
			m := replay(t, d)
			if diff := cmp.Diff(first.told, m.told); diff != "" {
				t.Errorf("it tells something else:\n%s", diff)
			}
			if diff := cmp.Diff(first.revs, m.revs); diff != "" {
				t.Errorf("revisions differ:\n%s", diff)
			}
		})
	}
}

// svnrdump writes the same history in its own way: other headers, other order.
func TestDumpOfSvnrdump(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	dump, err := exec.Command("svnrdump", "dump", "-q", "--non-interactive", "--config-dir", t.TempDir(), r.URL()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(replay(t, openDump(t, r.Dump(t))).trees, replay(t, openDump(t, dump)).trees); diff != "" {
		t.Error(diff)
	}
}

func TestRevisionProps(t *testing.T) {
	t.Parallel()
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("alice", "Begin")
	h.CommitProps(nil)
	h.CommitProps(map[string]string{"svn:author": "", "svn:date": "yesterday", "zeta": "1", "alpha": ""})
	got := replay(t, openDump(t, h.Bytes())).revs
	want := []origin.Revision{
		{Number: 1, Author: "alice", HasAuthor: true, Message: "Begin", Time: svnfixture.Start.Add(time.Minute)},
		{Number: 2},
		{Number: 3, HasAuthor: true, Props: []origin.Prop{{Name: "alpha", Value: []byte{}}, {Name: "svn:date", Value: []byte("yesterday")}, {Name: "zeta", Value: []byte("1")}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A reading that stopped goes on at any revision, also when that one is in no dump.
func TestDumpFrom(t *testing.T) {
	t.Parallel()
	d := openDump(t, svnfixture.Standard().Bytes())
	whole := replay(t, d)
	m := newModel()
	for _, span := range [][2]int64{{1, 4}, {5, 5}, {6, 30}, {31, 1000}} {
		if err := d.Replay(context.Background(), span[0], span[1], m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(whole.told, m.told); diff != "" {
		t.Error(diff)
	}
}

// A partial dump that adds everything with its first revision is a history of its own.
func TestDumpPartial(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("alice", "Begin", svnfixture.Mkdir("trunk"), svnfixture.Put("trunk/a", "1\n"))
	h.Commit("alice", "Edit", svnfixture.Edit("trunk/a", "2\n"))
	h.Commit("alice", "Copy", svnfixture.CopyFile("trunk/a", 2, "trunk/b"))
	h.Commit("alice", "Copy from the beginning", svnfixture.CopyFile("trunk/a", 1, "trunk/c"))
	r.Load(t, h.Bytes())

	m := replay(t, openDump(t, r.Dump(t, "-r", "2:3")))
	if diff := cmp.Diff(subversionTree(t, r, "", 3), m.trees[3]); diff != "" {
		t.Error(diff)
	}

	err := openDump(t, r.Dump(t, "-r", "2:4")).Replay(context.Background(), 1, 4, newModel())
	if err == nil || gantry.KindOf(err) != gantry.Invalid || !strings.Contains(err.Error(), "the dump begins at r2") {
		t.Errorf("a copy from before the dump: %v", err)
	}
}

// Format 1 has no UUID.
func TestDerivedUUID(t *testing.T) {
	t.Parallel()
	const named = "UUID: " + svnfixture.StandardUUID + "\n\n"
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	uuid := func() string {
		return openDump(t, bytes.Replace(h.Bytes(), []byte("2\n\n"+named), []byte("1\n\n"), 1)).Info().UUID
	}
	before := uuid()
	h.Commit("alice", "Begin")
	if after := uuid(); len(before) != 36 || before != after {
		t.Errorf("UUID is %s, then %s", before, after)
	}
}

// What is no dump, or only a part of one, is refused when it is opened, with the place.
func TestDumpRefused(t *testing.T) {
	t.Parallel()
	standard := string(svnfixture.Standard().Bytes())
	begin := "SVN-fs-dump-format-version: 2\n\nRevision-number: 0\n\nRevision-number: 1\n\n"
	for _, tt := range []struct{ name, dump, want string }{
		{"empty", "", "has no revisions"},
		{"something else", "PK\x03\x04 not a dump\n\n", "not a Subversion dump"},
		{"one long line", strings.Repeat("x", 1<<20), "no end"},
		{"broken gzip", "\x1f\x8b\x08garbage", "cannot be read"},
		{"cut in a text", standard[:strings.Index(standard, "Node-path: trunk/run.sh")-90], "r3, byte"},
		{"cut in a header", standard[:strings.Index(standard, "trunk/run.sh")], "end is missing"},
		{"newer format", "SVN-fs-dump-format-version: 4\n\n", "format is 4"},
		{"garbage between", begin + "Hello\n\n", "r1, byte"},
		{"unknown record", begin + "Hello: you\n\n", "no record begins"},
		{"order", begin + "Revision-number: 1\n\n", "r1 follows r1"},
		{"node first", "SVN-fs-dump-format-version: 2\n\nNode-path: a\nNode-action: delete\n\n", "in no revision"},
		{"no action", begin + "Node-path: a\n\n", "no action"},
		{"huge length", begin + "Node-path: a\nNode-action: add\nNode-kind: file\nText-content-length: 9223372036854775807\n\n", "end is missing"},
		{"huge sum", begin + "Node-path: a\nNode-action: add\nProp-content-length: 10\nText-content-length: 9223372036854775807\n\n", "length"},
		{"length over 2^63", begin + "Node-path: a\nNode-action: add\nText-content-length: 9223372036854775808\n\n", "not a number"},
		{"unexplained content", begin + "Node-path: a\nNode-action: add\nContent-length: 7\n\n", "length"},
		{"bad checksum", begin + "Node-path: a\nNode-action: add\nText-content-md5: 12\n\n", "not a checksum"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := OpenDump(context.Background(), writeDump(t, []byte(tt.dump)))
			if err == nil || gantry.KindOf(err) != gantry.Invalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
		})
	}
}

// What only the content shows is refused while it is read.
func TestDumpNodesRefused(t *testing.T) {
	t.Parallel()
	begin := "SVN-fs-dump-format-version: 2\n\nRevision-number: 0\n\nRevision-number: 1\n\n"
	for _, tt := range []struct{ name, node, want string }{
		{"parent path", "Node-path: a/../b\nNode-kind: dir\nNode-action: add\n\n", "not a path"},
		{"deep path", "Node-path: " + strings.Repeat("a/", 5000) + "a\nNode-kind: dir\nNode-action: add\n\n", "deeper"},
		{"no kind", "Node-path: a\nNode-action: add\n\n", "no kind"},
		{"text of a directory", "Node-path: a\nNode-kind: dir\nNode-action: add\nText-content-length: 0\n\n", "has a text"},
		{"copy of the future", "Node-path: a\nNode-kind: dir\nNode-action: add\nNode-copyfrom-path: b\nNode-copyfrom-rev: 1\n\n", "not an earlier revision"},
		{"copy without revision", "Node-path: a\nNode-kind: dir\nNode-action: add\nNode-copyfrom-path: b\n\n", "not an earlier revision"},
		{"huge properties", "Node-path: a\nNode-kind: dir\nNode-action: add\nProp-content-length: 68719476736\n\n", "end is missing"},
		{"malformed properties", "Node-path: a\nNode-kind: dir\nNode-action: add\nProp-content-length: 10\n\nK 99\nab\nV ", "malformed"},
		{"unended properties", "Node-path: a\nNode-kind: dir\nNode-action: add\nProp-content-length: 8\n\nK 2\nabcd", "malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := OpenDump(context.Background(), writeDump(t, []byte(begin+tt.node)))
			if err == nil {
				defer d.Close()
				err = d.Replay(context.Background(), 1, 1, newModel())
			}
			if err == nil || gantry.KindOf(err) != gantry.Invalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
		})
	}
}

// A sink's error comes back as it is, and a cancelled context ends the reading.
func TestDumpStops(t *testing.T) {
	t.Parallel()
	d := openDump(t, svnfixture.Standard().Bytes())
	stop := errors.New("stop")
	if err := d.Replay(context.Background(), 1, 10, failingSink{stop}); err == nil || err.Error() != stop.Error() {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Replay(ctx, 1, 10, newModel()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type failingSink struct{ err error }

func (s failingSink) BeginRevision(*origin.Revision) error { return nil }
func (s failingSink) Change(*origin.Change) error          { return s.err }
func (s failingSink) EndRevision() error                   { return nil }

// A dump that is read once, as it comes, tells what its file tells, from any revision on; its UUID is the same.
func TestReadDump(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	anonymous := bytes.Replace(r.Dump(t), []byte("UUID: "+svnfixture.StandardUUID+"\n\n"), nil, 1)
	for name, dump := range map[string][]byte{"texts": r.Dump(t), "deltas": r.Dump(t, "--deltas"), "no UUID": anonymous} {
		file := openDump(t, dump)
		s, err := ReadDump(bytes.NewReader(dump), "of a test")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.Info(), (origin.Info{UUID: file.Info().UUID, Root: "of a test", Head: origin.UnknownHead}); got != want {
			t.Errorf("%s: info %+v, want %+v", name, got, want)
		}
		m := newModel()
		if err := s.Replay(t.Context(), 1, math.MaxInt64, m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(replay(t, file).told, m.told); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := s.Replay(t.Context(), 1, math.MaxInt64, m); gantry.KindOf(err) != gantry.Conflict {
			t.Errorf("%s: a second time: %v", name, err)
		}
		again, err := ReadDump(bytes.NewReader(dump), "of a test")
		if err != nil {
			t.Fatal(err)
		}
		stop := errors.New("stop")
		if err := again.Replay(t.Context(), 30, math.MaxInt64, failingSink{stop}); !errors.Is(err, stop) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := ReadDump(bytes.NewReader(dump[:40]), "of a test"); err == nil {
			t.Error("a dump without revisions was taken")
		}
	}
}
