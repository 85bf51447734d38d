package hgjudge_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/gantrytest/hgjudge"
)

// The judge must agree with the two tools that everybody has: what hg archive writes and git write-tree says of it.
func TestTreeIsWhatArchiveGives(t *testing.T) {
	t.Parallel()
	h := hgfixture.NewHistory()
	h.Commit(hgfixture.Changeset{}, hgfixture.Put("a", "1\n"), hgfixture.Put("a.b", "2\n"), hgfixture.Put("d/e/f", "3\n"), hgfixture.Put("\u00fc", "\x01\n4\n"))
	h.Commit(hgfixture.Changeset{}, hgfixture.Executable("x", "5\n"), hgfixture.Link("l", "a"), hgfixture.Copy("a", "d/a", "6\n"), hgfixture.Put("\xff", "\r\n"))
	h.Commit(hgfixture.Changeset{}, hgfixture.Remove("a"), hgfixture.Put("a/b", "7\n"), hgfixture.Flag("x", 0))
	repo := hgfixture.New(t)
	repo.Load(t, h)
	judge := hgjudge.Open(t, repo.Dir)
	if len(judge.Changesets) != h.Changesets() {
		t.Fatalf("%d changesets, want %d", len(judge.Changesets), h.Changesets())
	}
	for _, c := range judge.Changesets {
		dir := filepath.Join(t.TempDir(), "archive")
		repo.Run(t, "archive", "-r", c.Node, "-t", "files", "--config", "ui.archivemeta=no", dir)
		git(t, dir, "", "", "init", "--quiet")
		git(t, dir, "", "", "-c", "core.autocrlf=false", "add", "--all", "--force")
		if want := git(t, dir, "", "", "write-tree"); c.Tree != want {
			t.Errorf("changeset %s: the judge says %s, hg archive and git say %s", c.Node, c.Tree, want)
		}
	}
}

// Names that Git cannot have, and those that would configure Mercurial, are escaped in the one documented way.
func TestNames(t *testing.T) {
	t.Parallel()
	bare := t.TempDir()
	git(t, bare, "", "", "init", "--quiet", "--bare")
	var entries strings.Builder
	var changes []hgfixture.Change
	for name, want := range map[string]string{
		"git~1": "%67it~1", "Git~1. ": "%47it~1. ", "hg": "hg", "hg~1": "%68g~1", "%2Ehg": "%252Ehg", "%68g~1": "%2568g~1", ".hgtags": ".hgtags", "100%": "100%", ".h\u200cg": "%2Eh\u200cg",
	} {
		changes = append(changes, hgfixture.Put(name, "x"))
		fmt.Fprintf(&entries, "100644 blob c1b0730e0133447badcfd47fd144e254807b06e1\t%s\x00", want)
	}
	h := hgfixture.NewHistory()
	h.Commit(hgfixture.Changeset{}, changes...)
	repo := hgfixture.New(t)
	repo.Load(t, h)
	want := git(t, bare, "", entries.String(), "mktree", "--missing", "-z")
	if tree := hgjudge.Open(t, repo.Dir).Changesets[0].Tree; tree != want {
		t.Errorf("the tree is %s, git says %s", tree, want)
	}
}

// A conversion that git made by hand is accepted, and each kind of fault in it is found.
func TestCheck(t *testing.T) {
	t.Parallel()
	h := hgfixture.NewHistory()
	h.Commit(hgfixture.Changeset{User: "Ann <ann@example.org>", Date: "1000000000 -3600", Description: "one"}, hgfixture.Put("f", "1\n"))
	h.Commit(hgfixture.Changeset{User: "Ann <ann@example.org>", Date: "1000000060 0", Description: "two", Branch: "side"}, hgfixture.Put("f", "2\n"))
	repo := hgfixture.New(t)
	repo.Load(t, h)
	repo.Run(t, "bookmark", "-r", "0", "mark")
	judge := hgjudge.Open(t, repo.Dir)

	for _, test := range []struct {
		name              string
		date, about, text string // of the second commit, its message, and the file in it
		orphan            bool   // it has no parent
		missing, surplus  string // refs
		unmapped          bool   // the second commit
		want              string
	}{
		{name: "right"},
		{name: "another date", date: "1000000061 +0000", want: `has the date " 1000000061 +0000\n", want " 1000000060 +0000\n"`},
		{name: "another zone", date: "1000000060 +0100", want: "has the date"},
		{name: "another message", about: "too", want: `has the message "too\n", want "two\n"`},
		{name: "no parent", orphan: true, want: `has the parents "", want`},
		{name: "another tree", text: "1\n", want: "has the tree"},
		{name: "no line", unmapped: true, want: "has no commit"},
		{name: "no bookmark", missing: "refs/heads/mark", want: `bookmark mark: refs/heads/mark is at ""`},
		{name: "no branch", missing: "refs/heads/side", want: "head of branch side"},
		{name: "another branch", surplus: "refs/archive/odd", want: "refs/archive/odd, at"},
		{name: "another tag", surplus: "refs/tags/odd", want: "refs/tags/odd, at"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			git(t, dir, "", "", "init", "--quiet", "--bare", "-b", "main")
			tree := func(text string) string {
				blob := git(t, dir, "", text, "hash-object", "-w", "--stdin")
				return git(t, dir, "", "100644 blob "+blob+"\tf\n", "mktree")
			}
			first := git(t, dir, "1000000000 +0100", "", "commit-tree", "-m", "one", tree("1\n"))
			parent := []string{"-p", first}
			if test.orphan {
				parent = nil
			}
			second := git(t, dir, cmp.Or(test.date, "1000000060 +0000"), "",
				append([]string{"commit-tree", "-m", cmp.Or(test.about, "two"), tree(cmp.Or(test.text, "2\n"))}, parent...)...)
			for name, commit := range map[string]string{"refs/heads/main": first, "refs/heads/mark": first, "refs/heads/side": second, test.surplus: second} {
				if name != "" && name != test.missing {
					git(t, dir, "", "", "update-ref", name, commit)
				}
			}
			lines := first + "\tdefault\t" + h.Node(1) + "\n"
			if !test.unmapped {
				lines += second + "\tside\t" + h.Node(2) + "\n"
			}
			mapFile := filepath.Join(t.TempDir(), "map")
			if err := os.WriteFile(mapFile, []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			n, err := judge.Check(t.Context(), mapFile, dir)
			if test.want == "" && (err != nil || n != 2) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %d, %v, want %q", n, err, test.want)
			}
		})
	}
}

// git runs git for Ann, at a date or none, in a directory.
func git(t *testing.T, dir, date, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
