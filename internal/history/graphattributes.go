package history

import (
	"bytes"
	"strings"

	"gantry/internal/lfs"
	"gantry/internal/pack"
)

// lfsWords are the attributes by which Git has Git LFS bring what a pointer names.
const lfsWords = "filter=lfs diff=lfs merge=lfs -text"

// maxAttributed is how many trees are remembered with what they became.
const maxAttributed = 1 << 16

// withAttributes adds to each directory of a tree that has pointers to objects of Git LFS a file of attributes that says so.
func (g *grapher) withAttributes(tree pack.ID) (pack.ID, error) {
	if dressed, known := g.attributed[tree]; known {
		return dressed, nil
	}
	data, err := Load(g.store, tree)
	if err != nil {
		return pack.Zero, err
	}
	edits := edits{}
	var lines strings.Builder
	for e, err := range pack.TreeEntries(data) {
		if err != nil {
			return pack.Zero, err
		}
		switch e.Mode {
		case pack.ModeTree:
			dressed, err := g.withAttributes(e.ID)
			if err != nil {
				return pack.Zero, err
			}
			if dressed != e.ID {
				edits[string(e.Name)] = Entry{Mode: e.Mode, ID: dressed}
			}
		case pack.ModeFile, pack.ModeExec:
			is, err := g.isPointer(e.ID)
			if err != nil {
				return pack.Zero, err
			}
			if is {
				lines.WriteString(attributesLine(string(e.Name), lfsWords))
			}
		}
	}
	if err := g.dress.prepend(edits, data, attributesFile, lines.String()); err != nil {
		return pack.Zero, err
	}
	dressed, err := g.dress.apply(edits, tree, data)
	if err != nil {
		return pack.Zero, err
	}
	if len(g.attributed) == maxAttributed {
		clear(g.attributed)
	}
	g.attributed[tree] = dressed
	return dressed, nil
}

// isPointer reports whether a blob is a pointer as Git LFS writes it.
func (g *grapher) isPointer(blob pack.ID) (bool, error) {
	const most = 1 << 10 // bytes; those that Git LFS writes have 150 at most
	if _, size, err := g.store.Stat(blob); err != nil || size == 0 || size > most {
		return false, err
	}
	_, text, err := g.store.Get(blob)
	if err != nil {
		return false, err
	}
	p, ok := lfs.ParsePointer(text)
	return ok && bytes.Equal(p.Text(), text), nil
}
