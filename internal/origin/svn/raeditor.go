package svn

import "gantry/internal/origin"

// raEditor reads the edit commands of one revision. The server gives a token to each directory and file that it opens,
// and names it again with each command.
type raEditor struct {
	editor
	s        *Session
	wire     *wire
	dirs     []string // tokens of the open directories
	file     string   // token of the open file
	finished bool
}

// command reads one command and does it.
func (e *raEditor) command() error {
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
var editCommands = map[string]func(*raEditor) error{
	"target-rev":       (*raEditor).pass,
	"open-root":        (*raEditor).openRoot,
	"delete-entry":     (*raEditor).deleteEntry,
	"add-dir":          (*raEditor).addDir,
	"open-dir":         (*raEditor).openDir,
	"change-dir-prop":  (*raEditor).changeDirProp,
	"close-dir":        (*raEditor).closeDir,
	"absent-dir":       (*raEditor).pass,
	"add-file":         (*raEditor).addFile,
	"open-file":        (*raEditor).openFile,
	"apply-textdelta":  (*raEditor).applyTextDelta,
	"textdelta-chunk":  (*raEditor).textDeltaChunk,
	"textdelta-end":    (*raEditor).textDeltaEnd,
	"change-file-prop": (*raEditor).changeFileProp,
	"close-file":       (*raEditor).closeFile,
	"absent-file":      (*raEditor).pass,
	"close-edit":       (*raEditor).pass,
	"abort-edit":       (*raEditor).abort,
	"finish-replay":    (*raEditor).finish,
}

func (e *raEditor) pass() error { return nil }

// abort reads why the server gives a revision up.
func (e *raEditor) abort() error {
	if err := e.wire.close(); err != nil {
		return err
	}
	if err := e.wire.close(); err != nil {
		return err
	}
	// The server says why only after this, as if it had been asked to commit.
	if err := e.wire.send("( success ( ) )"); err != nil {
		return err
	}
	if err := e.s.response(func() error { return nil }); err != nil {
		return err
	}
	return malformed("it gave a revision up and did not say why")
}

func (e *raEditor) finish() error {
	e.finished = true
	return e.editor.finish()
}

// token reads the name that the server gives to an open directory or file.
func (e *raEditor) token() (string, error) {
	token, err := e.wire.short(maxToken)
	return string(token), err
}

// child reads the path of something and the token of its directory, which must be the innermost.
func (e *raEditor) child() (string, error) {
	path, err := e.wire.path()
	if err != nil {
		return "", err
	}
	return path, e.within(path)
}

func (e *raEditor) within(path string) error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) == 0 || e.dirs[len(e.dirs)-1] != token {
		return malformedf("%q is not in the directory that is open", path)
	}
	return nil
}

func (e *raEditor) openRoot() error {
	if err := e.wire.optional(func() error { return nil }); err != nil {
		return err
	}
	return e.enter(e.editor.openRoot)
}

// enter opens a directory whose token comes now.
func (e *raEditor) enter(open func() error) error {
	token, err := e.token()
	if err != nil {
		return err
	}
	e.dirs = append(e.dirs, token)
	return open()
}

func (e *raEditor) deleteEntry() error {
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
	return e.editor.deleteEntry(path)
}

func (e *raEditor) addDir() error {
	path, err := e.child()
	if err != nil {
		return err
	}
	return e.enter(func() error {
		from, err := e.copySource()
		if err != nil {
			return err
		}
		return e.editor.addDir(path, from)
	})
}

func (e *raEditor) openDir() error {
	path, err := e.child()
	if err != nil {
		return err
	}
	return e.enter(func() error { return e.editor.openDir(path) })
}

// copySource reads where an addition is copied from, nil when it is not.
func (e *raEditor) copySource() (from *copySource, err error) {
	err = e.wire.optional(func() error {
		path, err := e.wire.path()
		if err != nil {
			return err
		}
		rev, err := e.wire.number()
		from = &copySource{path, rev}
		return err
	})
	return from, err
}

func (e *raEditor) changeDirProp() error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) == 0 || e.dirs[len(e.dirs)-1] != token {
		return malformed("a property came for a directory that is not open")
	}
	p, err := e.changedProp()
	if err != nil {
		return err
	}
	return e.dirProp(p)
}

// changedProp reads the new value of a property.
func (e *raEditor) changedProp() (origin.Prop, error) {
	p, err := e.wire.prop()
	if err != nil {
		return p, err
	}
	err = e.wire.optional(func() (err error) {
		p.Value, err = e.wire.bytes(maxPropsBytes)
		return err
	})
	return p, err
}

func (e *raEditor) closeDir() error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if len(e.dirs) == 0 || e.dirs[len(e.dirs)-1] != token {
		return malformed("a directory was closed that is not open")
	}
	e.dirs = e.dirs[:len(e.dirs)-1]
	return e.editor.closeDir()
}

func (e *raEditor) addFile() error {
	path, err := e.startFile()
	if err != nil {
		return err
	}
	from, err := e.copySource()
	if err != nil {
		return err
	}
	return e.editor.addFile(path, from)
}

func (e *raEditor) openFile() error {
	path, err := e.startFile()
	if err != nil {
		return err
	}
	return e.editor.openFile(path)
}

func (e *raEditor) startFile() (path string, err error) {
	if path, err = e.child(); err != nil {
		return "", err
	}
	e.file, err = e.token()
	return path, err
}

// inFile reads a token that must be that of the open file.
func (e *raEditor) inFile() error {
	token, err := e.token()
	if err != nil {
		return err
	}
	if e.editor.file == nil || e.file != token {
		return malformed("an edit came for a file that is not open")
	}
	return nil
}

func (e *raEditor) applyTextDelta() error {
	if err := e.inFile(); err != nil {
		return err
	}
	base, err := e.wire.optionalMD5()
	if err != nil {
		return err
	}
	return e.startText(base)
}

func (e *raEditor) textDeltaChunk() error {
	if err := e.inFile(); err != nil {
		return err
	}
	if err := e.inText(); err != nil {
		return err
	}
	return e.wire.copyString(e.spool)
}

func (e *raEditor) textDeltaEnd() error {
	if err := e.inFile(); err != nil {
		return err
	}
	return e.endText()
}

func (e *raEditor) changeFileProp() error {
	if err := e.inFile(); err != nil {
		return err
	}
	p, err := e.changedProp()
	if err != nil {
		return err
	}
	return e.fileProp(p)
}

func (e *raEditor) closeFile() error {
	if err := e.inFile(); err != nil {
		return err
	}
	md5, err := e.wire.optionalMD5()
	if err != nil {
		return err
	}
	return e.editor.closeFile(md5)
}
