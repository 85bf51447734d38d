package convert

import (
	"bytes"
	"errors"
	"fmt"

	"gantry/internal/delta"
	"gantry/internal/history"
	"gantry/internal/lfs"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// fileText is what a revision of a file became.
type fileText struct {
	blob pack.ID
	kind fileKind
	rest []byte // in front of the blob's bytes, or the whole text
}

// fileKind says how the text of a revision follows from what is kept of it.
type fileKind byte

const (
	plainFile    fileKind = iota // the rest, which is metadata, and the blob
	censoredFile                 // the rest: the blob was made of something else
	pointerFile                  // likewise; the blob is a pointer to an object of Git LFS
)

// file returns what is kept of a file's revision.
func (k *keyed) file(path string, node revlog.Node) (f fileText, err error) {
	_, data, err := k.Get(key(fileRevision, path, node))
	if err != nil {
		return f, err
	}
	if len(data) < 1+len(f.blob) {
		return f, fmt.Errorf("%w: %d bytes of a file", pack.ErrCorrupt, len(data))
	}
	return fileText{pack.ID(data[1:]), fileKind(data[0]), data[1+len(f.blob):]}, nil
}

// base returns the text that a file's patch is against, with what it became.
func (w *laneWorker) base(node revlog.Node) (link, error) {
	if node.IsNull() {
		return link{}, nil
	}
	if held := w.chain.find(node); held != nil {
		return *held, nil
	}
	f, err := w.graph.keyed.file(w.lane.path, node)
	if errors.Is(err, pack.ErrMissing) {
		err = missingBase(node)
	}
	if err != nil || f.kind != plainFile {
		return link{node: node, text: f.rest, file: f}, err
	}
	_, content, err := w.graph.store.Get(f.blob)
	if err == nil && len(f.rest) > 0 {
		content = append(bytes.Clone(f.rest), content...)
	}
	return link{node: node, text: content, file: f}, err
}

// readFile works off a revision of a file.
func (w *laneWorker) readFile(r *revlog.Revision) error {
	path, id := w.lane.path, key(fileRevision, w.lane.path, r.Node)
	if w.graph.keyed.Has(id) { // sent again
		f, err := w.graph.keyed.file(path, r.Node)
		if err != nil {
			return err
		}
		return w.foundAgain(r, f)
	}
	base, err := w.base(r.Base)
	if err != nil {
		return err
	}
	text, err := w.chain.apply(r, base.text)
	if err != nil {
		return err
	}
	counts := Counts{Files: 1}
	var f fileText
	switch {
	case r.Flags&revlog.Censored != 0:
		f = fileText{kind: censoredFile, rest: text}
		f.blob, err = w.objects.Put(pack.Blob, nil)
		counts.Censored, counts.Unchecked = 1, 1
	case r.Flags&revlog.External != 0:
		content := w.pointer(r, text)
		f = fileText{kind: pointerFile, rest: text}
		f.blob, err = w.objects.Put(pack.Blob, content)
		counts.Bytes, counts.Pointers, counts.Unchecked = int64(len(content)), 1, 1
	default:
		var content []byte
		f.rest, content = revlog.SplitMetadata(text)
		f.blob, err = w.putContent(r, base, text, content)
		w.foundLarge(r, f.blob, int64(len(content)))
		if isStandin(path) {
			w.graph.contents.standin(path, content, r.Link)
		}
		counts.Bytes, counts.Verified = int64(len(content)), 1
	}
	if err != nil {
		return err
	}
	w.scratch = append(append(append(w.scratch[:0], byte(f.kind)), f.blob[:]...), f.rest...)
	if err := w.texts.PutKeyed(id, pack.Zero, nil, w.scratch); err != nil {
		return err
	}
	w.chain.add(link{r.Node, text, f})
	w.graph.tally.add(counts)
	return nil
}

// putContent stores a text without its metadata as a blob, by the patch that it came as where that is possible.
func (w *laneWorker) putContent(r *revlog.Revision, base link, text, content []byte) (pack.ID, error) {
	if r.Base.IsNull() || base.file.kind != plainFile || len(content) == 0 {
		return w.objects.Put(pack.Blob, content)
	}
	baseCut := len(base.file.rest)
	w.git.Reset(int64(len(base.text) - baseCut))
	delta.Patch(r.Patch).AppendGit(w.git, base.text, int64(baseCut), int64(len(text)-len(content)))
	return w.objects.PutDelta(pack.Blob, base.file.blob, w.git.Finish(), content)
}

func (w *laneWorker) foundLarge(r *revlog.Revision, blob pack.ID, size int64) {
	if size > w.graph.opt.LargeFile {
		w.graph.tally.found(r.Link, history.LargeFile{Path: w.lane.path, OID: blob, Size: size})
	}
}

// foundAgain tells of a revision that was read before what its changeset, which has no record, is to have.
func (w *laneWorker) foundAgain(r *revlog.Revision, f fileText) error {
	switch f.kind {
	case pointerFile:
		w.pointer(r, f.rest)
	case plainFile:
		_, size, err := w.graph.store.Stat(f.blob)
		if err != nil {
			return err
		}
		w.foundLarge(r, f.blob, size)
		if isStandin(w.lane.path) && size <= maxStandin {
			_, content, err := w.graph.store.Get(f.blob)
			if err != nil {
				return err
			}
			w.graph.contents.standin(w.lane.path, content, r.Link)
		}
	}
	return nil
}

// pointer makes Git's pointer to a large file of Mercurial's, which has further keys, and has its content brought. What is
// none stays as it is.
func (w *laneWorker) pointer(r *revlog.Revision, text []byte) []byte {
	_, content := revlog.SplitMetadata(text)
	p, ok := lfs.ParsePointer(content)
	if !ok {
		return content
	}
	w.graph.contents.pointer(w.lane.path, p, r.Link)
	return p.Text()
}
