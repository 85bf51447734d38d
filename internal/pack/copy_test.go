package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
