package lfs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func pointerTo(content string) Pointer {
	return Pointer{OID: sha256.Sum256([]byte(content)), Size: int64(len(content))}
}

// Git LFS itself is the judge of what a pointer is.
func TestPointer(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Fatal("this test needs git lfs: install git-lfs")
	}
	oid := strings.Repeat("0123456789abcdef", 4)
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"Git's", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 12\n", true},
		{"Mercurial's", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 12\nx-hg-copy a\nx-is-binary 0\n", true},
		{"cut and padded", "version https://git-lfs.github.com/spec/v1\r\nsize 0012\noid sha256:" + oid, true},
		{"empty", "version https://git-lfs.github.com/spec/v1\noid sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\nsize 0\n", true},
		{"empty by its size only", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 0\n", false},
		{"negative", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize -1\n", false},
		{"signed", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize +1\n", false},
		{"without a size", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\n", false},
		{"twice", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 1\nsize 2\n", false},
		{"another sum", "version https://git-lfs.github.com/spec/v1\noid sha1:" + oid + "\nsize 1\n", false},
		{"a short sum", "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid[2:] + "\nsize 1\n", false},
		{"another version", "version https://hawser.github.com/spec/v1\noid sha256:" + oid + "\nsize 1\n", false},
		{"nothing", "", false},
	} {
		p, ok := ParsePointer([]byte(tt.text))
		if ok != tt.ok {
			t.Errorf("%s: is one: %v", tt.name, ok)
		}
		if !ok {
			continue
		}
		if again, ok := ParsePointer(p.Text()); p.Size > 0 && (!ok || again != p) {
			t.Errorf("%s: %q is another pointer", tt.name, p.Text())
		}
		check := exec.Command("git", "lfs", "pointer", "--check", "--strict", "--stdin")
		check.Stdin = bytes.NewReader(p.Text())
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: git lfs refuses %q: %v %s", tt.name, p.Text(), err, out)
		}
	}
}

func FuzzPointer(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0f", 32) + "\nsize 12\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, ok := ParsePointer(text); ok && p.Size > 0 {
			if again, ok := ParsePointer(p.Text()); !ok || again != p {
				t.Errorf("%q becomes %q", text, p.Text())
			}
		}
	})
}

func receive(t *testing.T, s *Store, p Pointer) *Incoming {
	t.Helper()
	in, err := s.Receive(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

func write(t *testing.T, in *Incoming, content string) {
	t.Helper()
	if _, err := in.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
}

// What came is gone on with, what is wrong is not kept, and what is kept can be had in another store.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, p := In(dir), pointerTo("content")
	in := receive(t, s, p)
	write(t, in, "cont")
	in.Close()
	if in = receive(t, s, p); in.Size() != 4 {
		t.Fatalf("%d bytes are there, want 4", in.Size())
	}
	if _, err := in.Write([]byte("ents")); !errors.Is(err, ErrWrong) {
		t.Errorf("a content that is too long: %v", err)
	}
	write(t, in, "oxo")
	if err := in.Keep(); !errors.Is(err, ErrWrong) || s.Has(p) {
		t.Errorf("another content is kept: %v", err)
	}
	write(t, in, "content")
	if err := in.Keep(); err != nil || !s.Has(p) {
		t.Fatalf("it is not kept: %v", err)
	}
	other := In(t.TempDir())
	for range 2 {
		if err := s.CopyTo(other); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(other.Path(p.OID)); string(got) != "content" {
		t.Errorf("the other store has %q, %v", got, err)
	}
	if err := In(filepath.Join(dir, "none")).CopyTo(other); err != nil {
		t.Errorf("of a store that is empty: %v", err)
	}
	// Another file system, and a file that cannot have a second name, are one case.
	copied := filepath.Join(t.TempDir(), "copy")
	if err := linkOrCopy("/proc/version", copied); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(copied); len(got) == 0 {
		t.Errorf("the copy has %q, %v", got, err)
	}
}
