package lfs

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Store is a directory of contents with the layout that Git LFS has in a repository: lfs/objects/aa/bb/OID. A content is
// there whole and checked, or not at all. It is safe for concurrent use, as long as one goroutine brings a content.
type Store struct{ dir string }

// In returns the store in the directory of a bare repository, or of a conversion. Nothing is made before it is needed.
func In(dir string) *Store { return &Store{filepath.Join(dir, "lfs")} }

func (s *Store) objects() string { return filepath.Join(s.dir, "objects") }

// Path is where a content is.
func (s *Store) Path(oid OID) string {
	name := oid.String()
	return filepath.Join(s.objects(), name[:2], name[2:4], name)
}

// Has reports whether a content is there.
func (s *Store) Has(p Pointer) bool {
	info, err := os.Stat(s.Path(p.OID))
	return p.Size == 0 || err == nil && info.Size() == p.Size
}

// Incoming is a content on its way into a store.
type Incoming struct {
	store *Store
	want  Pointer
	file  *os.File
	sum   hash.Hash
	size  int64
}

// ErrWrong is what came in place of a content.
var ErrWrong = errors.New("it is not the content that the pointer names")

// Receive goes on with a content where an earlier try ended. One receives a content at a time.
func (s *Store) Receive(want Pointer) (*Incoming, error) {
	dir := filepath.Join(s.dir, "incomplete")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, want.OID.String()), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	in := &Incoming{store: s, want: want, file: file, sum: sha256.New()}
	if in.size, err = io.Copy(in.sum, bufio.NewReader(io.LimitReader(file, want.Size+1))); err == nil && in.size > want.Size {
		err = in.Restart()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return in, nil
}

// Size is how much is there.
func (in *Incoming) Size() int64 { return in.size }

// Write appends to the content. More than there is to be is ErrWrong.
func (in *Incoming) Write(p []byte) (int, error) {
	if int64(len(p)) > in.want.Size-in.size {
		return 0, fmt.Errorf("%w: it is longer than %d bytes", ErrWrong, in.want.Size)
	}
	n, err := in.file.Write(p)
	in.sum.Write(p[:n])
	in.size += int64(n)
	return n, err
}

// Restart forgets what is there.
func (in *Incoming) Restart() error {
	in.size = 0
	in.sum.Reset()
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return in.file.Truncate(0)
}

// Keep makes the content one of the store, durably, if it is the right one; else it is ErrWrong, and forgotten.
func (in *Incoming) Keep() error {
	if sum := OID(in.sum.Sum(nil)); in.size != in.want.Size || sum != in.want.OID {
		return errors.Join(fmt.Errorf("%w: it has %d bytes with the SHA-256 %v", ErrWrong, in.size, sum), in.Restart())
	}
	if err := in.file.Chmod(0o444); err != nil {
		return err
	}
	if err := in.file.Sync(); err != nil {
		return err
	}
	return place(in.store.objects(), in.store.Path(in.want.OID), func(path string) error { return os.Rename(in.file.Name(), path) })
}

// Close ends receiving. What came and was not kept stays for the next time.
func (in *Incoming) Close() error { return in.file.Close() }

// place has put make a file in the directory of a content, which it makes, and makes that durable.
func place(root, path string, put func(path string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := put(path); err != nil {
		return err
	}
	for ; strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CopyTo makes every content one of another store, too, by a second name where that can be had.
func (s *Store) CopyTo(other *Store) error {
	err := filepath.WalkDir(s.objects(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		below, err := filepath.Rel(s.objects(), path)
		if err != nil {
			return err
		}
		to := filepath.Join(other.objects(), below)
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		return place(other.objects(), to, func(to string) error { return linkOrCopy(path, to) })
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// linkOrCopy gives a file another name. Where that is on another file system it is copied, under a name of its own until it
// is whole.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".incoming-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = errors.Join(out.Chmod(0o444), out.Sync())
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
