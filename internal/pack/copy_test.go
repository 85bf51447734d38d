package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What Copy writes is a repository that git finds no fault with, whatever the segments it came from.
func TestCopyIsAGitRepository(t *testing.T) {
	t.Parallel()
	for _, maxObjects := range []int{segmentObjects, 100} {
		t.Run(fmt.Sprintf("segments of %d", maxObjects), func(t *testing.T) {
			t.Parallel()
			s := openStore(t, t.TempDir(), "a", nil)
			s.maxObjects = maxObjects
			p := newProject(s, 4)
			for range 300 {
				p.commit(t)
			}
			if _, err := s.Put(Blob, []byte("nobody refers to this\n")); err != nil {
				t.Fatal(err)
			}
			tag := must[ID](t)(s.Put(Tag, fmt.Appendf(nil,
				"object %v\ntype commit\ntag v1\ntagger A <a@example.org> 1000000000 +0000\n\nOne\n", p.head)))

			var done, total uint32
			repository, result := install(t, s, CopyOptions{Progress: func(d, n uint32) { done, total = d, n }}, tag)
			if done != result.Objects || total != result.Objects {
				t.Errorf("progress ended at %d of %d, wrote %d", done, total, result.Objects)
			}
			git(t, repository, "update-ref", "refs/tags/v1", tag.String())
			git(t, repository, "fsck", "--strict", "--full", "--no-dangling")
			if n := strings.TrimSpace(git(t, repository, "rev-list", "--count", "refs/tags/v1")); n != "300" {
				t.Errorf("%s commits", n)
			}
			count := strings.Count(git(t, repository, "rev-list", "--objects", "refs/tags/v1"), "\n")
			if uint32(count) != result.Objects {
				t.Errorf("copied %d objects, %d can be reached", result.Objects, count)
			}
		})
	}
}

// A delta whose base stays behind is written in full.
func TestCopyWithoutBase(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	p := newProject(s, 1)
	for range 120 {
		p.commit(t)
	}
	head := fmt.Appendf(nil, "tree %v\nauthor A <a@example.org> 0 +0000\ncommitter A <a@example.org> 0 +0000\n\nOnly\n", p.root.id)
	only := must[ID](t)(s.Put(Commit, head))
	repository, _ := install(t, s, CopyOptions{}, only)
	git(t, repository, "update-ref", "HEAD", only.String())
	git(t, repository, "fsck", "--strict", "--full")
}

// The oldest commit has the newest text, whose base is met later, and a file too large to be copied in one piece.
func TestCopyBasesFirst(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	s.maxObjects = 3 // so that bases are in other segments, too
	versions := []text{{data: []byte(strings.Repeat("some text\n", 100))}}
	versions[0].id = must[ID](t)(s.Put(Blob, versions[0].data))
	for i := range 10 {
		before := versions[i]
		data := append(bytes.Clone(before.data), fmt.Sprintln(i)...)
		versions = append(versions, text{must[ID](t)(s.PutDelta(Blob, before.id, editDelta(before.data, data), data)), data})
	}
	random := make([]byte, 3*maxRaw)
	rand.NewChaCha8([32]byte{2}).Read(random)
	large := must[ID](t)(s.PutStream(Blob, int64(len(random)), bytes.NewReader(random)))

	parent := ""
	var head ID
	for i, v := range slices.Backward(versions) {
		tree := AppendTreeEntry(nil, ModeFile, "a", v.id)
		tree = AppendTreeEntry(tree, ModeExec, "large", large)
		commit := fmt.Appendf(nil, "tree %v\n%sauthor A <a@example.org> %d +0000\ncommitter A <a@example.org> %[3]d +0000\n\nBack\n",
			must[ID](t)(s.Put(Tree, tree)), parent, 1000-i)
		head = must[ID](t)(s.Put(Commit, commit))
		parent = fmt.Sprintf("parent %v\n", head)
	}
	repository, result := install(t, s, CopyOptions{}, head)
	git(t, repository, "update-ref", "HEAD", head.String())
	git(t, repository, "fsck", "--strict", "--full")
	if result.Objects != 11+11+12 {
		t.Errorf("%d objects", result.Objects)
	}
	deltas := 0
	for line := range strings.Lines(git(t, repository, "verify-pack", "-v", "objects/pack/pack-"+result.Checksum.String()+".idx")) {
		if len(strings.Fields(line)) == 7 { // with depth and base
			deltas++
		}
	}
	if deltas != 10 {
		t.Errorf("%d deltas were kept of 10", deltas)
	}
}

// Offsets from 2 GiB on are in a table of their own.
func TestIndexOfALargePack(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	s.maxObjects = 2
	offsets := []int64{12, farOffset - 1, farOffset, 1 << 32, 1 << 39}
	for i := range 2 * len(offsets) { // half of them are in no pack
		must[ID](t)(s.Put(Blob, []byte{byte(i)}))
	}
	r := CopyResult{from: newPositions(s), places: make([]place, 2*len(offsets))}
	want := map[string]bool{}
	for i, offset := range offsets {
		id := Sum(Blob, []byte{byte(i)})
		at, _, err := r.from.locate(id)
		if err != nil {
			t.Fatal(err)
		}
		r.places[at] = newPlace(offset)
		r.places[at].setCRC(uint32(i))
		r.fan[id[0]]++
		want[fmt.Sprintf("%d %v (%08x)", offset, id, i)] = true
	}
	var idx bytes.Buffer
	if err := r.WriteIndex(&idx); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "show-index")
	cmd.Stdin = &idx
	out := must[[]byte](t)(cmd.Output())
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !want[line] {
			t.Errorf("git reads %q", line)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("git does not find %v", want)
	}
}

func TestCopyLeavesOutWhatTheReceiverHas(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	p := newProject(s, 2)
	for range 30 {
		p.commit(t)
	}
	old := map[ID]bool{}
	repository, _ := install(t, s, CopyOptions{}, p.head)
	for line := range strings.Lines(git(t, repository, "rev-list", "--objects", p.head.String())) {
		old[must[ID](t)(ParseID(line[:40]))] = true
	}
	for range 10 {
		p.commit(t)
	}
	var packed bytes.Buffer
	result, err := Copy(t.Context(), &packed, s, []ID{p.head}, CopyOptions{Have: func(id ID) bool { return old[id] }})
	if err != nil {
		t.Fatal(err)
	}
	if result.Objects != 40 { // 10 commits, each with a root, a directory and a file
		t.Errorf("%d objects", result.Objects)
	}
	writeFile(t, repository+"/new.pack", packed.Bytes())
	git(t, repository, "index-pack", repository+"/new.pack")
}

func TestCopyNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	absent := Sum(Blob, []byte("absent"))
	tree := must[ID](t)(s.Put(Tree, AppendTreeEntry(nil, ModeFile, "readme", absent)))
	commit := must[ID](t)(s.Put(Commit, fmt.Appendf(nil, "tree %v\nauthor", tree)))
	orphan := must[ID](t)(s.Put(Commit, fmt.Appendf(nil, "tree %v\nparent %v\nauthor", EmptyTree, absent)))
	disguised := must[ID](t)(s.Put(Tree, AppendTreeEntry(nil, ModeFile, "file", tree)))
	garbage := must[ID](t)(s.Put(Tree, []byte("100644 no-end")))
	link := must[ID](t)(s.Put(Tree, AppendTreeEntry(nil, ModeGitlink, "module", absent)))

	for _, test := range []struct {
		name string
		root ID
		want error
		text []string
	}{
		{"root", absent, ErrMissing, []string{"root", absent.String()}},
		{"entry", commit, ErrMissing, []string{tree.String(), `"readme"`, absent.String()}},
		{"tree", orphan, ErrMissing, []string{orphan.String(), EmptyTree.String()}},
		{"type", disguised, ErrCorrupt, []string{`"file"`, "tree"}},
		{"garbage", garbage, ErrCorrupt, []string{garbage.String()}},
		{"gitlink", link, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Copy(t.Context(), io.Discard, s, []ID{test.root}, CopyOptions{})
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			for _, part := range test.text {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %s", err, part)
				}
			}
		})
	}
}

func TestCopyStops(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir(), "a", nil)
	p := newProject(s, 1)
	p.commit(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Copy(ctx, io.Discard, s, []ID{p.head}, CopyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	full := errors.New("the disk is full")
	if _, err := Copy(t.Context(), writerFunc(func([]byte) error { return full }), s, []ID{p.head}, CopyOptions{}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}
