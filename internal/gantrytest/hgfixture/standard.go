package hgfixture

import (
	"fmt"
	"strings"
	"testing"
)

// Standard is a history with something of everything that Mercurial can say and Git cannot say as it is, or says otherwise.
// hg takes all of it.
func Standard() *History {
	h := Files()
	people(h)
	graph(h)
	tags(h)
	return h
}

// Files is the part of Standard about files: all people and dates are plain.
func Files() *History {
	h := NewHistory()
	names(h)
	texts(h)
	return h
}

// names are those of files: sorted otherwise in Git, in any encoding, refused by Git, escaped by Mercurial's store.
func names(h *History) {
	h.Commit(Changeset{Description: "Begin"},
		Put("README", "Gantry\n"), Put("a", "a\n"), Put("a-b", "a-b\n"), Put("a.d", "a.d\n"), Put("A/b", "A/b\n"), Put("a0/b", "a0/b\n"),
		Executable("run", "#!/bin/sh\n"), Link("link", "a"), Put("empty", ""), Link("broken", "no/such\xff"),
	)
	long := strings.Repeat("A long Name/", 14) + "end.TXT"
	h.Commit(Changeset{Description: "Names"},
		Put("a.i/x", "1\n"), Put("a.d.hg/x", "2\n"), Put("x.i.hg", "3\n"), Put("aux/con.c", "4\n"), Put(" lead/trail ", "5\n"), Put(long, "6\n"),
		Put("\xe4\xf6/latin\xff", "7\n"), Put("\u00fcml\u00e4ut/\u65e5\u672c", "8\n"), Put("u\u0308ml", "9\n"), Put("tab\there", "10\n"), Put("back\\slash", "11\n"),
		Put("sub/.GIT/config", "12\n"), Put("git~1", "13\n"), Put("deep/git~1/x", "14\n"), Put(".gitmodules", "[x]\n"), Put("sub/.gitmodules ", "15\n"),
		Put(".gi\u200ct/x", "16\n"), Put("%2Egit", "17\n"), Put(".gitattributes", "* text\n"), Put("HG~1x", "18\n"), Put("star*?", "19\n"),
	)
	h.Commit(Changeset{Description: "A file becomes a directory, a directory a file"},
		Remove("a"), Put("a/inner", "in\n"), Remove("A"), Put("A", "now a file\n"))
	h.Commit(Changeset{Description: "And back"}, Remove("a"), Put("a", "a again\n"), Remove("A"), Put("A/b", "A/b\n"))
	h.Commit(Changeset{Description: "Nothing is left"}, func(d *draft) {
		for path := range d.tree {
			Remove(path)(d)
		}
	})
	h.Commit(Changeset{Description: "All is back", Parents: []int{4}}, Put("README", "Gantry\n\n"))
}

// texts are those of files: copied, with what looks like a header, changed in the flag only, long and growing.
func texts(h *History) {
	h.Commit(Changeset{Description: "Copies"},
		Copy("a", "copied", "a again\n"), Copy("run", "sub/run", "#!/bin/sh\nexit\n"), Put("marked", "\x01\nno: header\n\x01\ncontent\n"),
		Put("marks", "\x01\n\x01\n"), Put("half", "\x01\nno end"), Copy("README", "copy of \x01", "\x01\nlike one\n"), Put("binary", "\x00\xff\r\n"))
	h.Commit(Changeset{Description: "Flags"}, Flag("run", 0), Flag("a", 'x'), Flag("README", 'l'))
	h.Commit(Changeset{Description: "Flags back"}, Flag("run", 'x'), Flag("a", 0), Flag("README", 0))
	h.Commit(Changeset{Description: "A link that is empty, one with a NUL"}, Link("empty link", ""), Link("nul", "a\x00b"), Link("long", strings.Repeat("x", 5000)))
	h.Commit(Changeset{Description: "Marks change"}, Put("marked", "\x01\nno: header\n\x01\nother\n"), Put("marks", "no marks\n"), Copy("a", "copied", "a again\nand on\n"))
	text := ""
	for i := range 40 {
		text += fmt.Sprintf("line %d\n", i*i*7919)
		if i%8 == 0 {
			text = text[len(text)/3:]
		}
		h.Commit(Changeset{Description: fmt.Sprint("Grow ", i)}, Put("growing", text), Put("deep/er/and/deeper", fmt.Sprint(i, "\n")))
	}
	h.Commit(Changeset{Description: "Nothing changes"})
	h.Commit(Changeset{Description: "The same text as before"}, Put("growing", "line 0\n"))
}

// people are users, dates and descriptions.
func people(h *History) {
	for _, user := range []string{
		"bob", "bob@example.org", "Bob <bob@example.org>", `"Bob B." <bob@example.org>`, "Bob <bob@example.org", "Bob bob@example.org>", "<bob@example.org>",
		"Bob <<bob@example.org>>", "Bob <>", NoUser, "J\xf6rg <joerg@example.org>", "J\u00f6rg <j\u00f6rg@example.org>", " Bob  <bob@example.org> ", "Bob <bob@example.org> (work)",
		"a <b> c <d>", "tab\tin <it>", "nul\x00 <n@example.org>", ".,;:<>\\\"'", "\u65e5\u672c <n@example.org>", "<", ">", "Bob\u00a0<bob@example.org>", "\x1b[31m <e@example.org>",
	} {
		h.Commit(Changeset{User: user, Description: "By " + strings.ToValidUTF8(strings.Trim(user, "\x00"), "?")}, Put("by", user))
	}
	for i, date := range []string{
		"0 0", "-1 0", "-2000000000 -3600", "1 50400", "2147483648 0", "4294967296 -43200", "99999999999 0", "1000000000 -19800", "1000000000 12600",
		"1000000000 -20700", "1000000000 -1234", "1000000000 -86400", "1000000000 359940", "1000000000 360000", "1000000000 -400000", "1000000000 -30",
	} {
		h.Commit(Changeset{Date: date, Description: "Date " + date}, Put("at", fmt.Sprint(i)))
	}
	for i, description := range []string{
		"", "\n", "one\r\ntwo\rthree\n\n\n", "\n\nlead", "trail   \n \n", "latin \xe9\xe8", "\u00e9\u00e8 \u65e5\u672c\U0001f600", "nul\x00in it", "# comment\n", "\ufeffbom",
		strings.Repeat("long line ", 5000), "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent x\n\nlike a commit", "\x1b[31mred", "From me\n---\n-- \ndiff --git a/x b/x\n",
	} {
		h.Commit(Changeset{Description: description}, Put("said", fmt.Sprint(i)))
	}
	h.Commit(Changeset{Description: "Extras", Extras: map[string]string{
		"source": "0123456789012345678901234567890123456789", "odd": "a:b\\n\n\r\x00\\0\\", "\u00fc": "\xff", "": "empty", "topic": "t", "rebase_source": "x", "amend_source": "y",
	}}, Put("extras", "1\n"))
}

// graph is branches, heads and merges.
func graph(h *History) {
	trunk := h.Changesets()
	work := h.Commit(Changeset{Branch: "work", Description: "Work"}, Put("work", "1\n"))
	h.Commit(Changeset{Branch: "work", Description: "A second head of work"}, Put("work", "2\n"))
	h.Commit(Changeset{Branch: "work", Description: "A third head of work", Parents: []int{work}}, Put("work", "3\n"))
	old := h.Commit(Changeset{Branch: "old", Description: "Old", Parents: []int{trunk}}, Put("old", "1\n"))
	h.Commit(Changeset{Branch: "old", Closes: true, Description: "Close old"})
	h.Commit(Changeset{Branch: "old", Description: "Another head of old, closed, too", Parents: []int{old}}, Put("old", "2\n"))
	h.Commit(Changeset{Branch: "old", Closes: true, Description: "Close it"})
	reopened := h.Commit(Changeset{Branch: "reopened", Description: "Reopened", Parents: []int{trunk}}, Put("reopened", "1\n"))
	h.Commit(Changeset{Branch: "reopened", Closes: true, Description: "Close reopened"})
	h.Commit(Changeset{Branch: "reopened", Description: "And open it"}, Put("reopened", "2\n"))
	for i, name := range []string{"with space", "x/y", "x", "X", "main", "\u00fcber", "la\xe9tin", "HEAD", "a..b", "-dash", ".dot", "end.lock", "@", "a@{b", "~^:?*[\\", "default/under", strings.Repeat("n", 300), "0123456789012345678901234567890123456789x"} {
		h.Commit(Changeset{Branch: name, Description: "Branch " + strings.ToValidUTF8(name, "?"), Parents: []int{reopened - i}}, Put("branched", name))
	}
	first := h.Commit(Changeset{Parents: []int{0}, Description: "Another root"}, Put("root2", "1\n"), Put("README", "Another\n"))
	second := h.Commit(Changeset{Parents: []int{0}, Description: "A third root, with nothing"})
	joined := h.Commit(Changeset{Parents: []int{trunk, first}, Description: "Join the roots"}, Take("root2"), Take("README"))
	joined = h.Commit(Changeset{Parents: []int{second, joined}, Description: "Join nothing with all"}, func(d *draft) {
		for path := range d.p2.tree {
			Take(path)(d)
		}
	})
	left := h.Commit(Changeset{Description: "Left", Parents: []int{joined}}, Put("side", "left\n"), Put("both", "left\n"), Remove("at"))
	right := h.Commit(Changeset{Description: "Right", Parents: []int{joined}}, Put("side", "right\n"), Put("both", "right\n"), Flag("said", 'x'))
	h.Commit(Changeset{Description: "Merge one way", Parents: []int{left, right}}, Put("both", "both\n"), Take("side"))
	one := h.Changesets()
	h.Commit(Changeset{Description: "Merge the other way", Parents: []int{right, left}}, Put("both", "both 2\n"), Take("at"))
	h.Commit(Changeset{Description: "Criss cross", Parents: []int{one, one + 1}}, Put("both", "all\n"))
	h.Commit(Changeset{Description: "Merge what is an ancestor", Parents: []int{one + 2, left}})
	h.Commit(Changeset{Description: "Merge another branch", Parents: []int{one + 3, work}}, Take("work"))
	twin := Changeset{Description: "Twin", Date: "1234567890 0", Parents: []int{one + 4}}
	h.Commit(twin, Put("twin", "1\n"))
	twin.Extras = map[string]string{"twin": "second"}
	h.Commit(twin, Put("twin", "1\n"))
	h.Commit(Changeset{Description: "Join the twins", Parents: []int{one + 5, one + 6}})
}

// tags are moved, removed, said differently by several heads, and of names that refs cannot have.
func tags(h *History) {
	head := h.Changesets()
	line := func(number int, name string) string { return h.Node(number) + " " + name + "\n" }
	text := line(1, "v1") + line(2, "moved") + line(3, "moved") + line(2, "removed") + line(2, "removed") + strings.Repeat("0", 40) + " removed\n" +
		line(4, "with space") + line(5, "x/y") + line(6, "x") + line(7, "a..b") + line(8, "\u00fcber") + line(9, "la\xe9tin") + line(10, "V1") +
		strings.Repeat("1", 40) + " unknown\n" + "nonsense\n\n" + "0123 short\n" + line(11, "tip") + line(12, "work") + line(13, "end.lock") + line(14, "  blanks  ")
	h.Commit(Changeset{Description: "Tags"}, Put(".hgtags", text))
	h.Commit(Changeset{Description: "Tags of one head", Parents: []int{head + 1}}, Put(".hgtags", text+line(20, "v2")+line(1, "v3")+line(3, "v3")))
	h.Commit(Changeset{Description: "Tags of another head", Branch: "tagged", Parents: []int{head + 1}}, Put(".hgtags", text+line(21, "v2")+line(5, "only here")))
	h.Commit(Changeset{Description: "Tags of a closed head", Branch: "shut", Parents: []int{head + 1}}, Put(".hgtags", text+line(22, "v4")))
	h.Commit(Changeset{Description: "Shut", Branch: "shut", Closes: true})
	h.Commit(Changeset{Description: "The last", Parents: []int{head + 2}}, Put("last", "1\n"))
}

// NewStandard is a repository with Standard, and bookmarks.
func NewStandard(t testing.TB, settings ...string) *Repo {
	t.Helper()
	r := New(t, settings...)
	h := Standard()
	r.Load(t, h)
	marks := map[string]string{"top": h.Node(h.Changesets())}
	for i, name := range []string{"mark", "with blank", "x/y", "main", "work", "MARK", "\u00fcber/alles", "-x", "@", "end.lock"} {
		marks[name] = h.Node(3*i + 1)
	}
	r.Mark(t, marks)
	return r
}
