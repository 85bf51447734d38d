package svn

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"

	"gantry/internal/origin"
)

// Replay implements connection.
func (s *davSession) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	return s.do(ctx, "svn.Replay", func() error {
		for first = max(first, 1); first <= last; first += logStep {
			end := min(last, first+logStep-1)
			logged, err := s.log(ctx, first, end)
			if err != nil {
				return err
			}
			for rev := first; rev <= end; rev++ {
				if err := s.replay(ctx, rev, logged, sink); err != nil {
					return fmt.Errorf("r%d: %w", rev, err)
				}
			}
		}
		return nil
	})
}

const logStep = 256 // revisions whose properties are asked for at once

// revisionProps are what is known of the properties of revisions.
type revisionProps map[int64][]origin.Prop

// log asks for the properties of a range of revisions, which costs one request. Servers that do not tell all of them in
// that way, or not to this user, are asked for each revision instead.
func (s *davSession) log(ctx context.Context, first, last int64) (revisionProps, error) {
	if s.noLog || !s.features["log-revprops"] {
		return nil, nil
	}
	at, err := s.inTree(ctx, "", s.info.Head)
	if err != nil {
		return nil, err
	}
	logged := revisionProps{}
	err = s.ask(ctx, davRequest{
		method: "REPORT", path: at,
		body: fmt.Sprintf(`<S:log-report xmlns:S="svn:"><S:start-revision>%d</S:start-revision><S:end-revision>%d</S:end-revision>`+
			`<S:all-revprops/><S:encode-binary-props/><S:path></S:path></S:log-report>`, first, last),
	}, func(_ http.Header, x *xmlReader) error { return logged.read(x) })
	var refused *failure
	if errors.As(err, &refused) && !errors.Is(refused, origin.ErrTemporary) {
		s.opt.Log.Info("the server does not show the log of the whole repository, so revisions are asked for one by one", "error", err)
		s.noLog = true
		return nil, nil
	}
	return logged, err
}

// read reads a S:log-report.
func (l revisionProps) read(x *xmlReader) error {
	if err := x.root(xmlName{nsSVN, "log-report"}); err != nil {
		return err
	}
	var size int64
	return x.each(func(name xmlName) error {
		if name != (xmlName{nsSVN, "log-item"}) {
			return nil
		}
		if len(l) == logStep {
			return malformed("it tells of more revisions than it was asked for")
		}
		rev := int64(-1)
		props := []origin.Prop{}
		err := x.each(func(name xmlName) error {
			if name == (xmlName{nsDAV, "version-name"}) {
				text, err := x.text(maxToken)
				if err != nil {
					return err
				}
				if rev, err = strconv.ParseInt(string(text), 10, 64); err != nil {
					return malformedf("%q is no revision", text)
				}
				return nil
			}
			p := origin.Prop{Name: loggedProps[name]}
			if name == (xmlName{nsSVN, "revprop"}) {
				p.Name, _ = x.attr("name")
			}
			if p.Name == "" {
				return nil
			}
			var err error
			if p.Value, err = readValue(x); err != nil {
				return err
			}
			size, err = addPropSize(size, p)
			props = append(props, p)
			return err
		})
		l[rev] = props
		return err
	})
}

// loggedProps are the properties that have elements of their own in a log.
var loggedProps = map[xmlName]string{
	{nsDAV, "comment"}:             "svn:log",
	{nsDAV, "creator-displayname"}: "svn:author",
	{nsSVN, "date"}:                "svn:date",
}

// revprops asks for the properties of one revision.
func (s *davSession) revprops(ctx context.Context, rev int64) (props []origin.Prop, err error) {
	r := davRequest{path: s.stubs.baseline, depth: "0", label: strconv.FormatInt(rev, 10)}
	if s.stubs.rev != "" {
		r = davRequest{path: path.Join(s.stubs.rev, r.label), depth: "0"}
	}
	err = s.propfind(ctx, r, nil, func(_ string, all []davProp) error {
		for _, p := range all {
			switch p.name.space {
			case nsProp:
				props = append(props, origin.Prop{Name: "svn:" + p.name.local, Value: p.value})
			case nsCustom:
				props = append(props, origin.Prop{Name: p.name.local, Value: p.value})
			}
		}
		return nil
	})
	return props, err
}

// replay sends one revision to the sink as its edits come.
func (s *davSession) replay(ctx context.Context, rev int64, logged revisionProps, sink origin.Sink) error {
	props, known := logged[rev]
	if !known {
		var err error
		if props, err = s.revprops(ctx, rev); err != nil {
			return err
		}
	}
	r := davRequest{
		method: "REPORT", path: s.here, accept: "svndiff2, svndiff1;q=0.9, svndiff;q=0.8",
		body: fmt.Sprintf(`<S:replay-report xmlns:S="svn:"><S:revision>%d</S:revision><S:low-water-mark>0</S:low-water-mark>`+
			`<S:send-deltas>1</S:send-deltas></S:replay-report>`, rev),
	}
	return s.ask(ctx, r, func(_ http.Header, x *xmlReader) error {
		e := &davEditor{editor: editor{rev: rev, root: s.info.Path, spool: &s.spool, out: emitter{sink: sink}}, x: x}
		return e.edit(newRevision(rev, props))
	})
}

// davEditor reads the edits of one revision. Directories come as elements that open and close them, files and their texts
// likewise.
type davEditor struct {
	editor
	x *xmlReader
}

func (e *davEditor) edit(rev *origin.Revision) error {
	if err := e.x.root(xmlName{nsSVN, "editor-report"}); err != nil {
		return err
	}
	if err := e.out.begin(rev); err != nil {
		return err
	}
	err := e.x.each(func(name xmlName) error {
		do, known := davEdits[name.local]
		if !known || name.space != nsSVN {
			return malformedf("the edit <%s> is not known", name)
		}
		return do(e)
	})
	if err != nil {
		return err
	}
	if err := e.finish(); err != nil {
		return err
	}
	return e.out.end()
}

var davEdits = map[string]func(*davEditor) error{
	"target-revision":  (*davEditor).target,
	"open-root":        func(e *davEditor) error { return e.openRoot() },
	"delete-entry":     (*davEditor).delete,
	"add-directory":    (*davEditor).addDirectory,
	"open-directory":   (*davEditor).openDirectory,
	"change-dir-prop":  (*davEditor).changeDirProp,
	"close-directory":  func(e *davEditor) error { return e.closeDir() },
	"absent-directory": func(*davEditor) error { return nil },
	"add-file":         (*davEditor).addFile,
	"open-file":        (*davEditor).openFile,
	"change-file-prop": (*davEditor).changeFileProp,
	"apply-textdelta":  (*davEditor).applyTextDelta,
	"close-file":       (*davEditor).closeFile,
	"absent-file":      func(*davEditor) error { return nil },
}

// target makes sure that the answer is about the revision that was asked for, whatever is between here and the server.
func (e *davEditor) target() error {
	if rev, _ := e.x.attr("rev"); rev != strconv.FormatInt(e.rev, 10) {
		return malformedf("it sent r%.20s", rev)
	}
	return nil
}

// path is the path that an edit is about.
func (e *davEditor) path(attr string) (string, error) {
	name, given := e.x.attr(attr)
	if !given {
		return "", malformedf("an edit has no %s", attr)
	}
	path, err := cleanPath(name)
	if err != nil {
		return "", malformed(err.Error())
	}
	return path, nil
}

// addition reads what is added and where it is copied from, nil when it is not.
func (e *davEditor) addition() (name string, from *copySource, err error) {
	if name, err = e.path("name"); err != nil {
		return "", nil, err
	}
	if _, copied := e.x.attr("copyfrom-path"); !copied {
		return name, nil, nil
	}
	from = &copySource{}
	if from.path, err = e.path("copyfrom-path"); err != nil {
		return "", nil, err
	}
	rev, _ := e.x.attr("copyfrom-rev")
	if from.rev, err = strconv.ParseInt(rev, 10, 64); err != nil || from.rev < 0 {
		return "", nil, malformedf("%q is copied from the revision %.20q", name, rev)
	}
	return name, from, nil
}

func (e *davEditor) delete() error {
	name, err := e.path("name")
	if err != nil {
		return err
	}
	return e.deleteEntry(name)
}

func (e *davEditor) addDirectory() error {
	name, from, err := e.addition()
	if err != nil {
		return err
	}
	return e.addDir(name, from)
}

func (e *davEditor) openDirectory() error {
	name, err := e.path("name")
	if err != nil {
		return err
	}
	return e.openDir(name)
}

func (e *davEditor) addFile() error {
	name, from, err := e.addition()
	if err != nil {
		return err
	}
	return e.editor.addFile(name, from)
}

func (e *davEditor) openFile() error {
	name, err := e.path("name")
	if err != nil {
		return err
	}
	return e.editor.openFile(name)
}

func (e *davEditor) changeDirProp() error {
	p, err := e.changedProp()
	if err != nil {
		return err
	}
	return e.dirProp(p)
}

func (e *davEditor) changeFileProp() error {
	p, err := e.changedProp()
	if err != nil {
		return err
	}
	return e.fileProp(p)
}

// changedProp reads the new value of a property.
func (e *davEditor) changedProp() (p origin.Prop, err error) {
	p.Name, _ = e.x.attr("name")
	if p.Name == "" || len(p.Name) > maxPropName {
		return p, malformed("a property has no name, or one without end")
	}
	if _, deleted := e.x.attr("del"); deleted {
		return p, nil
	}
	p.Value, err = e.x.base64Text(maxPropsBytes)
	return p, err
}

func (e *davEditor) applyTextDelta() error {
	base, err := e.md5()
	if err != nil {
		return err
	}
	if err := e.startText(base); err != nil {
		return err
	}
	decoder := unbase64{out: e.spool}
	if err := e.x.copyText(&decoder); err != nil {
		return err
	}
	if err := decoder.end(); err != nil {
		return err
	}
	return e.endText()
}

func (e *davEditor) closeFile() error {
	sum, err := e.md5()
	if err != nil {
		return err
	}
	return e.editor.closeFile(sum)
}

// md5 reads an optional checksum.
func (e *davEditor) md5() ([]byte, error) {
	text, given := e.x.attr("checksum")
	if !given {
		return nil, nil
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != 16 {
		return nil, malformedf("%.100q is no checksum", text)
	}
	return sum, nil
}
