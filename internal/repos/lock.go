package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dir is where a repository is kept: below two levels of directories, named by the last digits of its id, that keep each of
// them small.
func (s *Service) dir(id int64) string {
	return filepath.Join(s.root, fmt.Sprintf("%02d", id%100), fmt.Sprintf("%02d", id/100%100), strconv.FormatInt(id, 10)+".git")
}

// lock keeps other writers of a repository out, in this process and in others that share the directory, by a lock (flock(2))
// on a file beside it. It ends with its process, however that ends.
type lock struct {
	dir  string
	file *os.File
}

// lock waits for the lock of a repository until ctx ends.
func (s *Service) lock(ctx context.Context, id int64) (*lock, error) {
	l := &lock{dir: s.dir(id)}
	if err := os.MkdirAll(filepath.Dir(l.dir), 0o700); err != nil {
		return nil, fmt.Errorf("repos: %w", err)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		ok, err := l.try()
		if err != nil {
			return nil, fmt.Errorf("repos: lock %s: %w", l.path(), err)
		}
		if ok {
			return l, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("repos: wait for another writer of repository %d: %w", id, ctx.Err())
		}
	}
}

func (l *lock) path() string { return l.dir + ".lock" }

// try takes the lock if it is free. The file may be removed, with its repository, between being opened and being locked: such a
// lock keeps nobody out.
func (l *lock) try() (bool, error) {
	f, err := os.OpenFile(l.path(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return false, nil
		}
		return false, err
	}
	held, err := f.Stat()
	if err != nil {
		return false, errors.Join(err, f.Close())
	}
	there, err := os.Stat(l.path())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(held, there) {
		return false, f.Close()
	}
	if err != nil {
		return false, errors.Join(err, f.Close())
	}
	l.file = f
	return true, nil
}

func (l *lock) release() { _ = l.file.Close() } // unlocks; nothing was written

// removeAll removes the repository's directory and the lock's file.
func (l *lock) removeAll() error {
	if err := errors.Join(os.RemoveAll(l.dir), os.Remove(l.path())); err != nil {
		return fmt.Errorf("repos: remove %s: %w", l.dir, err)
	}
	return nil
}
