package pack

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Entries are ordered as if the name of a directory ended in a slash.
func TestCompareEntries(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[-./0a]{1,3}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		aDir, bDir := rapid.Bool().Draw(t, "a is a directory"), rapid.Bool().Draw(t, "b is a directory")
		sorted := func(name string, dir bool) string {
			if dir {
				return name + "/"
			}
			return name + "\x00"
		}
		got := CompareEntries(a, aDir, []byte(b), bDir)
		// Git looks no further than the byte after the shorter name.
		n := min(len(a), len(b)) + 1
		want := cmp.Compare(sorted(a, aDir)[:min(n, len(a)+1)], sorted(b, bDir)[:min(n, len(b)+1)])
		if cmp.Compare(got, 0) != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

func TestTreeEntries(t *testing.T) {
	t.Parallel()
	want := []TreeEntry{
		{ModeFile, []byte("a"), Sum(Blob, nil)},
		{ModeExec, []byte("b c"), Sum(Blob, nil)},
		{ModeLink, []byte("l"), Sum(Blob, nil)},
		{ModeTree, []byte("t"), EmptyTree},
		{ModeGitlink, []byte("u"), EmptyTree},
	}
	var data []byte
	for _, e := range want {
		data = AppendTreeEntry(data, e.Mode, e.Name, e.ID)
	}
	var got []TreeEntry
	for e, err := range TreeEntries(data) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(got, want, func(a, b TreeEntry) bool {
		return a.Mode == b.Mode && bytes.Equal(a.Name, b.Name) && a.ID == b.ID
	}) {
		t.Errorf("%v, want %v", got, want)
	}
	for range TreeEntries(data) {
		break // and nothing is yielded after it
	}
	for n := 1; n < 30; n++ {
		if _, _, err := NextEntry(data[:n]); (n < 29) != errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzTreeEntries(f *testing.F) {
	f.Add(AppendTreeEntry(AppendTreeEntry(nil, ModeFile, "readme", EmptyTree), ModeTree, "src", EmptyTree))
	f.Add([]byte("99999999 \x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		for e, err := range TreeEntries(data) {
			if err != nil {
				return
			}
			again = AppendTreeEntry(again, e.Mode, e.Name, e.ID)
		}
		if len(again) > len(data) { // a mode may have zeros before it
			t.Fatalf("%q became %q", data, again)
		}
	})
}

func FuzzEntry(f *testing.F) {
	d := newDeflater(false)
	f.Add(d.append(appendEntryHeader(nil, Blob, 200), bytes.Repeat([]byte("ab"), 100)))
	f.Add(d.append(append(appendEntryHeader(nil, refDelta, 5), EmptyTree[:]...), []byte("delta")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := parseEntry(raw)
		if err != nil || e.size > maxRatio*int64(len(raw)) {
			return
		}
		if e.header > min(maxEntryHeader, len(raw)) {
			t.Fatalf("a header of %d bytes", e.header)
		}
		inflate(make([]byte, e.size), raw[e.header:])
	})
}

func FuzzHeadReferences(f *testing.F) {
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor"))
	f.Add([]byte("object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ntype tree\ntag"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, typ := range []Type{Commit, Tag} {
			n := 0
			for ref, err := range headReferences(typ, data) {
				if n++; err == nil && (ref.typ < Commit || ref.typ > Tag) {
					t.Fatalf("a reference to %v", ref.typ)
				}
			}
			if n == 0 {
				t.Fatal("neither a reference nor an error")
			}
		}
	})
}
