package svn

import (
	"strings"

	"gantry/internal/origin"
)

// editor turns the commands of one revision into changes. Directories are open within each other, and one file at a time
// is open in the innermost.
type editor struct {
	s        *Session
	wire     *wire
	rev      int64
	out      emitter
	dirs     []openDir
	file     *openFile // nil: none
	propSize int64     // of the change that is being gathered
	finished bool
}

// openDir is a directory being edited. Its change waits for properties until something else is said.
type openDir struct {
	token  string
	path   string
	change *origin.Change // nil: nothing to tell, or told
}

type openFile struct {
	token  string
	change *origin.Change
	closed bool // the text has come to its end
}

// command reads one command and does it.
func (e *editor) command() error {
	if err := e.wire.open(); err != nil {
		return err
	}
	word, err := e.wire.word()
	if err != nil {
		return err
	}
	if string(word) == "failure" {
		return e.s.readFailure() // in place of a command
	}
	do, known := editCommands[string(word)]
	if !known {
		return malformedf("the edit command %q is not known", word)
	}
	if err := e.wire.open(); err != nil {
		return err
	}
	if err := do(e); err != nil {
		return err
	}
	if err := e.wire.close(); err != nil {
		return err
	}
	return e.wire.close()
}

// editCommands are the commands of an edit. What a command says beyond what is read of it is passed over.
var editCommands = map[string]func(*editor) error{
	"target-rev":       (*editor).pass,
	"open-root":        (*editor).openRoot,
	"delete-entry":     (*editor).deleteEntry,
	"add-dir":          (*editor).addDir,
	"open-dir":         (*editor).openDir,
	"change-dir-prop":  (*editor).changeDirProp,
	"close-dir":        (*editor).closeDir,
	"absent-dir":       (*editor).pass,
	"add-file":         (*editor).addFile,
	"open-file":        (*editor).openFile,
	"apply-textdelta":  (*editor).applyTextDelta,
	"textdelta-chunk":  (*editor).textDeltaChunk,
	"textdelta-end":    (*editor).textDeltaEnd,
	"change-file-prop": (*editor).changeFileProp,
	"close-file":       (*editor).closeFile,
	"absent-file":      (*editor).pass,
	"close-edit":       (*editor).pass,
	"abort-edit":       (*editor).abort,
	"finish-replay":    (*editor).finish,
}

func (e *editor) pass() error { return nil }

// abort reads why the server gives a revision up.
func (e *editor) abort() error {
	if err := e.wire.close(); err != nil {
		return err
	}
	if err := e.wire.close(); err != nil {
		return err
	}
	if err := e.s.response(func() error { return nil }); err != nil {
		return err
	}
	return malformed("it gave a revision up and did not say why")
}

func (e *editor) finish() error {
	if e.file != nil || len(e.dirs) > 0 {
		return malformed("a revision ended within a directory")
	}
	e.finished = true
	return nil
}

// emit sends a change to the sink. The server tells paths from the repository's root, also where only what is below the
// address is read, and then tells of the directories above it, too, as far as they matter to what is in it.
func (e *editor) emit(c *origin.Change) error {
	if root := e.s.info.Path; root != "" {
		if below, ok := strings.CutPrefix(c.Path+"/", root+"/"); ok {
			c.Path = strings.TrimSuffix(below, "/")
		} else if c.Action == origin.Delete && strings.HasPrefix(root, c.Path+"/") {
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
	if d.change == nil {
		return nil
	}
	c := d.change
	d.change = nil
	return e.emit(c)
}

// token reads the name that the server gives to an open directory or file.
func (e *editor) token() ([]byte, error) { return e.wire.short(maxToken) }

// child reads the path of something and the token of its directory, which must be the innermost.
func (e *editor) child() (string, error) {
	path, err := e.wire.path()
	if err != nil {
		return "", err
	}
	return path, e.within(path)
}

func (e *editor) within(path string) error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) == 0 || e.dirs[len(e.dirs)-1].token != string(token) {
		return malformedf("%q is not in the directory that is open", path)
	}
	return e.flush()
}

func (e *editor) push(path string, change *origin.Change) error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) > maxDepth {
		return malformedf("directories are nested without end at %q", path)
	}
	e.dirs = append(e.dirs, openDir{string(token), path, change})
	return nil
}

func (e *editor) openRoot() error {
	if len(e.dirs) > 0 {
		return malformed("the root is opened twice")
	}
	if err := e.wire.optional(func() error { return nil }); err != nil {
		return err
	}
	return e.push("", nil)
}

func (e *editor) deleteEntry() error {
	path, err := e.wire.path()
	if err != nil {
		return err
	}
	if err := e.wire.optional(func() error { return nil }); err != nil {
		return err
	}
	if err := e.within(path); err != nil {
		return err
	}
	return e.emit(&origin.Change{Action: origin.Delete, Path: path})
}

func (e *editor) addDir() error {
	path, err := e.child()
	if err != nil {
		return err
	}
	c := &origin.Change{Action: origin.Add, Path: path, Dir: true}
	if err := e.push(path, c); err != nil {
		return err
	}
	return e.copySource(c)
}

func (e *editor) openDir() error {
	path, err := e.child()
	if err != nil {
		return err
	}
	return e.push(path, nil)
}

// copySource reads where an addition is copied from.
func (e *editor) copySource(c *origin.Change) error {
	return e.wire.optional(func() error {
		path, err := e.wire.path()
		if err != nil {
			return err
		}
		rev, err := e.wire.number()
		if err != nil {
			return err
		}
		if rev >= e.rev {
			return malformedf("%q is copied from r%d, which is not an earlier revision", c.Path, rev)
		}
		if root := e.s.info.Path; root != "" {
			below, ok := strings.CutPrefix(path+"/", root+"/")
			if !ok {
				return malformedf("%q is copied from %q, which is not below the address", c.Path, path)
			}
			path = strings.TrimSuffix(below, "/")
		}
		c.Copied, c.CopyPath, c.CopyRev = true, path, rev
		return nil
	})
}

func (e *editor) changeDirProp() error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) == 0 || e.file != nil || e.dirs[len(e.dirs)-1].token != string(token) {
		return malformed("a property came for a directory that is not open")
	}
	d := &e.dirs[len(e.dirs)-1]
	if d.change == nil {
		d.change = &origin.Change{Action: origin.Modify, Path: d.path, Dir: true}
	}
	return e.propChange(d.change)
}

// propChange reads the new value of a property. Those of one change come together.
func (e *editor) propChange(c *origin.Change) error {
	p, err := e.wire.prop()
	if err != nil {
		return err
	}
	err = e.wire.optional(func() (err error) {
		p.Value, err = e.wire.bytes(maxPropsBytes)
		return err
	})
	if err != nil {
		return err
	}
	if len(c.Props) == 0 {
		e.propSize = 0
	}
	e.propSize, err = addPropSize(e.propSize, p)
	c.Props = append(c.Props, p)
	return err
}

func (e *editor) closeDir() error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) == 0 || e.dirs[len(e.dirs)-1].token != string(token) {
		return malformed("a directory was closed that is not open")
	}
	if err := e.flush(); err != nil {
		return err
	}
	e.dirs = e.dirs[:len(e.dirs)-1]
	return nil
}

func (e *editor) addFile() error {
	c, err := e.startFile(origin.Add)
	if err != nil {
		return err
	}
	return e.copySource(c)
}

func (e *editor) openFile() error {
	_, err := e.startFile(origin.Modify)
	return err
}

func (e *editor) startFile(action origin.Action) (*origin.Change, error) {
	path, err := e.child()
	if err != nil {
		return nil, err
	}
	token, err := e.token()
	if err != nil {
		return nil, err
	}
	e.file = &openFile{token: string(token), change: &origin.Change{Action: action, Path: path}}
	return e.file.change, nil
}

// current reads a token that must be that of the open file.
func (e *editor) current() (*openFile, error) {
	token, err := e.token()
	if err != nil {
		return nil, err
	}
	if e.file == nil || e.file.token != string(token) {
		return nil, malformed("an edit came for a file that is not open")
	}
	return e.file, nil
}

func (e *editor) applyTextDelta() error {
	f, err := e.current()
	if err != nil {
		return err
	}
	if f.change.Text != nil {
		return malformedf("%q has two texts", f.change.Path)
	}
	base, err := e.wire.optionalMD5()
	if err != nil {
		return err
	}
	e.s.spool.reset()
	f.change.Text = &spooledText{spool: &e.s.spool, baseMD5: base}
	return nil
}

func (e *editor) textDeltaChunk() error {
	f, err := e.current()
	if err != nil {
		return err
	}
	if f.change.Text == nil || f.closed {
		return malformedf("a part of a text came for %q out of turn", f.change.Path)
	}
	return e.wire.copyString(&e.s.spool)
}

func (e *editor) textDeltaEnd() error {
	f, err := e.current()
	if err == nil {
		f.closed = true
	}
	return err
}

func (e *editor) changeFileProp() error {
	f, err := e.current()
	if err != nil {
		return err
	}
	return e.propChange(f.change)
}

func (e *editor) closeFile() error {
	f, err := e.current()
	if err != nil {
		return err
	}
	if f.change.Text != nil && !f.closed {
		return malformedf("the text of %q has no end", f.change.Path)
	}
	if f.change.MD5, err = e.wire.optionalMD5(); err != nil {
		return err
	}
	e.file = nil
	return e.emit(f.change)
}
