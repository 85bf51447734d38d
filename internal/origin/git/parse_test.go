package git

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// However git's output is cut into pieces, the same progress and the same words come out.
func TestProgressInPieces(t *testing.T) {
	t.Parallel()
	const said = "remote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2), done.\nReceiving objects:  10% (1/10)\rwarning: odd\nReceiving objects: 100% (10/10), 3.1 MiB | 1 MiB/s\nfatal: the end"
	for size := 1; size < len(said); size++ {
		var got []string
		w := &progressWriter{report: func(p Progress) { got = append(got, fmt.Sprintf("%s %d/%d", p.Phase, p.Done, p.Total)) }}
		for rest := said; rest != ""; {
			n := min(size, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if s := strings.Join(got, ", "); s != "Counting objects 1/2, Counting objects 2/2, Receiving objects 1/10, Receiving objects 10/10" || w.String() != "warning: odd\nfatal: the end" {
			t.Fatalf("pieces of %d: %s; %q", size, s, w)
		}
	}
}

func TestLineWriter(t *testing.T) {
	t.Parallel()
	var got []string
	w := &lineWriter{limit: 5, each: func(line []byte) error { got = append(got, string(line)); return nil }}
	for _, piece := range []string{"a", "b\nc\n", "\n12345", "\nde"} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if s := strings.Join(got, "|"); s != "ab|c||12345" {
		t.Errorf("%q", s)
	}
	if _, err := w.Write([]byte("6789")); err == nil {
		t.Error("a line that is too long passes")
	}
}

func TestChooseHead(t *testing.T) {
	t.Parallel()
	a, b := pack.ID{1}, pack.ID{2}
	refs := []gitdir.Ref{{Name: "refs/heads/a", ID: a}, {Name: "refs/heads/b", ID: b}, {Name: "refs/heads/main", ID: a}, {Name: "refs/tags/v1", ID: b}}
	for _, tt := range []struct {
		name, head string
		id         pack.ID
		want       string
	}{
		{"the origin's", "refs/heads/b", b, "refs/heads/b"},
		{"detached", "", b, "refs/heads/b"},
		{"detached where two are", "", a, "refs/heads/main"},
		{"unborn", "refs/heads/gone", pack.Zero, "refs/heads/main"},
		{"untold", "", pack.Zero, "refs/heads/main"},
	} {
		if got := chooseHead(refs, tt.head, tt.id); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	if got := chooseHead(refs[3:], "refs/heads/b", b); got != "" {
		t.Errorf("without branches: %s", got)
	}
}

func FuzzBundleHead(f *testing.F) {
	f.Add("# v2 git bundle\n0123456789012345678901234567890123456789 refs/heads/main\n0123456789012345678901234567890123456789 HEAD\n\nPACK")
	f.Add("# v3 git bundle\n@object-format=sha1\n-0123456789012345678901234567890123456789 x\n\n")
	f.Fuzz(func(t *testing.T, data string) {
		offered, err := readBundleHead(bufio.NewReader(strings.NewReader(data)))
		if err != nil {
			return
		}
		for _, ref := range offered.refs {
			if !strings.HasPrefix(ref.Name, "refs/") {
				t.Errorf("%q", ref.Name)
			}
		}
	})
}

// Whatever stands in a commit, a rewrite that maps nothing leaves it alone, and one that maps everything keeps the message.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\ngpgsig x\n y\n\nmessage\n"))
	f.Add([]byte("author <\n\n"))
	f.Add([]byte("author A a@b\nencoding utf-7"))
	f.Fuzz(func(t *testing.T, data []byte) {
		keep := &rewriter{identity: func(id Identity) (Identity, bool) { return id, true }}
		if text, err := keep.rewrite(data); text != nil {
			t.Errorf("changed to %q, %v", text, err)
		}
		change := &rewriter{identity: func(Identity) (Identity, bool) { return Identity{Email: "e", Name: "n"}, true }}
		text, err := change.rewrite(data)
		if err != nil || text == nil {
			return
		}
		if _, message, ok := bytes.Cut(data, []byte("\n\n")); ok && !bytes.HasSuffix(text, append([]byte("\n"), message...)) {
			t.Errorf("message lost: %q", text)
		}
	})
}

func FuzzReadObjects(f *testing.F) {
	f.Add([]byte("4b825dc642cb6eb9a060e54bf8d69288fbee4904 commit 3\nabc\n"))
	f.Add([]byte("4b825dc642cb6eb9a060e54bf8d69288fbee4904 missing\n"))
	f.Add([]byte("4b825dc642cb6eb9a060e54bf8d69288fbee4904 commit 99999999999\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = readObjects(bufio.NewReader(bytes.NewReader(data)), func(*object) error { return nil })
	})
}
