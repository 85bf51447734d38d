package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"gantry"
	"gantry/internal/pack"
)

// staging is the directory beside the result where the work is kept, locked against a second run.
type staging struct {
	dir  string
	lock *os.File
}

func openStaging(dir string) (*staging, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, gantry.Errorf(gantry.Conflict, "convert", "another conversion works in %s: wait for it", dir)
	}
	return &staging{dir: dir, lock: lock}, nil
}

func (s *staging) work() string    { return filepath.Join(s.dir, "work") }
func (s *staging) journal() string { return filepath.Join(s.dir, "state.json") }
func (s *staging) unlock()         { s.lock.Close() }
func (s *staging) remove() error   { return os.RemoveAll(s.dir) }

// removeIfVain removes the directory when nothing in it can be gone on with: no checkpoint was ever reached.
func (s *staging) removeIfVain() error {
	_, err := os.Stat(s.journal())
	if errors.Is(err, fs.ErrNotExist) {
		return s.remove()
	}
	return err
}

// mapLines writes the file of --map; it takes its name when the conversion is complete.
type mapLines struct {
	name string
	file *os.File
	w    *bufio.Writer
}

// createMap begins a file; without a name the lines go nowhere.
func createMap(name string) (*mapLines, error) {
	m := &mapLines{name: name, w: bufio.NewWriter(io.Discard)}
	if name == "" {
		return m, nil
	}
	var err error
	if m.file, err = os.Create(name + ".partial"); err != nil {
		return nil, err
	}
	m.w.Reset(m.file)
	return m, nil
}

func (m *mapLines) add(id pack.ID, branch, revision string) error {
	_, err := fmt.Fprintf(m.w, "%s\t%s\t%s\n", id, branch, revision)
	return err
}

func (m *mapLines) keep() error {
	if m.file == nil {
		return nil
	}
	if err := errors.Join(m.w.Flush(), m.file.Close()); err != nil {
		return err
	}
	err := os.Rename(m.file.Name(), m.name)
	m.file = nil
	return err
}

func (m *mapLines) discard() {
	if m.file != nil {
		m.file.Close()
		os.Remove(m.file.Name())
	}
}
