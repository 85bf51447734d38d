package git

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// Rewritten is the result of a rewrite.
type Rewritten struct {
	Refs       []gitdir.Ref        // every ref of the repository, by its new id
	Commits    map[pack.ID]pack.ID // commits that changed, old to new
	Signatures int64               // signatures that were dropped, because what they signed has changed
}

// Rewrite changes the identities of authors, committers and taggers of all history at dir: identity tells the new one for
// each that it wants changed. It adds new objects to the repository and moves none of its refs. Commits without a change
// in themselves or behind them keep their ids.
func Rewrite(ctx context.Context, g *gitdir.Git, dir string, identity func(Identity) (Identity, bool)) (result *Rewritten, err error) {
	refs, err := g.Refs(ctx, dir)
	if err != nil {
		return nil, err
	}
	spool, err := newSpool(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := spool.close(); err == nil {
			err = closeErr
		}
	}()
	w := &rewriter{identity: identity, spool: spool, commits: make(map[pack.ID]pack.ID), tags: make(map[pack.ID]pack.ID)}
	if err := eachCommit(ctx, g, dir, w.commit); err != nil {
		return nil, err
	}
	texts, err := readTags(ctx, g, dir)
	if err != nil {
		return nil, err
	}
	for i := range refs {
		if refs[i].ID, err = w.tip(texts, refs[i].ID); err != nil {
			return nil, fmt.Errorf("git: rewrite %s: %w", refs[i].Name, err)
		}
	}
	if spool.count > 0 {
		if err := g.IndexPack(ctx, dir, spool.writePack); err != nil {
			return nil, fmt.Errorf("git: keep rewritten commits: %w", err)
		}
	}
	return &Rewritten{Refs: refs, Commits: w.commits, Signatures: w.signatures}, nil
}

// rewriter takes commits in order, parents first, then tags.
type rewriter struct {
	identity      func(Identity) (Identity, bool)
	spool         *spool
	commits, tags map[pack.ID]pack.ID // old to new, those that changed
	signatures    int64
}

func (w *rewriter) commit(id pack.ID, data []byte) error {
	text, err := w.rewrite(data)
	if text != nil {
		w.commits[id], err = w.spool.add(pack.Commit, text)
	}
	if err != nil {
		return fmt.Errorf("git: rewrite commit %s: %w", id, err)
	}
	return nil
}

// tip returns the new id of what a ref names. An annotated tag is rewritten, after what it tags.
func (w *rewriter) tip(texts map[pack.ID][]byte, id pack.ID) (pack.ID, error) {
	data, ok := texts[id]
	if _, done := w.tags[id]; done || !ok {
		return w.moved(id), nil
	}
	target, _, err := tagged(data)
	if err != nil {
		return id, err
	}
	if _, err := w.tip(texts, target); err != nil { // ends, because no object contains its own id
		return id, err
	}
	text, err := w.rewrite(data)
	if err != nil || text == nil {
		return id, err
	}
	if signature := bytes.Index(text, []byte("\n-----BEGIN ")); signature >= 0 {
		text = text[:signature+1]
		w.signatures++
	}
	w.tags[id], err = w.spool.add(pack.Tag, text)
	return w.tags[id], err
}

// moved is the new id of a commit or tag.
func (w *rewriter) moved(id pack.ID) pack.ID {
	if to, ok := w.commits[id]; ok {
		return to
	}
	if to, ok := w.tags[id]; ok {
		return to
	}
	return id
}

// rewrite returns the new text of a commit or tag, nil when nothing in it changes. The message stays as it is, and so do
// headers that are not known here; a commit's signature would be wrong and goes.
func (w *rewriter) rewrite(data []byte) ([]byte, error) {
	end := bytes.Index(data, []byte("\n\n"))
	if end < 0 {
		end = len(data)
	}
	encoding, _ := headerValue(data, "encoding")
	out := make([]byte, 0, len(data)+64)
	changed, inSignature, signed := false, false, false
	for line := range bytes.Lines(data[:end]) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if inSignature && bytes.HasPrefix(line, []byte{' '}) {
			continue
		}
		name, value, _ := strings.Cut(string(line), " ")
		inSignature = strings.HasPrefix(name, "gpgsig")
		switch {
		case inSignature:
			signed = true
			continue
		case name == "parent" || name == "object":
			id, err := pack.ParseID(value)
			if err != nil {
				return nil, err
			}
			if to := w.moved(id); to != id {
				line, changed = []byte(name+" "+to.String()), true
			}
		case name == "author" || name == "committer" || name == "tagger":
			id, date := parseIdentity([]byte(value))
			if to, ok := w.identity(id); ok && to != id {
				text, err := encodeIdentity(to, string(encoding))
				if err != nil {
					return nil, err
				}
				if len(date) == 0 {
					date = []byte(" 0 +0000")
				}
				line, changed = append([]byte(name+" "+text), date...), true
			}
		}
		out = append(append(out, line...), '\n')
	}
	if !changed {
		return nil, nil
	}
	if signed {
		w.signatures++
	}
	if end < len(data) {
		out = append(out, data[end+1:]...)
	}
	return out, nil
}

// encodeIdentity writes "name <email>" in the encoding that a commit declares, UTF-8 where that cannot hold it.
func encodeIdentity(id Identity, encoding string) (string, error) {
	if strings.ContainsAny(id.Name+id.Email, "<>\n\x00") {
		return "", gantry.Errorf(gantry.Invalid, "git.Rewrite", "the identity %q <%s> contains characters that Git forbids in names", id.Name, id.Email)
	}
	text := "<" + strings.TrimSpace(id.Email) + ">"
	if name := strings.TrimSpace(id.Name); name != "" {
		text = name + " " + text
	}
	if encoding == "" || !utf8.ValidString(text) {
		return text, nil
	}
	if known, err := htmlindex.Get(encoding); err == nil {
		if encoded, err := known.NewEncoder().String(text); err == nil {
			return encoded, nil
		}
	}
	return text, nil
}

// maxTagDepth bounds tags of tags; real ones have two at most.
const maxTagDepth = 50

// readTags returns the text of all annotated tags that refs name, and of those that they tag.
func readTags(ctx context.Context, g *gitdir.Git, dir string) (map[pack.ID][]byte, error) {
	out, err := g.Output(ctx, dir, "for-each-ref", "--format=%(objecttype) %(objectname)")
	if err != nil {
		return nil, err
	}
	var next []pack.ID
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "tag "); ok {
			id, err := pack.ParseID(name)
			if err != nil {
				return nil, err
			}
			next = append(next, id)
		}
	}
	texts := make(map[pack.ID][]byte)
	for depth := 0; len(next) > 0; depth++ {
		if depth == maxTagDepth {
			return nil, gantry.Errorf(gantry.Invalid, "git.Rewrite", "tag %s is a tag of tags, more than %d deep", next[0], maxTagDepth)
		}
		ids := next
		next = nil
		if err := eachObject(ctx, g, dir, writeIDs(ids), func(o *object) error {
			texts[o.id] = bytes.Clone(o.data)
			target, kind, err := tagged(o.data)
			if kind == "tag" && texts[target] == nil {
				next = append(next, target)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// tagged returns the id and the type of what a tag names.
func tagged(data []byte) (id pack.ID, kind string, err error) {
	object, _ := headerValue(data, "object")
	value, _ := headerValue(data, "type")
	id, err = pack.ParseID(string(object))
	return id, string(value), err
}
