package convert

import (
	"strings"

	. "gantry/internal/gantrytest/svnfixture"
)

// traps is a history of what converters stumble over.
func traps() *History {
	h := NewHistory("0d9f2c9e-1111-4222-8333-444455556666")
	h.Commit("a", "Begin", Mkdir("trunk"), Mkdir("branches"), Mkdir("tags"))
	h.Commit("a", "Files", Put("trunk/f", "one\n"), Mkdir("trunk/d"), Put("trunk/d/x", "x\n"), Put("trunk/d/y", "y\n"), Mkdir("trunk/d/deep"), Put("trunk/d/deep/z", "z\n"))
	h.Commit("a", "Change everything", Edit("trunk/f", "two\n"), Edit("trunk/d/x", "x2\n"), Edit("trunk/d/deep/z", "z2\n"))
	h.Commit("b", "Copy, edit inside, delete inside, add inside", CopyDir("trunk/d", 3, "trunk/e"),
		Edit("trunk/e/x", "x3\n"), Delete("trunk/e/y"), Put("trunk/e/deep/new", "new\n"))
	h.Commit("b", "Copy of a copy, of an older revision", CopyDir("trunk/e", 4, "trunk/e2"), CopyDir("trunk/d", 2, "trunk/d2"))
	h.Commit("b", "Replace with history", CopyDir("trunk/d", 2, "trunk/e").Replacing(), CopyFile("trunk/f", 2, "trunk/f").Replacing())
	h.Commit("b", "Replace a copied child", CopyDir("trunk/d", 6, "trunk/g"), CopyFile("trunk/f", 3, "trunk/g/x").Replacing(),
		CopyDir("trunk/e2", 6, "trunk/g/deep").Replacing(), Edit("trunk/g/deep/x", "inner\n"))
	h.Commit("c", "File to directory", Mkdir("trunk/f").Replacing(), Put("trunk/f/inside", "in\n"))
	h.Commit("c", "Directory to file", Put("trunk/f", "a file again\n").Replacing())
	h.Commit("c", "Names that sort between", Put("trunk/a.b", "1"), Mkdir("trunk/a"), Put("trunk/a/1", "1"), Put("trunk/a0", "1"), Put("trunk/a-", "1"))
	h.Commit("c", "Branch, touched at once", CopyDir("trunk", 10, "branches/one"), Delete("branches/one/d2"), Edit("branches/one/a0", "2"))
	h.Commit("c", "Part of trunk as a branch", CopyDir("trunk/d", 11, "branches/part"))
	h.Commit("c", "Both at once", Edit("trunk/a0", "3"), Edit("branches/one/a0", "3"), Edit("branches/part/x", "3"))
	h.Commit("d", "Links", Put("trunk/link", "link f").With("svn:special", "*"), Put("trunk/notlink", "plain").With("svn:special", "*"),
		Put("trunk/both", "link a0").With("svn:special", "*").With("svn:executable", "*"))
	h.Commit("d", "A special file becomes a link by its text", Edit("trunk/notlink", "link a0"), Edit("trunk/link", "link a-"))
	h.Commit("d", "No links any more", Touch("trunk/link").WithNone(), Touch("trunk/both").With("svn:executable", "*"))
	h.Commit("d", "Links again", Touch("trunk/link").With("svn:special", "*"), Edit("trunk/both", "link f").With("svn:special", "*"))
	h.Commit("d", "Bits", Touch("trunk/a0").With("svn:executable", "*"), Touch("trunk/a-").With("svn:executable", "*").With("svn:eol-style", "native"))
	h.Commit("d", "Bits off, text on", Edit("trunk/a0", "4").WithNone(), Edit("trunk/a-", "4"))
	h.Commit("e", "Empty directories", Mkdir("trunk/empty"), Mkdir("trunk/empty/er"), TouchDir("trunk/empty/er").With("svn:ignore", "x"), Mkdir("trunk/full"), Put("trunk/full/f", ""))
	h.Commit("e", "Emptied, and filled", Delete("trunk/full/f"), Put("trunk/empty/er/f", "f"))
	h.Commit("e", "Copies of empty ones", CopyDir("trunk/full", 21, "trunk/full2"), CopyDir("trunk/empty", 20, "trunk/empty2"))
	h.Commit("e", "The other way round", Put("trunk/full2/f", "f"), Delete("trunk/empty/er/f"))
	h.Commit("e", "Traps of names", Mkdir("trunk/.git"), Put("trunk/.git/config", "[core]\n"), Put("trunk/.GIT", "x"), Mkdir("trunk/n"),
		Put("trunk/n/git~1", "x"), Put("trunk/n/.git. .", "x"), Put("trunk/n/.g\u200cit", "x"), Put("trunk/n/a\\.git", "x"), Put("trunk/n/%2Egit", "x"),
		Put("trunk/n/%25", "x"), Put("trunk/n/.gitignore", "x"), Put("trunk/n/.gitmodules", ""), Put("trunk/n/GITMOD~1", "x"))
	h.Commit("e", "Work on them", Edit("trunk/.git/config", "[user]\n"), Delete("trunk/.GIT"), CopyDir("trunk/.git", 24, "trunk/n/.git"))
	h.Commit("f", "Tag", CopyDir("trunk", 25, "tags/t1"))
	h.Commit("f", "Mixed tag", CopyDir("trunk", 24, "tags/mixed"), CopyFile("trunk/f", 9, "tags/mixed/f").Replacing())
	h.Commit("f", "Work on a tag", Edit("tags/t1/f", "tagged\n"))
	h.Commit("f", "Move a tag", CopyDir("tags/t1", 28, "tags/t2"), Delete("tags/t1"))
	h.Commit("f", "Tag again", CopyDir("trunk", 29, "tags/t1"))
	h.Commit("f", "Three at once", CopyDir("trunk", 29, "branches/three"), CopyDir("branches/one", 29, "branches/four"), CopyDir("tags/t2", 29, "branches/five"))
	h.Commit("g", "Move a branch", CopyDir("branches/one", 31, "branches/two"), Delete("branches/one"))
	h.Commit("g", "Delete trunk", Delete("trunk"))
	h.Commit("g", "Restore trunk", CopyDir("trunk", 32, "trunk"))
	h.Commit("g", "Move all branches away", CopyDir("branches", 34, "attic"), Delete("branches"))
	h.Commit("g", "And back, with a new one", CopyDir("attic", 35, "branches"), CopyDir("trunk", 35, "branches/late"))
	h.Commit("g", "Replace by the same", CopyDir("branches/part", 36, "branches/part").Replacing())
	h.Commit("", "Outside", Put("README", "outside of all branches\n"), Mkdir("attic/more"))
	return h
}

// longTexts is a history of a text that is too long for memory, and of the way there and back.
func longTexts() *History {
	lines, long := strings.Repeat("0123456789abcde\n", 1<<17), strings.Repeat("x", maxInMemory)
	h := NewHistory("0d9f2c9e-1111-4222-8333-444455557777")
	h.Commit("a", "Short", Mkdir("trunk"), Put("trunk/text", lines))
	h.Commit("a", "Long", Edit("trunk/text", lines+long))
	h.Commit("a", "A little more", Edit("trunk/text", "!"+lines+long))
	h.Commit("a", "Short again", Edit("trunk/text", lines[:1<<20]))
	h.Commit("a", "Long from the start", Put("trunk/other", long+lines), CopyFile("trunk/text", 3, "trunk/copy"))
	return h
}
