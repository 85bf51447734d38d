package svnrandom

import (
	"fmt"
	"strings"
	"time"
)

// OddNames are names that Git, file systems, URLs, shells or XML take for something else than a name.
var OddNames = []string{
	"a b", " lead", "trail ", "50%", "%41", "a%2Fb", "%2Egit", "%252Egit", "%", "a#b", "x@1", "@", "x@HEAD", "who?", "back\\slash", "a\\.git",
	"-dash", "--force", "a&b<c>", "'q\"", ";rm", "$HOME", "`x`", "a:b", "*", "~", "^", "..a", "...", ".hidden", "x.lock", "a..b", "a@{b", "HEAD", "refs", "con", "aux.txt",
	".git", ".GIT", ".Git ", ".git.", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1", ".g\u200cit", "\ufeff.git", ".gitignore", ".gitattributes", ".GitAttributes", ".gitmodules", ".gitModules",
	"gitmod~1", "gi7eba~1", ".mailmap", "\u00e9", "e\u0301", "\u212b", "\u00c5", "名前", "🎉", "\u202egpj.exe", "tab\there", "\x01", "\x7f", "x.", "a\rb", "\x0c", "C:", "nul ", "a\u0308\u0323", strings.Repeat("n", 255), strings.Repeat("é", 128),
	"readme", "README", "ReadMe", "main", "master", "trunk", "branches", "tags", "!svn", ".svn", "!", "0", "r1",
}

var plainNames = []string{"a", "b", "c", "d", "a.b", "a-", "a0", "src", "lib", "doc", "main.c", "util.c", "Makefile", "data.bin", "run.sh", "link"}

func (g *generator) name() string {
	switch {
	case g.chance(25):
		return pick(g, OddNames)
	case g.chance(2):
		return strings.Repeat(pick(g, []string{"n", "é", "long "}), 1+g.r.IntN(80)) + "x"
	}
	return pick(g, plainNames)
}

var oddAuthors = []string{
	"", " ", "caf\xe9", "<root>", "a\nb", "Ann Example", "ann@example.org", "Ann <ann@example.org>", "dom\\user", "名前", "\x01", "a\x00b", "(no author)", "-", "ann>", strings.Repeat("x", 3000),
}

var oddDates = []string{
	"", "yesterday", "1969-12-31T23:59:59.999999Z", "1901-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.000000Z", "2038-01-19T03:14:08.000000Z", "2106-02-07T06:28:16.000001Z", "0001-01-01T00:00:00.000000Z", "-001-01-01T00:00:00.000000Z", "10000-01-01T00:00:00.000000Z", "2001-02-03", "2001-02-30T00:00:00.000000Z",
	"2010-01-02T03:04:05Z", "2010-01-02T03:04:05.6+02:00", "Sat 02 Jan 2010 03:04:05.678900 (day 002, dst 0, gmt_off 000000)", "\xff",
}

var oddLogs = []string{
	"", "\n", " \t\n\n", "a\r\nb\r\n", "old\rmac", "\xff\xfe", "caf\xe9", "nul\x00in", "\x01\x02\x1b[31m", "\ufeffmark", "-----\nr1 | x", "trailing\n\n\n", "Signed-off-by: a <b>", "]]>&<x>", "名前\n\n🎉",
	"# comment\n#", "x\u0085y\u2028z", strings.Repeat("long ", 20000),
}

// revisionProps invents author, date and message. Most dates grow.
func (g *generator) revisionProps() map[string]string {
	g.now = g.now.Add(time.Duration(g.r.IntN(100000)) * time.Millisecond)
	props := map[string]string{
		"svn:author": pick(g, []string{"alice", "bob", "carol"}),
		"svn:date":   g.now.Format("2006-01-02T15:04:05.000000Z"),
		"svn:log":    fmt.Sprintf("Revision %d", len(g.roots)),
	}
	odd := func(name string, values []string) {
		switch {
		case g.chance(4):
			delete(props, name)
		case g.chance(8):
			props[name] = pick(g, values)
		}
	}
	odd("svn:author", oddAuthors)
	odd("svn:date", oddDates)
	odd("svn:log", oddLogs)
	if g.chance(5) {
		props["svn:date"] = g.now.Add(-time.Duration(g.r.IntN(1e6)) * time.Hour).Format("2006-01-02T15:04:05.000000Z")
	}
	if g.chance(10) {
		props[pick(g, []string{"build", "bugtraq:id", "svn:rdump-lock", "x y", "é"})] = pick(g, []string{"1", "", "\x00\xff", "é\r\n"})
	}
	return props
}

var propNames = []string{"svn:eol-style", "svn:keywords", "svn:mime-type", "svn:needs-lock", "svn:ignore", "svn:externals", "svn:global-ignores", "svn:mergeinfo", "svnmerge-integrated", "custom", "cvs2svn:cvs-rev", "x y", "é"}

var oddValues = []string{
	"", "*", "native", "CRLF", "Id Rev", "*.o\nbuild\n", "lib ^/vendor/lib\n-r1 ^/trunk@2 sub/dir\n", "lib http://example.invalid/svn/lib\n", "\x00\xff", "a\r\nb", "é",
	"/trunk:1-3,5*,7-9", "/trunk:1-3\n/branches/a:2", "trunk:9999999999", "/a:b:1", "nonsense", "/trunk:0", "/trunk:3-1", "/:1-2", strings.Repeat("/branches/x:1-2,4,6-9*\n", 300),
}

// text invents the content of a file.
func (g *generator) text() string {
	switch {
	case g.chance(8):
		return ""
	case g.chance(12):
		return pick(g, []string{strings.Repeat("x", 2048) + " text\n", "[submodule \"..\"]\n", "link a", "link ../src/main.c", "link ", "link", "link a\nb", "link \x00", "link " + strings.Repeat("x", 5000), "version https://git-lfs.github.com/spec/v1\n"})
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
	switch g.r.IntN(8) {
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
	}
	return text[:from] + g.lines(1) + text[to:]
}

// changedProps is a set of properties after a change.
func (g *generator) changedProps(props map[string]string, dir bool) map[string]string {
	changed := map[string]string{}
	for name, value := range props {
		changed[name] = value
	}
	toggle := func(name, value string) {
		if _, has := changed[name]; has {
			delete(changed, name)
		} else {
			changed[name] = value
		}
	}
	switch {
	case g.chance(5):
		return map[string]string{}
	case g.chance(25) && (!dir || g.chance(20)):
		toggle("svn:executable", pick(g, []string{"*", "", "no"}))
	case g.chance(25) && (!dir || g.chance(20)):
		toggle("svn:special", pick(g, []string{"*", ""}))
	case g.chance(30):
		toggle(pick(g, propNames), pick(g, oddValues))
	default:
		changed[pick(g, propNames)] = pick(g, oddValues)
	}
	return changed
}
