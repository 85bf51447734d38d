package svnjudge_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
)

// The judge must agree with the two tools that everybody has: what `svn export` writes and `git write-tree` says of it.
func TestTreeIsWhatExportGives(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewStandardRepo(t)
	judge := svnjudge.Open(t, repo.Dir)
	head, err := judge.Head()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for revision := int64(1); revision <= head; revision += 3 {
		for _, path := range []string{"trunk", "branches", "tags"} {
			tree, err := judge.Tree(path, revision)
			if err != nil {
				t.Fatal(err)
			}
			if tree == "" || tree == svnjudge.EmptyTree {
				continue
			}
			if want := exported(t, repo.At(path, revision)); tree != want {
				t.Errorf("%s in r%d: the judge says %s, svn export and git say %s", path, revision, tree, want)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d trees were compared", checked)
	}
}

// exported is the tree of what svn writes for an address.
func exported(t *testing.T, address string) string {
	dir := filepath.Join(t.TempDir(), "export")
	run(t, "", "svn", "export", "--quiet", "--ignore-keywords", "--native-eol", "LF", address, dir)
	run(t, dir, "git", "init", "--quiet")
	run(t, dir, "git", "-c", "core.autocrlf=false", "add", "--all", "--force")
	return run(t, dir, "git", "write-tree")
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewRepo(t)
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("a", "", svnfixture.Mkdir("trunk"), svnfixture.Mkdir("trunk/empty"), svnfixture.Put("trunk/f", "1\n"))
	h.Commit("a", "", svnfixture.CopyDir("trunk", 1, "copy"), svnfixture.Edit("copy/f", "2\n"))
	repo.Load(t, h.Bytes())
	judge := svnjudge.Open(t, repo.Dir)

	if tree, err := judge.Tree("nothing", 2); tree != "" || err != nil {
		t.Errorf("Tree of nothing: %q, %v", tree, err)
	}
	if tree, err := judge.Tree("trunk/empty", 1); tree != svnjudge.EmptyTree || err != nil {
		t.Errorf("Tree of an empty directory: %q, %v", tree, err)
	}
	if changes, err := judge.Changes(2); strings.Join(changes, " ") != "copy copy/f" || err != nil {
		t.Errorf("Changes(2): %q, %v", changes, err)
	}
	if source, err := judge.Source("copy/empty", 2); source == nil || *source != (svnjudge.Place{Path: "trunk/empty", Revision: 1}) || err != nil {
		t.Errorf("Source: %v, %v", source, err)
	}
	if source, err := judge.Source("trunk", 2); source != nil || err != nil {
		t.Errorf("Source of what was not copied: %v, %v", source, err)
	}
	if _, err := judge.Tree("trunk", 99); err == nil || !strings.Contains(err.Error(), "No such revision 99") {
		t.Errorf("a revision that is not there: %v", err)
	}
}

// Names that Git refuses are escaped in the one documented way.
func TestNamesThatGitRefuses(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewRepo(t)
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	nodes := []svnfixture.Node{svnfixture.Mkdir("trunk")}
	git := t.TempDir()
	run(t, "", "git", "init", "--quiet", "--bare", git)
	var entries strings.Builder
	for name, want := range map[string]string{
		".git":          "%2Egit",
		".Git. ":        "%2EGit. ",
		"git~1":         "%67it~1",
		"GITMOD~3":      "%47ITMOD~3",
		".gitmodules":   ".gitmodules",
		".gitmodules:x": "%2Egitmodules:x",
		".gi\u200ct":    "%2Egi\u200ct",
		`a\.git`:        "%61%5C.git",
		"%2Egit":        "%252Egit",
		"%41":           "%41",
		"100% sure":     "100% sure",
		"git":           "git",
		".gitignore":    ".gitignore",
		"gi7eba~10":     "gi7eba~10",
		"gi7eba~1":      "%67i7eba~1",
	} {
		nodes = append(nodes, svnfixture.Put("trunk/"+name, "x"))
		fmt.Fprintf(&entries, "100644 blob c1b0730e0133447badcfd47fd144e254807b06e1\t%s\x00", want)
	}
	h.Commit("a", "", nodes...)
	repo.Load(t, h.Bytes())
	mktree := exec.CommandContext(t.Context(), "git", "-C", git, "mktree", "--missing", "-z")
	mktree.Stdin = strings.NewReader(entries.String())
	want, err := mktree.Output()
	if err != nil {
		t.Fatal(err)
	}
	if tree, err := svnjudge.Open(t, repo.Dir).Tree("trunk", 1); tree != strings.TrimSpace(string(want)) || err != nil {
		t.Errorf("the tree is %s, %v; git says %s", tree, err, want)
	}
}

// A conversion that git and svn made by hand is accepted, and each kind of fault in it is found.
func TestCheck(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewRepo(t)
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("a", "", svnfixture.Mkdir("trunk"), svnfixture.Mkdir("branches"), svnfixture.Mkdir("tags"), svnfixture.Put("trunk/f", "1\n"))
	h.Commit("a", "", svnfixture.Edit("trunk/f", "2\n"))
	h.Commit("a", "", svnfixture.CopyDir("trunk", 1, "branches/old"))
	repo.Load(t, h.Bytes())

	dir := filepath.Join(t.TempDir(), "work")
	run(t, "", "git", "init", "--quiet", "-b", "main", dir)
	commit := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "git", "add", "f")
		run(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", text)
		return run(t, dir, "git", "rev-parse", "HEAD")
	}
	first := commit("1\n")
	run(t, dir, "git", "branch", "old")
	second := commit("2\n")

	for _, test := range []struct{ name, lines, branch, want string }{
		{"right", first + "\ttrunk\t1\n" + second + "\ttrunk\t2\n", "old", ""},
		{"wrong tree", first + "\ttrunk\t1\n" + first + "\ttrunk\t2\n", "old", "trunk in r2: commit"},
		{"missing commit", second + "\ttrunk\t2\n", "old", "trunk in r1 has no commit"},
		{"missing ref", first + "\ttrunk\t1\n" + second + "\ttrunk\t2\n", "gone", "branches/old: refs/heads/old has tree"},
		{"no map", "nonsense\n", "old", "not a line of three fields"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bare := filepath.Join(t.TempDir(), "bare.git")
			run(t, "", "git", "clone", "--quiet", "--bare", dir, bare)
			if test.branch != "old" {
				run(t, bare, "git", "branch", "-m", "old", test.branch)
			}
			mapFile := filepath.Join(t.TempDir(), "map")
			if err := os.WriteFile(mapFile, []byte(test.lines), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, bare)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
