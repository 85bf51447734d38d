package convert

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"sync"

	"gantry/internal/delta"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// readManifest works off a revision of a manifest: the text is kept, and what it changes goes to the spool.
func (w *laneWorker) readManifest(r *revlog.Revision) error {
	dir := w.lane.path
	if w.graph.keyed.Has(key(manifestTree, dir, r.Node)) {
		return nil // sent again
	}
	base, err := w.keyedText(manifestText, dir, r.Base)
	if err != nil {
		return err
	}
	text, err := w.chain.apply(r, base)
	if err != nil {
		return err
	}
	if err := w.putManifest(dir, r, base, text); err != nil {
		return err
	}
	against, patch := r.Base, delta.Patch(r.Patch)
	if held := w.chain.find(r.P1); r.Base.IsNull() && held != nil {
		// A whole text differs in little from the one before, and directories that stay need not be made again.
		against, base = r.P1, held.text
		patch = w.trim(base, text)
	}
	if err := w.edits.write(r, against, base, text, patch); err != nil {
		return err
	}
	w.chain.add(link{node: r.Node, text: text})
	return nil
}

func (w *laneWorker) putManifest(dir string, r *revlog.Revision, base, text []byte) error {
	var baseKey pack.ID
	var gitDelta []byte
	if !r.Base.IsNull() && len(text) > 0 {
		baseKey = key(manifestText, dir, r.Base)
		w.git.Reset(int64(len(base)))
		delta.Patch(r.Patch).AppendGit(w.git, base, 0, 0)
		gitDelta = w.git.Finish()
	}
	return w.texts.PutKeyed(key(manifestText, dir, r.Node), baseKey, gitDelta, text)
}

// trim makes a patch of what is between the ends that two texts have in common.
func (w *laneWorker) trim(base, text []byte) delta.Patch {
	head, tail := commonEnds(base, text)
	patch := binary.BigEndian.AppendUint32(w.scratch[:0], uint32(head))
	patch = binary.BigEndian.AppendUint32(patch, uint32(len(base)-tail))
	patch = binary.BigEndian.AppendUint32(patch, uint32(len(text)-tail-head))
	w.scratch = append(patch, text[head:len(text)-tail]...)
	return w.scratch
}

// commonEnds returns how many bytes two texts have in common at their beginning, and at their end behind these.
func commonEnds(a, b []byte) (head, tail int) {
	shorter := min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// spool is a file of edits. Its name is taken away at once, so that nothing is left of it however the process ends.
type spool struct {
	file *os.File
	mu   sync.Mutex
	size int64
}

func newSpool(dir string) (*spool, error) {
	file, err := os.CreateTemp(dir, "edits-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return &spool{file: file}, nil
}

// append writes a piece at the end.
func (s *spool) append(p []byte) (extent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := extent{s.size, int64(len(p))}
	_, err := s.file.WriteAt(p, s.size)
	s.size += int64(len(p))
	return e, err
}

// extent is a piece of a spool.
type extent struct{ offset, length int64 }

// manifestEdits is where a spool has what the manifests of one directory change, in their order.
type manifestEdits struct {
	dir    string // "" is the root
	pieces []extent
}

// reader reads all of it.
func (m *manifestEdits) reader(s *spool) io.Reader {
	pieces := make([]io.Reader, len(m.pieces))
	for i, e := range m.pieces {
		pieces[i] = io.NewSectionReader(s.file, e.offset, e.length)
	}
	return io.MultiReader(pieces...)
}

// editWriter writes the edits of one lane: for each manifest a frame of its length, its node, that of what it changes, the
// changeset that brought it, and lines. A line is that of a manifest with the node in 20 bytes and always a flag behind
// it: that of the manifest or editFile, with replacesTree where the path was a directory of a tree manifest, or editRemoved
// where it is gone.
type editWriter struct {
	spool *spool
	to    *manifestEdits
	buf   []byte
	lines []byte
}

const (
	editRemoved  = '-'
	editFile     = ' '
	replacesTree = 0x80

	spoolPiece = 256 << 10
	maxPath    = 32 << 10 // bytes: directories are walked by recursion
)

func (e *editWriter) begin(s *spool, to *manifestEdits) { e.spool, e.to, e.buf = s, to, e.buf[:0] }

func (e *editWriter) flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	piece, err := e.spool.append(e.buf)
	e.to.pieces = append(e.to.pieces, piece)
	e.buf = e.buf[:0]
	return err
}

// write writes the edits that make text of base, as a patch that was checked tells. Hunks need not begin and end where
// lines do: all lines that they touch, before and after, are compared.
func (e *editWriter) write(r *revlog.Revision, against revlog.Node, base, text []byte, patch delta.Patch) error {
	e.lines = e.lines[:0]
	shift := 0        // from a place in base to the same one in text
	from, to := -1, 0 // the lines of base that hunks touched
	before := 0       // shift at from
	for h := range patch.Hunks() {
		start, end := lineStart(base, int(h.Start)), lineEnd(base, int(h.End))
		if from >= 0 && start >= to {
			if err := e.compare(base[from:to], text, from+before, to+shift); err != nil {
				return err
			}
			from = -1
		}
		if from < 0 {
			from, before = start, shift
		}
		to = max(to, end)
		shift += len(h.New) - int(h.End-h.Start)
		if at := to + shift; to < len(base) && at > 0 && text[at-1] != '\n' { // the next line has become a part of this one
			to = lineEnd(base, to+1)
		}
	}
	if from >= 0 {
		if err := e.compare(base[from:to], text, from+before, to+shift); err != nil {
			return err
		}
	}
	e.buf = binary.AppendUvarint(e.buf, uint64(3*len(r.Node)+len(e.lines)))
	e.buf = append(append(append(e.buf, r.Node[:]...), against[:]...), r.Link[:]...)
	e.buf = append(e.buf, e.lines...)
	if len(e.buf) < spoolPiece {
		return nil
	}
	return e.flush()
}

// lineStart and lineEnd widen a place in a text to where its line begins and ends.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text []byte, at int) int {
	if at == 0 || at == len(text) || text[at-1] == '\n' {
		return at
	}
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// compare writes what makes the lines of text between two places of the old ones. A manifest whose lines are not in order
// is refused: others could read something else in it.
func (e *editWriter) compare(old, text []byte, from, to int) error {
	around := text[lineStart(text, max(from-1, 0)):lineEnd(text, min(to+1, len(text)))]
	for entry, err := range revlog.Entries(around) {
		if err != nil {
			return corruptBy(err)
		}
		if len(entry.Path) > maxPath {
			return corrupt("a path of %d bytes, %d are the most", len(entry.Path), maxPath)
		}
	}
	fresh := text[from:to]
	for len(old) > 0 || len(fresh) > 0 {
		var before, after revlog.Entry
		var restOld, restFresh []byte
		if len(old) > 0 {
			before, restOld, _ = revlog.NextEntry(old) // it was fresh once
		}
		if len(fresh) > 0 {
			after, restFresh, _ = revlog.NextEntry(fresh)
		}
		order := bytes.Compare(before.Path, after.Path)
		switch {
		case len(fresh) == 0 || len(old) > 0 && order < 0:
			e.line(before, editRemoved)
			old = restOld
		case len(old) == 0 || order > 0:
			e.line(after, cmp.Or(after.Flag, editFile))
			fresh = restFresh
		default:
			flag := cmp.Or(after.Flag, editFile)
			if before.Flag == revlog.Tree && after.Flag != revlog.Tree {
				flag |= replacesTree
			}
			if before.Node != after.Node || before.Flag != after.Flag {
				e.line(after, flag)
			}
			old, fresh = restOld, restFresh
		}
	}
	return nil
}

func (e *editWriter) line(entry revlog.Entry, flag byte) {
	e.lines = append(append(e.lines, entry.Path...), 0)
	e.lines = append(append(e.lines, entry.Node[:]...), flag)
}
