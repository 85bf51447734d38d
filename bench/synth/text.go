package synth

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// FileKind says what a file is.
type FileKind uint8

const (
	Plain FileKind = iota
	Executable
	Link // the content is the target
	Binary
)

// File is the unchanging content of one version of a file.
type File struct {
	Kind   FileKind
	blocks []*block
}

// block is a piece of a file: a function, say. An edited block keeps its number, so that merging finds it again.
type block struct {
	number int
	text   string
}

// AppendTo appends the content to dst.
func (f *File) AppendTo(dst []byte) []byte {
	var size int
	for _, b := range f.blocks {
		size += len(b.text)
	}
	dst = slices.Grow(dst, size)
	for _, b := range f.blocks {
		dst = append(dst, b.text...)
	}
	return dst
}

// SameContent reports whether two files have the same content.
func (f *File) SameContent(g *File) bool {
	return slices.Equal(f.blocks, g.blocks) || bytes.Equal(f.AppendTo(nil), g.AppendTo(nil))
}

// maxBlocks is where a file has become so long that somebody splits it.
const maxBlocks = 240

// writer makes texts. Blocks are numbered in the order in which they are written.
type writer struct {
	*rand.Rand
	blocks int
}

func (w *writer) block(text string) *block {
	w.blocks++
	return &block{w.blocks, text}
}

// source is a new file of n functions.
func (w *writer) source(kind FileKind, n int) *File {
	f := &File{Kind: kind}
	if kind == Executable {
		f.blocks = append(f.blocks, w.block("#!/bin/sh\nset -eu\n\n"))
	}
	for range n {
		f.blocks = append(f.blocks, w.block(w.function()))
	}
	return f
}

// binary is a new file that does not compress.
func (w *writer) binary() *File {
	data := make([]byte, 2000+w.IntN(60000))
	for i := range data {
		data[i] = byte(w.Uint32())
	}
	return &File{Kind: Binary, blocks: []*block{w.block("\x89PNG\r\n\x1a\n" + string(data))}}
}

func (w *writer) link(target string) *File {
	return &File{Kind: Link, blocks: []*block{w.block(target)}}
}

// edit is f after a person worked on it; never what it was.
func (w *writer) edit(f *File) *File {
	for {
		if g := w.tryEdit(f); !g.SameContent(f) {
			return g
		}
	}
}

func (w *writer) tryEdit(f *File) *File {
	if f.Kind == Binary {
		g := w.binary()
		g.blocks[0].number = f.blocks[0].number
		return g
	}
	g := &File{Kind: f.Kind, blocks: slices.Clone(f.blocks)}
	for range 1 + w.small(4) {
		at := w.IntN(len(g.blocks))
		switch dice := w.IntN(100); {
		case dice < 18:
			g.blocks = slices.Insert(g.blocks, at, w.block(w.function()))
		case dice < 24 && len(g.blocks) > 3:
			g.blocks = slices.Delete(g.blocks, at, at+1)
		default:
			b := g.blocks[at]
			g.blocks[at] = &block{b.number, w.editLines(b.text)}
		}
	}
	return g
}

// split takes the second half of f away into a file of its own.
func (w *writer) split(f *File) (first, second *File) {
	half := len(f.blocks) / 2
	return &File{f.Kind, f.blocks[:half:half]}, &File{f.Kind, f.blocks[half:]}
}

// small is a number below n, mostly a low one.
func (w *writer) small(n int) int { return min(w.IntN(n), w.IntN(n)) }

// editLines changes, adds or removes a few lines of text.
func (w *writer) editLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + w.small(3) {
		at := w.IntN(len(lines))
		switch dice := w.IntN(10); {
		case dice < 4:
			lines = slices.Insert(lines, at, w.statement(1, w.names()))
		case dice < 5 && len(lines) > 4:
			lines = slices.Delete(lines, at, at+1)
		default:
			lines[at] = w.statement(1, w.names())
		}
	}
	return strings.Join(lines, "")
}

// function is some thirty lines that look and compress like a programmer's.
func (w *writer) function() string {
	names := w.names()
	var b strings.Builder
	fmt.Fprintf(&b, "/* %s%s the %s of a %s. */\nstatic int\n%s(struct %s *%s, size_t %s)\n{\n",
		strings.ToUpper(w.word()[:1]), w.word(), w.word(), w.word(), w.name(), w.word(), names[0], names[1])
	depth := 1
	for range 6 + w.IntN(36) {
		switch dice := w.IntN(12); {
		case dice < 2 && depth < 4:
			fmt.Fprintf(&b, "%sif (%s->%s %s %d) {\n", indent(depth), w.one(names), w.word(), w.one(relations), w.IntN(256))
			depth++
		case dice < 4 && depth > 1:
			depth--
			fmt.Fprintf(&b, "%s}\n", indent(depth))
		default:
			b.WriteString(w.statement(depth, names))
		}
	}
	for ; depth > 0; depth-- {
		fmt.Fprintf(&b, "%s}\n", indent(depth-1))
	}
	b.WriteString("\n")
	return b.String()
}

func (w *writer) statement(depth int, names []string) string {
	tabs := indent(depth)
	switch w.IntN(6) {
	case 0:
		return fmt.Sprintf("%s%s = %s(%s, %s->%s);\n", tabs, w.one(names), w.name(), w.one(names), w.one(names), w.word())
	case 1:
		return fmt.Sprintf("%s%s->%s += %d;\n", tabs, w.one(names), w.word(), w.IntN(4096))
	case 2:
		return fmt.Sprintf("%slog_%s(\"%s: %s %%s\", %s);\n", tabs, w.one(levels), w.word(), w.word(), w.one(names))
	case 3:
		return fmt.Sprintf("%s/* %s the %s before %s is %s */\n", tabs, w.word(), w.word(), w.word(), w.word())
	case 4:
		return fmt.Sprintf("%sreturn %s_%s(%s);\n", tabs, w.word(), w.word(), w.one(names))
	default:
		return fmt.Sprintf("%s%s[%d] = %s;\n", tabs, w.one(names), w.IntN(64), w.one(names))
	}
}

func indent(depth int) string { return "\t\t\t\t\t"[:depth] }

// names are the variables of one function.
func (w *writer) names() []string {
	return []string{w.word(), w.word() + "_" + w.word(), "n" + w.word(), w.word()[:2]}
}

func (w *writer) name() string               { return w.word() + "_" + w.word() }
func (w *writer) word() string               { return words[w.IntN(len(words))] }
func (w *writer) one(choice []string) string { return choice[w.IntN(len(choice))] }

var (
	relations = []string{"==", "!=", "<", ">", "<=", ">="}
	levels    = []string{"debug", "info", "warning", "error"}
	words     = strings.Fields(`
		account actor address agent align angle anchor array atom axis balance band base batch beacon bearing belt bit
		block board bond border bound box branch bridge bucket buffer bundle cable cache call canal carrier cell chain
		channel chart chunk circuit clock closure cluster code column command context core count cover crane crate cursor
		cycle deck depth device digest dock domain draft drain edge engine entry epoch error event extent fabric factor
		field filter flag fleet flow frame freight gate gauge girder grain graph grid group guard handle harbor hash head
		heap hoist hook host hull index input item joint journal key label lane latch layer leaf ledger lever lift limit
		line link list load lock log loop magnet margin mark mast matrix member merge meter mode module mount name node
		note number object offset option order origin output owner pack page pair panel parent part patch path peer pilot
		pipe pivot plan plate point pool port post power probe proof pulley queue quota rack rail range rank rate record
		region relay remote report result rigging ring root rope rotor route row rule scale scope score seal section
		segment sensor series shaft shape shift signal slice slot socket source span spare spool stack stage state step
		store stream string stroke sum surface switch symbol table target task tension text thread tide timer token tool
		torque tower trace track trolley truck tube type unit value valve vector vessel view walk watch wave weight wheel
		winch window wire word worker yard yield zone`)
)
