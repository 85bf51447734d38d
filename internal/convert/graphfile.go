package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

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

// fileBase is the revision that a file's patch is against.
type fileBase struct {
	link
	size   int64 // of the text
	stored bool  // the text is in the store only
}

// base finds what a file's patch is against.
func (w *laneWorker) base(node revlog.Node) (b fileBase, err error) {
	if node.IsNull() {
		return b, nil
	}
	if held := w.chain.find(node); held != nil {
		return fileBase{link: *held, size: int64(len(held.text))}, nil
	}
	f, err := w.graph.keyed.file(w.lane.path, node)
	if errors.Is(err, pack.ErrMissing) {
		err = missingBase(node)
	}
	b = fileBase{link: link{node, f.rest, f}, size: int64(len(f.rest)), stored: f.kind == plainFile}
	if err == nil && b.stored {
		_, size, statErr := w.graph.store.Stat(f.blob)
		b.size, err = b.size+size, statErr
	}
	return b, err
}

// load brings the text into memory.
func (b *fileBase) load(store *pack.Store) error {
	if !b.stored {
		return nil
	}
	_, content, err := store.Get(b.file.blob)
	if len(b.file.rest) > 0 {
		content = append(bytes.Clone(b.file.rest), content...)
	}
	b.text, b.stored = content, false
	return err
}

// open reads the text from where it is.
func (b *fileBase) open(store *pack.Store) (io.ReadCloser, error) {
	if !b.stored {
		return io.NopCloser(bytes.NewReader(b.text)), nil
	}
	_, _, content, err := store.Open(b.file.blob)
	if err != nil || len(b.file.rest) == 0 {
		return content, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(b.file.rest), content), content}, nil
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
	size, err := delta.Patch(r.Patch).Check(base.size, delta.MaxText)
	if err != nil {
		return corruptBy(err)
	}
	var f fileText
	if streams := r.Flags&(revlog.Censored|revlog.External) == 0 && max(base.size, size) > maxInMemory; streams {
		f, err = w.streamFile(r, &base, size)
	} else if err = base.load(w.graph.store); err == nil {
		f, err = w.putFile(r, &base)
	}
	if err != nil {
		return err
	}
	w.scratch = append(append(append(w.scratch[:0], byte(f.kind)), f.blob[:]...), f.rest...)
	return w.texts.PutKeyed(id, pack.Zero, nil, w.scratch)
}

// putFile stores a revision's content.
func (w *laneWorker) putFile(r *revlog.Revision, base *fileBase) (f fileText, err error) {
	text, err := w.chain.apply(r, base.text)
	if err != nil {
		return f, err
	}
	counts := Counts{Files: 1}
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
		if isStandin(w.lane.path) {
			w.graph.contents.standin(w.lane.path, content, r.Link)
		}
		counts.Bytes, counts.Verified = int64(len(content)), 1
	}
	w.chain.add(link{r.Node, text, f})
	w.graph.tally.add(counts)
	return f, err
}

// putContent stores a text without its metadata as a blob, by the patch that it came as where that is possible.
func (w *laneWorker) putContent(r *revlog.Revision, base *fileBase, text, content []byte) (pack.ID, error) {
	if r.Base.IsNull() || base.file.kind != plainFile || len(content) == 0 {
		return w.objects.Put(pack.Blob, content)
	}
	baseCut := len(base.file.rest)
	w.git.Reset(int64(len(base.text) - baseCut))
	delta.Patch(r.Patch).AppendGit(w.git, base.text, int64(baseCut), int64(len(text)-len(content)))
	return w.objects.PutDelta(pack.Blob, base.file.blob, w.git.Finish(), content)
}

// streamFile stores the content of a revision that is not held in memory, nor is its base.
func (w *laneWorker) streamFile(r *revlog.Revision, base *fileBase, size int64) (f fileText, err error) {
	before, err := base.open(w.graph.store)
	if err != nil {
		return f, err
	}
	defer before.Close()
	sum := revlog.NewSum(r.P1, r.P2)
	text := bufio.NewReaderSize(io.TeeReader(delta.Patch(r.Patch).Reader(before), sum), maxMetadata)
	head, err := text.Peek(maxMetadata)
	if err != nil && !errors.Is(err, io.EOF) {
		return f, err
	}
	header, _ := revlog.SplitMetadata(head)
	f.rest = bytes.Clone(header)
	if _, err := text.Discard(len(header)); err != nil {
		return f, err
	}
	size -= int64(len(header))
	if f.blob, err = w.graph.store.PutStream(pack.Blob, size, text); err != nil {
		return f, err
	}
	if node := sum.Node(); node != r.Node { // what is stored does no harm
		return f, notOf(node)
	}
	w.foundLarge(r, f.blob, size)
	w.graph.tally.add(Counts{Files: 1, Bytes: size, Verified: 1})
	return f, nil
}

// maxMetadata is how much of a text that is not held in memory may be metadata.
const maxMetadata = 64 << 10

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
