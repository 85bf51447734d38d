package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"gantry"
	"gantry/internal/pack"
)

// staging is the directory where the work is kept, locked against a second run: beside the result until that is complete,
// and then in it, for the next run to bring what is new.
type staging struct {
	dir   string
	again bool // the result is there
	lock  *os.File
}

// findStaging tells where the work on a result is, or is to be. What is there and is no result is left alone.
func findStaging(result string) (*staging, error) {
	beside, within := &staging{dir: result + ".partial"}, &staging{dir: filepath.Join(result, "gantry"), again: true}
	entries, err := os.ReadDir(result)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return beside, nil
	case err != nil && !errors.Is(err, unix.ENOTDIR):
		return nil, err
	}
	if _, err := within.landed(); err == nil {
		return within, nil
	}
	if _, err := beside.landed(); err == nil { // a run was killed when all was done but for settling
		return within, beside.settle(result)
	}
	return nil, gantry.Errorf(gantry.Conflict, "convert", "%s is there already: name a directory that does not exist, or one that an earlier conversion made", result)
}

// open makes the directory where it is missing, and locks it.
func (s *staging) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return gantry.Errorf(gantry.Conflict, "convert", "another conversion works in %s: wait for it", s.dir)
	}
	s.lock = lock
	return nil
}

func (s *staging) work() string    { return filepath.Join(s.dir, "work") }
func (s *staging) journal() string { return filepath.Join(s.dir, "state.json") }
func (s *staging) unlock()         { s.lock.Close() }

// refs is the file that says where the refs of the result were put.
func (s *staging) refs() string { return filepath.Join(s.dir, "refs.json") }

// landed returns where the last run put the refs of its result.
func (s *staging) landed() (put map[string]string, err error) {
	text, err := os.ReadFile(s.refs())
	if err == nil {
		err = json.Unmarshal(text, &put)
	}
	return put, err
}

// land keeps where the refs of the result are put.
func (s *staging) land(put map[string]string) error {
	text, err := json.Marshal(put)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.refs()+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(s.refs()+".new", s.refs())
}

// settle takes the directory into the complete result.
func (s *staging) settle(result string) error {
	if s.again {
		return nil
	}
	return os.Rename(s.dir, filepath.Join(result, "gantry"))
}

// removeIfVain removes the directory when nothing in it can be gone on with: no checkpoint was ever reached.
func (s *staging) removeIfVain() error {
	_, err := os.Stat(s.journal())
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(s.dir)
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
	branch = strings.Map(func(c rune) rune { // which is another name than that of its ref
		if c < ' ' || c == 0x7f {
			return '\ufffd'
		}
		return c
	}, branch)
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
