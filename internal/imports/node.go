package imports

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// node is this process among all that share the database. It holds a lock on a file of its name below the imports'
// directory as long as it lives, so that a process that shares the directory sees at once that it has died and need not
// wait for its leases to end.
type node struct {
	name string
	dir  string
	lock *os.File
}

func newNode(dir string) (*node, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	n := &node{name: rand.Text()[:12], dir: dir}
	lock, err := os.OpenFile(filepath.Join(dir, n.name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	n.lock = lock
	return n, nil
}

// dead reports whether another node is known to have died. One of another machine, without a file here, is not known to.
func (n *node) dead(name string) bool {
	if name == n.name || name != filepath.Base(name) {
		return false
	}
	f, err := os.OpenFile(filepath.Join(n.dir, name), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// forget removes the files of nodes that have died, except those that still hold a lease.
func (n *node) forget(holders map[string]bool) error {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if holders[e.Name()] || !n.dead(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(n.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (n *node) close() error {
	return errors.Join(os.Remove(n.lock.Name()), n.lock.Close())
}
