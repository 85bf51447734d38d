package svnfixture

import (
	"math/rand/v2"
	"strings"
)

// StandardUUID is the repository UUID of Standard.
const StandardUUID = "5f0c61a6-2bd2-4c1f-9d3e-0a7b86e4d211"

// Standard is a history with trunk, branches and tags: copies, renames, replacements, deletions, a branch that is
// deleted and made again, edits on a tag, one revision on two branches, symbolic links, executables, empty directories,
// binary files, names beyond ASCII, and revisions without author, message or date.
func Standard() *History {
	h := NewHistory(StandardUUID)
	h.Commit("alice", "Lay out the repository", Mkdir("trunk"), Mkdir("branches"), Mkdir("tags"))
	h.Commit("alice", "Begin", Put("trunk/README", "Widget\n======\n"), Mkdir("trunk/src"),
		Put("trunk/src/main.c", program(1)), Put("trunk/config", "color=blue\n"))
	h.Commit("bob", "A script, and a link to it",
		Put("trunk/run.sh", "#!/bin/sh\nexec ./widget\n").With("svn:executable", "*"),
		Put("trunk/start", "link run.sh").With("svn:special", "*"))
	h.Commit("bob", "Say more\n\nOver several lines.\n", Edit("trunk/src/main.c", program(2)))
	h.Commit("alice", "Data", Mkdir("trunk/data"),
		Put("trunk/data/noise.bin", noise(1, 64<<10)).With("svn:mime-type", "application/octet-stream"), Put("trunk/data/none", ""))
	h.Commit("carol", "Branch stable", CopyDir("trunk", 5, "branches/stable"))
	h.Commit("carol", "Mend stable", Edit("branches/stable/src/main.c", program(3)))
	h.Commit("alice", "Go on", Edit("trunk/README", "Widget\n======\nA widget.\n"), Put("trunk/src/util.c", program(4)))
	h.Commit("carol", "Tag 1.0", CopyDir("branches/stable", 7, "tags/v1.0"))
	h.Commit("bob", "Rename main.c", CopyFile("trunk/src/main.c", 9, "trunk/src/app.c"), Delete("trunk/src/main.c"))
	h.Commit("bob", "Documents", Mkdir("trunk/docs"), Put("trunk/docs/übersicht ☃.txt", "Größe\n"), Put("trunk/docs/a b+c%20@x", "odd\n"))
	h.Commit("alice", "An empty directory", Mkdir("trunk/empty"), Mkdir("trunk/empty/inner"))
	h.Commit("", "Nobody did this", Edit("trunk/README", "Widget\n======\nA small widget.\n"))
	h.Commit("carol", "Branch feature, with an edit", CopyDir("trunk", 13, "branches/feature"), Edit("branches/feature/src/app.c", program(5)))
	h.Commit("carol", "Work on feature", Put("branches/feature/src/new.c", program(6)), Edit("branches/feature/README", "Feature\n"))
	h.Commit("carol", "Clean up feature", Delete("branches/feature/data"))
	h.Commit("alice", "Merge feature", TouchDir("trunk").With("svn:mergeinfo", "/branches/feature:14-16"),
		Edit("trunk/src/app.c", program(5)), CopyFile("branches/feature/src/new.c", 16, "trunk/src/new.c"))
	h.Commit("alice", "Feature is done", Delete("branches/feature"))
	h.Commit("bob", "Another feature", CopyDir("trunk", 18, "branches/feature"))
	h.Commit("bob", "Rewrite the read-me", Put("trunk/README", "Gadget\n").Replacing())
	h.Commit("bob", "Split the configuration", Mkdir("trunk/config").Replacing(), Put("trunk/config/color", "blue\n"), Put("trunk/config/size", "4\n"))
	h.Commit("bob", "Join the documents", Put("trunk/docs", "All documents.\n").Replacing())
	h.Commit("alice", "Tag 1.1", CopyDir("trunk", 22, "tags/v1.1"))
	h.Commit("dave", "Mend the tag", Edit("tags/v1.1/README", "Gadget 1.1\n"))
	h.Commit("dave", "Not a program", Touch("trunk/run.sh").WithNone())
	h.Commit("dave", "Link elsewhere", Edit("trunk/start", "link src/app.c"))
	h.Commit("alice", "Properties", TouchDir("trunk").With("svn:mergeinfo", "/branches/feature:14-16").With("svn:ignore", "*.o\nwidget\n"),
		Touch("trunk/src/util.c").With("svn:eol-style", "LF").With("svn:keywords", "Id"))
	h.Commit("alice", "Bring main.c back", CopyFile("trunk/src/main.c", 4, "trunk/src/main.c"))
	h.Commit("bob", "The same mistake twice", Edit("trunk/src/main.c", program(7)), Edit("branches/stable/src/main.c", program(8)))
	h.Commit("carol", "Tag a candidate", CopyDir("trunk", 29, "tags/rc1"))
	h.Commit("carol", "Not that one", Delete("tags/rc1"))
	h.CommitProps(map[string]string{"svn:author": "alice"}, Edit("trunk/README", "Gadget.\n"))
	h.CommitProps(map[string]string{"svn:author": "alice", "svn:date": h.date(), "svn:log": "Grün\r\n", "build": "17"},
		Edit("trunk/data/noise.bin", noise(1, 64<<10)+noise(2, 100)))
	h.Commit("bob", "Replace stable by trunk", CopyDir("trunk", 33, "branches/stable").Replacing())
	return h
}

// program is a text in which one line of many changes, the way that programs do.
func program(version int) string {
	var b strings.Builder
	for line := range 200 {
		b.WriteString("int f")
		b.WriteByte(byte('a' + line%26))
		b.WriteString("(int x) { return x; }\n")
		if line == version*17 {
			b.WriteString(strings.Repeat("/* changed */\n", version))
		}
	}
	return b.String()
}

// noise is n bytes without pattern, the same for the same seed.
func noise(seed byte, n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return string(b)
}
