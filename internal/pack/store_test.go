package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// checkObject reads an object in every way there is.
func checkObject(t testingT, s *Store, id ID, typ Type, want []byte) {
	t.Helper()
	if !s.Has(id) {
		t.Fatalf("%v is gone", id)
	}
	if gotType, size, err := s.Stat(id); err != nil || gotType != typ || size != int64(len(want)) {
		t.Fatalf("Stat(%v) = %v, %d, %v; want %v, %d", id, gotType, size, err, typ, len(want))
	}
	if gotType, data, err := s.Get(id); err != nil || gotType != typ || !bytes.Equal(data, want) {
		t.Fatalf("Get(%v) = %v, %d bytes, %v; want %v, %d bytes", id, gotType, len(data), err, typ, len(want))
	}
	gotType, size, r, err := s.Open(id)
	if err != nil || gotType != typ || size != int64(len(want)) {
		t.Fatalf("Open(%v) = %v, %d, %v", id, gotType, size, err)
	}
	if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, want) {
		t.Fatalf("Open(%v) read %d bytes, %v", id, len(data), err)
	}
	if err := r.Close(); err != nil {
		t.Fatalf("close %v: %v", id, err)
	}
}

type testingT interface {
	Helper()
	Fatalf(string, ...any)
}

type object struct {
	typ  Type
	data []byte
}

// Whatever is put, synced, lost by a kill at any moment and opened again: what was synced is there as it was put, what was
// not is not, and files of earlier owners stay as they were.
func TestStoreSurvivesKills(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir := filepath.Join(root, "store")
		defer os.RemoveAll(dir)
		var (
			err            error
			segments       []Segment
			synced, unsafe = map[ID]object{}, map[ID]object{} // put, and durable or not
			all            []ID
			owner          int
			s              *Store
		)
		reopen := func() {
			if s != nil {
				s.Close()
			}
			owner++
			s, err = OpenStore(dir, fmt.Sprintf("owner%d", owner), segments, Options{CacheBytes: 1 << 10})
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			s.maxObjects = rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "objects in a segment")
		}
		put := func(typ Type, data []byte, id ID, err error) {
			if err != nil {
				t.Fatalf("put: %v", err)
			}
			if want := Sum(typ, data); id != want {
				t.Fatalf("put gave %v, want %v", id, want)
			}
			if _, known := synced[id]; !known {
				unsafe[id] = object{typ, data}
				all = append(all, id)
			}
		}
		text := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 200), rapid.SliceOfN(rapid.ByteRange('a', 'b'), 0, 2000))
		reopen()
		defer func() { s.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"Put": func(t *rapid.T) {
				typ, data := Type(rapid.IntRange(1, 4).Draw(t, "type")), text.Draw(t, "data")
				id, err := s.Put(typ, data)
				put(typ, data, id, err)
			},
			"PutDelta": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("no base")
				}
				base := rapid.SampledFrom(all).Draw(t, "base")
				typ, baseText, err := s.Get(base)
				if err != nil {
					t.Fatalf("base: %v", err)
				}
				data := append(bytes.Clone(baseText), text.Draw(t, "more")...)
				id, err := s.PutDelta(typ, base, editDelta(baseText, data), data)
				put(typ, data, id, err)
			},
			"PutStream": func(t *rapid.T) {
				data := text.Draw(t, "data")
				id, err := s.PutStream(Blob, int64(len(data)), bytes.NewReader(data))
				put(Blob, data, id, err)
			},
			"PutStream of another size": func(t *rapid.T) {
				if id, err := s.PutStream(Blob, 1000, strings.NewReader("short")); err == nil {
					t.Fatalf("put gave %v", id)
				}
			},
			"Sync": func(t *rapid.T) {
				if segments, err = s.Sync(); err != nil {
					t.Fatalf("sync: %v", err)
				}
				for id, o := range unsafe {
					synced[id] = o
				}
				clear(unsafe)
			},
			"kill": func(t *rapid.T) {
				s.Close()
				// What was written after the last sync may be lost, or be anything.
				lengths := map[string]int64{}
				for _, g := range segments {
					lengths[dataPath(dir, g.Name)], lengths[journalPath(dir, g.Name)] = g.Length, g.IndexLength
				}
				paths, _ := filepath.Glob(filepath.Join(dir, "*"))
				for _, path := range paths {
					valid, isData := lengths[path]
					switch {
					case strings.Contains(path, ".index") && rapid.Bool().Draw(t, "damage the index"):
						damage(t, path, 20)
					case isData && rapid.Bool().Draw(t, "lose the tail"):
						if err := os.Truncate(path, valid); err != nil {
							t.Fatalf("%v", err)
						}
					case isData:
						damage(t, path, valid)
					}
				}
				var known []ID
				for _, id := range all {
					if _, ok := synced[id]; ok {
						known = append(known, id)
					}
				}
				all = known
				reopen()
				for id := range unsafe {
					if s.Has(id) {
						t.Fatalf("%v was never synced", id)
					}
				}
				clear(unsafe)
			},
			"": func(t *rapid.T) {
				for _, objects := range []map[ID]object{synced, unsafe} {
					for id, o := range objects {
						checkObject(t, s, id, o.typ, o.data)
					}
				}
			},
		})
	})
}

// damage writes garbage over a file from an offset on.
func damage(t testingT, path string, from int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("garbage, as after a crash"), from); err != nil {
		t.Fatalf("%v", err)
	}
}

// A chain never grows beyond its bound, and what does not pay is not stored as a delta.
func TestPutDeltaChooses(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	depthOf := func(id ID) int {
		_, r, err := s.find(id)
		if err != nil {
			t.Fatal(err)
		}
		return r.depth()
	}
	before := []byte(strings.Repeat("line of text\n", 100))
	id := must[ID](t)(s.Put(Blob, before))
	for i := range 3 * maxDepth {
		after := append(bytes.Clone(before), byte('a'+i%26))
		id = must[ID](t)(s.PutDelta(Blob, id, editDelta(before, after), after))
		if want := (i + 1) % (maxDepth + 1); depthOf(id) != want {
			t.Fatalf("depth %d after %d deltas, want %d", depthOf(id), i+1, want)
		}
		before = after
	}
	other := bytes.Repeat([]byte("nothing alike"), 200)
	if id := must[ID](t)(s.PutDelta(Blob, id, editDelta(before, other), other)); depthOf(id) != 0 {
		t.Error("a delta as large as the text was kept")
	}
	tree := must[ID](t)(s.Put(Tree, before))
	after := append(bytes.Clone(before), "!"...)
	if id := must[ID](t)(s.PutDelta(Blob, tree, editDelta(before, after), after)); depthOf(id) != 0 {
		t.Error("a blob was stored as a delta of a tree")
	}
	if _, err := s.PutDelta(Blob, Sum(Blob, []byte("absent")), editDelta(nil, after), []byte("text")); !errors.Is(err, ErrMissing) {
		t.Errorf("delta without base: %v", err)
	}
}

// Large objects pass through, also over the bounds of a segment, and a stream that fails leaves nothing behind.
func TestPutStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir, "a", nil)
	s.maxBytes = 1 << 20
	random := rand.NewChaCha8([32]byte{1})
	data := make([]byte, 5<<20)
	random.Read(data)
	small := must[ID](t)(s.Put(Blob, []byte("before")))
	big := must[ID](t)(s.PutStream(Blob, int64(len(data)), iotest.HalfReader(bytes.NewReader(data))))
	size := s.growing.length
	if id := must[ID](t)(s.PutStream(Blob, int64(len(data)), bytes.NewReader(data))); id != big {
		t.Errorf("again: %v", id)
	}
	lost := errors.New("connection lost")
	cut := io.MultiReader(bytes.NewReader(data[1:]), iotest.ErrReader(lost))
	if _, err := s.PutStream(Blob, int64(len(data)), cut); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	after := must[ID](t)(s.Put(Blob, []byte("after")))
	segments := must[[]Segment](t)(s.Sync())
	if len(segments) != 2 || segments[0].Length != size {
		t.Errorf("%+v, the first had %d bytes", segments, size)
	}
	again := openStore(t, dir, "b", segments)
	for _, s := range []*Store{s, again} {
		checkObject(t, s, big, Blob, data)
		checkObject(t, s, small, Blob, []byte("before"))
		checkObject(t, s, after, Blob, []byte("after"))
	}
}

// Readers and the one writer do not disturb each other. (Run with -race.)
func TestReadingWhileWriting(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	s.maxObjects = 300
	s.cache = newCache(10 << 10)
	ids := make(chan ID, 4000)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for id := range ids {
				if typ, data, err := s.Get(id); err != nil || Sum(typ, data) != id {
					t.Errorf("%v: %v", id, err)
					return
				}
			}
		})
	}
	before := []byte(strings.Repeat("some text\n", 50))
	id := must[ID](t)(s.Put(Blob, before))
	for i := range 2000 {
		after := append(bytes.Clone(before), fmt.Sprint(i)...)
		id = must[ID](t)(s.PutDelta(Blob, id, editDelta(before, after), after))
		ids <- id
		if i%500 == 0 {
			must[[]Segment](t)(s.Sync())
		}
		if before = after; len(before) > 2000 {
			before = before[:500]
			id = must[ID](t)(s.Put(Blob, before))
		}
	}
	close(ids)
	wg.Wait()
}

func TestOpenStoreRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir, "a", nil)
	must[ID](t)(s.Put(Blob, []byte("text")))
	good := must[[]Segment](t)(s.Sync())[0]
	changed := func(change func(*Segment)) Segment {
		g := good
		change(&g)
		return g
	}
	for _, test := range []struct {
		name    string
		segment Segment
		want    error
	}{
		{"lost data", changed(func(g *Segment) { g.Length++ }), ErrCorrupt},
		{"lost records", changed(func(g *Segment) { g.IndexLength += recordSize }), ErrCorrupt},
		{"half a record", changed(func(g *Segment) { g.IndexLength-- }), ErrCorrupt},
		{"a record beyond the data", changed(func(g *Segment) { g.Length-- }), ErrCorrupt},
		{"negative", changed(func(g *Segment) { g.IndexLength = -recordSize }), ErrCorrupt},
		{"lost files", changed(func(g *Segment) { g.Name = "b-1" }), os.ErrNotExist},
		{"a path", changed(func(g *Segment) { g.Name = "../" + filepath.Base(dir) + "/a-1" }), nil},
		{"no name", changed(func(g *Segment) { g.Name = "" }), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := OpenStore(dir, "c", []Segment{test.segment}, Options{})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
	again := openStore(t, dir, "a", []Segment{good}) // the same word again takes other names
	must[ID](t)(again.Put(Blob, []byte("more")))
	if segments := must[[]Segment](t)(again.Sync()); len(segments) != 2 || segments[1].Name == good.Name {
		t.Errorf("%+v", segments)
	}
}

// Bytes that rot on disk are an error, never another text.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir, "a", nil)
	base := []byte(strings.Repeat("some text\n", 30))
	full := append(bytes.Clone(base), "and more"...)
	id := must[ID](t)(s.Put(Blob, base))
	deltified := must[ID](t)(s.PutDelta(Blob, id, editDelta(base, full), full))
	segments := must[[]Segment](t)(s.Sync())
	path := dataPath(dir, segments[0].Name)
	stored := must[[]byte](t)(os.ReadFile(path))
	for i := range stored {
		rotten := bytes.Clone(stored)
		rotten[i] ^= 0x10
		writeFile(t, path, rotten)
		s := openStore(t, dir, fmt.Sprintf("owner%d", i), segments)
		if _, data, err := s.Get(deltified); err == nil && !bytes.Equal(data, full) {
			t.Fatalf("byte %d: another text: %q", i, data)
		}
	}
}
