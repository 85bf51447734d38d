package svn

import (
	"strings"

	"gantry/internal/origin"
)

// editor turns the edits of one revision, as every protocol tells them, into changes. Directories are open within each
// other, and one file at a time is open in the innermost. Paths are from the repository's root.
type editor struct {
	rev      int64
	root     string // what is read, below the repository's root
	spool    *spool
	out      emitter
	dirs     []openDir
	file     *openFile // nil: none
	propSize int64     // of the change that is being gathered
}

// openDir is a directory being edited. Its change waits for properties until something else is said.
type openDir struct {
	path   string
	change *origin.Change // nil: nothing to tell, or told
	told   bool           // something was told of it, or of what is in it
}

type openFile struct {
	change *origin.Change
	closed bool // the text has come to its end
}

// copySource is where an addition comes from.
type copySource struct {
	path string
	rev  int64
}

// emit sends a change to the sink. The server tells paths from the repository's root, also where only what is below the
// address is read, and then tells of the directories above it, too, as far as they matter to what is in it.
func (e *editor) emit(c *origin.Change) error {
	if e.root != "" {
		if below, ok := strings.CutPrefix(c.Path+"/", e.root+"/"); ok {
			c.Path = strings.TrimSuffix(below, "/")
		} else if c.Action == origin.Delete && strings.HasPrefix(e.root, c.Path+"/") {
			c.Path = ""
		} else {
			return nil
		}
	}
	return e.out.change(c)
}

// flush sends what is known of the innermost directory, before something in it or its end.
func (e *editor) flush() error {
	if e.file != nil {
		return malformedf("the file %q is still open", e.file.change.Path)
	}
	if len(e.dirs) == 0 {
		return malformed("an edit is in no directory")
	}
	d := &e.dirs[len(e.dirs)-1]
	d.told = true
	if d.change == nil {
		return nil
	}
	c := d.change
	d.change = nil
	return e.emit(c)
}

func (e *editor) push(path string, change *origin.Change) error {
	if len(e.dirs) > maxDepth {
		return malformedf("directories are nested without end at %q", path)
	}
	e.dirs = append(e.dirs, openDir{path: path, change: change})
	return nil
}

func (e *editor) openRoot() error {
	if len(e.dirs) > 0 {
		return malformed("the root is opened twice")
	}
	return e.push("", nil)
}

func (e *editor) deleteEntry(path string) error {
	if err := e.flush(); err != nil {
		return err
	}
	return e.emit(&origin.Change{Action: origin.Delete, Path: path})
}

// addDir adds a directory, which is open then; from is nil unless it is a copy.
func (e *editor) addDir(path string, from *copySource) error {
	if err := e.flush(); err != nil {
		return err
	}
	c := &origin.Change{Action: origin.Add, Path: path, Dir: true}
	if err := e.push(path, c); err != nil {
		return err
	}
	return e.copied(c, from)
}

func (e *editor) openDir(path string) error {
	if err := e.flush(); err != nil {
		return err
	}
	return e.push(path, nil)
}

// copied notes where an addition is copied from.
func (e *editor) copied(c *origin.Change, from *copySource) error {
	if from == nil {
		return nil
	}
	if from.rev >= e.rev {
		return malformedf("%q is copied from r%d, which is not an earlier revision", c.Path, from.rev)
	}
	path := from.path
	if e.root != "" {
		below, ok := strings.CutPrefix(path+"/", e.root+"/")
		if !ok {
			return malformedf("%q is copied from %q, which is not below the address", c.Path, path)
		}
		path = strings.TrimSuffix(below, "/")
	}
	c.Copied, c.CopyPath, c.CopyRev = true, path, from.rev
	return nil
}

// dirProp gives the innermost directory a property, or with a nil value takes it away.
func (e *editor) dirProp(p origin.Prop) error {
	if len(e.dirs) == 0 || e.file != nil {
		return malformed("a property came for a directory that is not open")
	}
	d := &e.dirs[len(e.dirs)-1]
	if d.change == nil {
		d.change = &origin.Change{Action: origin.Modify, Path: d.path, Dir: true}
	}
	return e.prop(d.change, p)
}

// prop adds a property to a change. Those of one change come together.
func (e *editor) prop(c *origin.Change, p origin.Prop) (err error) {
	if len(c.Props) == 0 {
		e.propSize = 0
	}
	e.propSize, err = addPropSize(e.propSize, p)
	c.Props = append(c.Props, p)
	return err
}

// closeDir ends the innermost directory. One that was opened for nothing was changed to what it was; the root always is.
func (e *editor) closeDir() error {
	if len(e.dirs) > 0 {
		d := &e.dirs[len(e.dirs)-1]
		if !d.told && d.change == nil && len(d.path) > len(e.root) {
			d.change = &origin.Change{Action: origin.Modify, Path: d.path, Dir: true}
		}
	}
	if err := e.flush(); err != nil {
		return err
	}
	e.dirs = e.dirs[:len(e.dirs)-1]
	return nil
}

// addFile adds a file, which is open then; from is nil unless it is a copy.
func (e *editor) addFile(path string, from *copySource) error {
	if err := e.startFile(origin.Add, path); err != nil {
		return err
	}
	return e.copied(e.file.change, from)
}

func (e *editor) openFile(path string) error { return e.startFile(origin.Modify, path) }

func (e *editor) startFile(action origin.Action, path string) error {
	if err := e.flush(); err != nil {
		return err
	}
	e.file = &openFile{change: &origin.Change{Action: action, Path: path}}
	return nil
}

// current is the open file.
func (e *editor) current() (*openFile, error) {
	if e.file == nil {
		return nil, malformed("an edit came for a file that is not open")
	}
	return e.file, nil
}

// startText begins the delta of the open file; what comes of it is written to the spool until endText.
func (e *editor) startText(baseMD5 []byte) error {
	f, err := e.current()
	if err != nil {
		return err
	}
	if f.change.Text != nil {
		return malformedf("%q has two texts", f.change.Path)
	}
	e.spool.reset()
	f.change.Text = &spooledText{spool: e.spool, baseMD5: baseMD5}
	return nil
}

// inText makes sure that the open file's text is being told.
func (e *editor) inText() error {
	f, err := e.current()
	if err != nil {
		return err
	}
	if f.change.Text == nil || f.closed {
		return malformedf("a part of a text came for %q out of turn", f.change.Path)
	}
	return nil
}

func (e *editor) endText() error {
	f, err := e.current()
	if err == nil {
		f.closed = true
	}
	return err
}

func (e *editor) fileProp(p origin.Prop) error {
	f, err := e.current()
	if err != nil {
		return err
	}
	return e.prop(f.change, p)
}

func (e *editor) closeFile(md5 []byte) error {
	f, err := e.current()
	if err != nil {
		return err
	}
	if f.change.Text != nil && !f.closed {
		return malformedf("the text of %q has no end", f.change.Path)
	}
	f.change.MD5, e.file = md5, nil
	return e.emit(f.change)
}

// finish makes sure that all that was opened is closed.
func (e *editor) finish() error {
	if e.file != nil || len(e.dirs) > 0 {
		return malformed("a revision ended within a directory")
	}
	return nil
}
