package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnrandom"
)

// What converters are known to stumble over, each in a history of its own.
func TestHardCases(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		history func(h *History)
		check   func(t *testing.T, c converted)
	}{
		"odd names of files":          {oddNames("trunk/", func(p string) Node { return Put(p, "1") }), nil},
		"odd names of directories":    {oddDirectories, nil},
		"odd names of branches":       {oddNames("branches/", func(p string) Node { return CopyDir("trunk", 1, p) }), everyBranchLives},
		"odd names of tags":           {oddNames("tags/", func(p string) Node { return CopyDir("trunk", 1, p) }), everyBranchLives},
		"names that differ in case":   {caseOnly, nil},
		"names that differ in form":   {forms, nil},
		"what Git is configured by":   {configuration, nil},
		"long and deep":               {deep, nil},
		"heads of revisions":          {heads, nil},
		"links that are none":         {links, nil},
		"flags on directories":        {flags, nil},
		"properties of every kind":    {properties, nil},
		"nothing but padding":         {padding, nil},
		"the root copied into itself": {rootCopies, nil},
		"one revision, many branches": {manyAtOnce, everyBranchLives},
		"replaced and edited inside":  {replaced, nil},
		"the same path many times":    {sameSpot, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHistory("0d9f2c9e-1111-4222-8333-44445555aaaa")
			tt.history(h)
			_, c := judgeEveryWay(t, h)
			if tt.check != nil {
				tt.check(t, c)
			}
		})
	}
}

// everyBranchLives expects a ref of its own for each path that has commits or is a tag.
func everyBranchLives(t *testing.T, c converted) {
	living := slices.DeleteFunc(c.refs(), func(name string) bool { return strings.HasPrefix(name, "refs/archive/") })
	if want := len(svnrandom.OddNames) + 1; len(living) != want {
		t.Errorf("%d refs, want %d: %q", len(living), want, living)
	}
}

func standard(h *History) {
	h.Commit("a", "Begin", Mkdir("trunk"), Mkdir("branches"), Mkdir("tags"), Put("trunk/f", "f\n"))
}

// oddNames makes something of each odd name, and most of them go again.
func oddNames(dir string, make func(path string) Node) func(*History) {
	return func(h *History) {
		standard(h)
		var nodes, more []Node
		for i, name := range svnrandom.OddNames {
			nodes = append(nodes, make(dir+name))
			if i%3 == 0 && dir == "trunk/" {
				more = append(more, Delete(dir+name), CopyFile(dir+name, 2, "trunk/moved-"+name))
			}
		}
		h.Commit("a", "All", nodes...)
		h.Commit("a", "Some go", more...)
	}
}

func oddDirectories(h *History) {
	standard(h)
	var nodes, more []Node
	for i, name := range svnrandom.OddNames {
		dir := "trunk/" + name
		nodes = append(nodes, Mkdir(dir), Put(dir+"/"+name, name), Mkdir(dir+"/empty"))
		switch i % 3 {
		case 0:
			more = append(more, CopyDir(dir, 2, dir+"/empty/"+name), Edit(dir+"/empty/"+name+"/"+name, "edited"))
		case 1:
			more = append(more, Delete(dir), Put(dir, "a file now"))
		}
	}
	h.Commit("a", "All", nodes...)
	h.Commit("a", "Some change", more...)
}

// configuration has directories and contents that git fsck refuses by the name that they have.
func configuration(h *History) {
	standard(h)
	longest := strings.Repeat("x", 2047) + "\n"
	modules := func(lines ...string) string { return "[submodule \"a\"]\n\t" + strings.Join(lines, "\n\t") + "\n" }
	nodes := []Node{Put("trunk/.gitattributes", "*.c text\n"), Put("trunk/.gitmodules", modules("path = a", "url = ../a.git")), Put("trunk/%2Egitmodules", "")}
	for i, text := range []string{
		modules("url = -evil"), modules("url = --upload-pack=evil"), modules("path = -evil"), modules("path = \"-evil\""), modules("update = !evil"), modules("UPDATE=!evil"), modules("update = \"!evil\""),
		modules("url = https://x/%0aevil"), modules("url = ../../:evil"), modules("url = http:///evil"), modules("url = https::evil"), modules("url = \"../\\nevil\""),
		"[submodule \"../x\"]\nurl = x\n", "[submodule \"a\"] url = -evil\n", "[submodule \"a\"]\nurl = \\\n-evil\n", "[submodule \"a\"]\nurl = x # -\n",
	} {
		dir := fmt.Sprintf("trunk/d%d", i)
		nodes = append(nodes, Mkdir(dir), Put(dir+"/.gitmodules", text), Put(dir+"/f", ""))
	}
	for i, name := range []string{".gitattributes", ".GITATTRIBUTES", "gitatt~1", "gi7d29~1", ".gitattributes.", ".gitattri\u200cbutes"} {
		dir := fmt.Sprintf("trunk/a%d", i)
		nodes = append(nodes, Mkdir(dir), Put(dir+"/"+name, longest), Mkdir(dir+"/d"), Mkdir(dir+"/d/"+name), Put(dir+"/d/"+name+"/f", "1"), Mkdir(dir+"/e"), Mkdir(dir+"/e/"+name))
	}
	h.Commit("a", "All", nodes...)
	var more []Node
	for i, name := range []string{".gitattributes", ".GITATTRIBUTES", "gitatt~1", "gi7d29~1", ".gitattributes.", ".gitattri\u200cbutes"} {
		dir := fmt.Sprintf("trunk/a%d", i)
		more = append(more, Edit(dir+"/"+name, "x"+longest), Put(dir+"/d/"+name+"/g", "2"), Put(dir+"/e/"+name+"/f", "1"))
	}
	h.Commit("a", "What was good is bad", append(more, Edit("trunk/.gitmodules", modules("url = -evil")), Edit("trunk/.gitattributes", "x"+longest))...)
	h.Commit("a", "And good again", Edit("trunk/.gitmodules", modules("url = x")), Touch("trunk/.gitattributes").With("svn:executable", "*"),
		CopyDir("trunk/a1", 2, "trunk/a0/d/.gitattributes").Replacing(), Delete("trunk/a1"), Put("trunk/a2/d/gitatt~1", "file").Replacing(), Touch("trunk/a3/d/gi7d29~1/f").With("x", "y"))
	h.Commit("a", "Gone", Delete("trunk/.gitattributes"), Delete("trunk/.gitmodules"), Delete("trunk/a2"), Delete("trunk/a4/d/.gitattributes."), CopyFile("trunk/.gitattributes", 3, "trunk/kept"))
}

func caseOnly(h *History) {
	standard(h)
	h.Commit("a", "Two", Put("trunk/Makefile", "1"), Put("trunk/makefile", "2"), Mkdir("trunk/Src"), Put("trunk/Src/a", "1"))
	h.Commit("a", "Renames", CopyDir("trunk/Src", 2, "trunk/src"), Delete("trunk/Src"), CopyFile("trunk/f", 2, "trunk/F"), Delete("trunk/f"))
	h.Commit("a", "Branches", CopyDir("trunk", 3, "branches/Fix"), CopyDir("trunk", 3, "branches/fix"), CopyDir("trunk", 3, "branches/FIX"))
	h.Commit("a", "Work", Edit("branches/Fix/F", "1"), Edit("branches/fix/F", "2"), Edit("branches/FIX/F", "3"))
	h.Commit("a", "One renamed", CopyDir("branches/Fix", 5, "branches/fIX"), Delete("branches/Fix"))
}

func forms(h *History) {
	standard(h)
	h.Commit("a", "Composed and not", Put("trunk/\u00e9", "1"), Put("trunk/e\u0301", "2"), Mkdir("trunk/\u212b"), Put("trunk/\u212b/x", "3"), Mkdir("trunk/\u00c5"), Put("trunk/\u00c5/x", "4"))
	h.Commit("a", "Edited", Edit("trunk/\u00e9", "5"), Edit("trunk/e\u0301", "6"), Delete("trunk/\u212b"))
	h.Commit("a", "Branches", CopyDir("trunk", 3, "branches/\u00e9"), CopyDir("trunk", 3, "branches/e\u0301"))
}

func deep(h *History) {
	standard(h)
	nodes, dir := []Node{}, "trunk"
	for range 200 {
		dir += "/directory"
		nodes = append(nodes, Mkdir(dir))
	}
	h.Commit("a", "Deep", append(nodes, Put(dir+"/f", "deep"))...)
	h.Commit("a", "Edited", Edit(dir+"/f", "deeper"), CopyDir("trunk/directory", 2, "trunk/copy"))
	long := strings.Repeat("long name ", 90) + "x"
	h.Commit("a", "Long", Put("trunk/"+long, "long"), Mkdir("branches/"+long), CopyDir("trunk", 3, "branches/"+long[1:]))
}

func heads(h *History) {
	h.CommitProps(map[string]string{})
	for i, props := range []map[string]string{
		{},
		{"svn:log": ""},
		{"svn:author": ""},
		{"svn:date": ""},
		{"svn:date": "yesterday", "svn:author": "a\nb", "svn:log": "\r\n"},
		{"svn:author": "<a@b>", "svn:date": "2001-01-01T00:00:00.000000Z", "svn:log": "nul\x00, latin caf\xe9, control \x01\x1b"},
		{"svn:author": "caf\xe9", "svn:date": "1901-01-01T00:00:00.000000Z", "svn:log": "\n\n  \n"},
		{"svn:author": strings.Repeat("x", 70000), "svn:date": "9999-12-31T23:59:59.999999Z", "svn:log": strings.Repeat("long\r", 300000)},
		{"svn:date": "2005-01-01T00:00:00.000000Z", "svn:log": "\ufeffmark\u2028", "svn:author": " ", "note": strings.Repeat("n", 1<<20)},
	} {
		h.CommitProps(props, Put(fmt.Sprint("f", i), ""))
	}
}

func links(h *History) {
	standard(h)
	special := func(p, text string) Node { return Put(p, text).With("svn:special", "*") }
	h.Commit("a", "Links", special("trunk/good", "link f"), special("trunk/empty", "link "), special("trunk/none", ""), special("trunk/short", "lin"),
		special("trunk/nul", "link a\x00b"), special("trunk/line", "link a\nb\n"), special("trunk/long", "link "+strings.Repeat("x", 5000)),
		special("trunk/huge", "link "+strings.Repeat("x", 1<<20)), special("trunk/up", "link ../../../etc/passwd"), special("trunk/git", "link .git/config"),
		Put("trunk/text", "link f"))
	h.Commit("a", "The other way", Touch("trunk/good").WithNone(), Touch("trunk/text").With("svn:special", "*"), Edit("trunk/none", "link now"),
		Edit("trunk/up", "not a link"), Touch("trunk/git").With("svn:special", "*").With("svn:executable", "*"))
	h.Commit("a", "Copies", CopyFile("trunk/good", 2, "trunk/copy"), CopyFile("trunk/text", 3, "trunk/edited").Text("link edited"),
		CopyFile("trunk/text", 3, "trunk/plain").WithNone(), Edit("trunk/git", "link elsewhere").With("svn:executable", "*"))
	h.Commit("a", "A link becomes a directory", Delete("trunk/good"), Delete("trunk/copy"), Mkdir("trunk/copy"), Put("trunk/copy/f", "f"))
}

func flags(h *History) {
	standard(h)
	h.Commit("a", "On directories", TouchDir("trunk").With("svn:executable", "*").With("svn:special", "*"),
		Mkdir("trunk/d").With("svn:special", "*"), Put("trunk/d/f", "link x").With("svn:executable", ""))
	h.Commit("a", "Off", TouchDir("trunk").WithNone(), Touch("trunk/d/f").With("svn:special", ""))
	h.Commit("a", "On the root", TouchDir("").With("svn:executable", "*").With("x", "y"))
	h.Commit("a", "Off the root", TouchDir("").WithNone())
}

func properties(h *History) {
	standard(h)
	h.Commit("a", "Kinds", TouchDir("trunk").With("svn:mergeinfo", "/branches/a:1-3,5*\n/b:c:7\nnonsense\n/trunk:1\n/d:9-2\n/e:0\n/f:99999999999999999999\n"),
		TouchDir("branches").With("svn:ignore", "*.o\n\r\n\x00"), Touch("trunk/f").With("é", "").With("x y", "\x00\xff").With("a:b", strings.Repeat("v", 1<<20)))
	h.Commit("a", "A large one, on a branch", CopyDir("trunk", 2, "branches/b").With("svn:mergeinfo", strings.Repeat("/branches/x:1-2,4,6-9*\n", 45000)))
	h.Commit("a", "Nothing else", TouchDir("branches/b").With("svn:mergeinfo", "/trunk:2-3\n"), Touch("trunk/f").WithNone())
	h.Commit("a", "By a copied child", CopyFile("trunk/f", 2, "trunk/g").With("p", "q"), CopyDir("trunk", 4, "branches/c"))
}

func padding(h *History) {
	for range 5 {
		h.Commit("a", "This is an empty revision for padding.")
	}
	standard(h)
	h.Commit("", "")
	h.Commit("a", "Nothing", TouchDir("").With("svn:ignore", "x"))
	h.Commit("a", "Edit", Edit("trunk/f", "g\n"))
	h.Commit("a", "To the same", Edit("trunk/f", "g\n"))
	h.CommitProps(map[string]string{})
}

func rootCopies(h *History) {
	h.Commit("a", "1", Put("f", "1"), Mkdir("d"), Put("d/g", "1"))
	h.Commit("a", "2", CopyDir("", 1, "d/root"))
	h.Commit("a", "3", CopyDir("", 2, "copy"), Edit("copy/d/root/f", "3"), Delete("copy/d/g"))
	h.Commit("a", "4", CopyDir("copy/d", 3, "d").Replacing(), Put("d/g", "4"))
}

func manyAtOnce(h *History) {
	standard(h)
	var nodes []Node
	for i := range svnrandom.OddNames {
		dir := fmt.Sprintf("%s/b%d", []string{"branches", "tags"}[i%2], i)
		nodes = append(nodes, CopyDir("trunk", 1, dir))
		if i%3 == 0 {
			nodes = append(nodes, Edit(dir+"/f", fmt.Sprint(i)))
		}
	}
	h.Commit("a", "All", nodes...)
}

func replaced(h *History) {
	standard(h)
	h.Commit("a", "Tree", Mkdir("trunk/d"), Mkdir("trunk/d/e"), Put("trunk/d/e/f", "1"), Put("trunk/d/g", "1"))
	h.Commit("a", "Change", Edit("trunk/d/e/f", "2"), Delete("trunk/d/g"))
	h.Commit("a", "By its past, with edits", CopyDir("trunk/d", 2, "trunk/d").Replacing(), Edit("trunk/d/e/f", "3"), CopyFile("trunk/d/g", 2, "trunk/d/g").Replacing().Text("4"),
		CopyDir("trunk/d/e", 3, "trunk/d/e").Replacing(), Edit("trunk/d/e/f", "5"), CopyDir("trunk/d", 2, "trunk/d/e/d"), Delete("trunk/d/e/d/e"), Mkdir("trunk/d/e/d/e"), Put("trunk/d/e/d/e/f", "6"))
	h.Commit("a", "A child of a copy by nothing", CopyDir("trunk/d", 4, "trunk/c"), Mkdir("trunk/c/e").Replacing(), CopyFile("trunk/f", 4, "trunk/c/g").Replacing(), Put("trunk/c/e/new", "7"))
	h.Commit("a", "From what is gone", CopyFile("trunk/d/g", 2, "trunk/back"), CopyDir("trunk/d/e", 2, "trunk/past"), Delete("trunk/d"))
	h.Commit("a", "Branch, replaced within, twice", CopyDir("trunk", 5, "branches/b"), CopyDir("trunk/d", 2, "branches/b/d").Replacing(), Delete("branches/b/c"), Put("branches/b/c", "file"))
	h.Commit("a", "Trunk by the branch by trunk", CopyDir("branches/b", 7, "trunk").Replacing(), CopyDir("trunk", 7, "branches/b").Replacing())
}

func sameSpot(h *History) {
	standard(h)
	for i := range 12 {
		spot := []Node{Put("trunk/x", fmt.Sprint(i)), Mkdir("trunk/x"), CopyDir("branches", h.Head(), "trunk/x"), CopyFile("trunk/f", 1, "trunk/x")}[i%4]
		if i > 0 {
			spot = spot.Replacing()
		}
		h.Commit("a", fmt.Sprint(i), spot)
	}
	h.Commit("a", "All in one", Delete("trunk/x"), Put("trunk/x", "1"), Delete("trunk/x"), Mkdir("trunk/x"), Put("trunk/x/y", "2"), Edit("trunk/x/y", "3"), Delete("trunk/x/y"), Delete("trunk/x"), Put("trunk/x", "4"))
}
