package hgrandom

import (
	"fmt"
	"slices"
	"strings"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/gantrytest/svnrandom"
)

// oddNames are those that a path in Mercurial can have.
var oddNames = slices.DeleteFunc(append(slices.Clone(svnrandom.OddNames), "caf\xe9", "\xff", "hg~1", "%2Ehg", "x.i", "x.d", "x.hg", "a~7eb", "_a", "A_"), func(name string) bool {
	return strings.ContainsAny(name, "\r\n")
})

var plainNames = []string{"a", "b", "c", "d", "a.b", "a-", "a0", "src", "lib", "doc", "main.c", "util.c", "Makefile", "data.bin", "run.sh", "link"}

func (g *generator) name() string {
	switch {
	case g.chance(20):
		return pick(g, oddNames)
	case g.chance(2):
		return strings.Repeat(pick(g, []string{"n", "\u00e9", "long ", "UP"}), 1+g.r.IntN(60)) + "x"
	}
	return pick(g, plainNames)
}

// refName is the name of a branch, bookmark or tag.
func (g *generator) refName() string {
	name := pick(g, []string{"stable", "feature", "Feature", "v1", "v2", "v1.0", "x", "x/y", "x/y/z", "main", "default2", "release"})
	if g.chance(30) {
		name = pick(g, slices.DeleteFunc(slices.Clone(oddNames), func(name string) bool {
			return strings.ContainsAny(name, "\x00\t\x0c\x0b") || name != strings.TrimSpace(name)
		}))
	}
	return name
}

// saying invents what a changeset says of itself. Most dates grow.
func (g *generator) saying() hgfixture.Changeset {
	g.now += int64(g.r.IntN(100000))
	c := hgfixture.Changeset{
		User:        pick(g, []string{"alice <alice@example.org>", "bob", "Carol Jones <carol@example.org>"}),
		Date:        fmt.Sprintf("%d %d", g.now, 3600*(g.r.IntN(27)-14)),
		Description: fmt.Sprintf("Changeset %d", g.h.Changesets()+1),
	}
	if g.chance(8) {
		c.User = pick(g, []string{
			hgfixture.NoUser, " ", "caf\xe9 <e@example.org>", "<root>", "Ann <ann@example.org", "ann@example.org>", "a <b> <c@d>", "dom\\user", "\u540d\u524d <n@example.org>", "\x01", "a\x00b <c@d>", "-", "ann>", "\"A\" <a@b>", strings.Repeat("x", 3000),
		})
	}
	if g.chance(8) {
		c.Date = pick(g, []string{"0 0", "-1 0", "1 1", "-5000000000 43200", "4294967296 -50400", "253402300799 0", "1000000000 -359999", "1000000000 360000", "1000000000 -19800", "1000000000 59", "1000000000 -61", fmt.Sprintf("%d 0", g.now-int64(g.r.IntN(1e8)))})
	}
	if g.chance(10) {
		c.Description = pick(g, []string{
			"", "\n", " \t\n\n", "a\r\nb\r\n", "old\rmac", "\xff\xfe", "caf\xe9", "nul\x00in", "\x01\x02\x1b[31m", "\ufeffmark", "trailing\n\n\n", "Signed-off-by: a <b>", "\u540d\u524d\n\n\U0001f389", "# comment\n#", "x\u0085y\u2028z", strings.Repeat("long ", 20000),
		})
	}
	if g.chance(10) {
		c.Extras = map[string]string{pick(g, []string{"source", "topic", "rebase_source", "x", "\u00e9"}): pick(g, []string{"1", "", "a:b", "\\", "\\n\n\x00", "\xff"})}
	}
	return c
}

// text invents the content of a file.
func (g *generator) text() string {
	switch {
	case g.chance(8):
		return ""
	case g.chance(12):
		return pick(g, []string{
			strings.Repeat("x", 2048) + " text\n", "[submodule \"..\"]\n", "../src/main.c", "a\nb", "\x00", strings.Repeat("x", 5000), "version https://git-lfs.github.com/spec/v1\n",
			"\x01\n", "\x01\n\x01\n", "\x01\ncopy: a\ncopyrev: 0123456789012345678901234567890123456789\n\x01\n", "\x01\nno end\n", "\x01\n\x01\n\x01\n", "\r\n", "no line end",
		})
	case g.chance(10):
		noise := make([]byte, g.r.IntN(4000))
		for i := range noise {
			noise[i] = byte(g.r.Uint32())
		}
		return string(noise)
	case g.chance(2):
		return strings.Repeat(fmt.Sprintf("line %d of a longer text\r\n", g.r.IntN(9)), 2000+g.r.IntN(9000))
	}
	return g.lines(1 + g.r.IntN(40))
}

func (g *generator) lines(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%d %s\n", g.r.IntN(30), pick(g, plainNames))
	}
	return b.String()
}

// edited is a text after an edit.
func (g *generator) edited(text string) string {
	from := g.r.IntN(len(text) + 1)
	to := min(len(text), from+g.r.IntN(60))
	switch g.r.IntN(9) {
	case 0:
		return g.text()
	case 1:
		return text // told, and the same
	case 2:
		return text + g.lines(2)
	case 3:
		return g.lines(1) + text
	case 4:
		return text[:from]
	case 5:
		return text[from:] + text[:from] // moves a block
	case 6:
		return "\x01\n" + text // reads like metadata
	}
	return text[:from] + g.lines(1) + text[to:]
}
