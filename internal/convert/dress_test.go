package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry"
	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
)

var wholeDress = MapOptions{Shape: gantry.Shape{Dressing: gantry.Dressing{Ignores: true, Externals: true, Attributes: true, EmptyDirs: true, Trailers: true}}}

// dressing is a history with all that can be added to trees.
func dressing() *History {
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1\n"), Mkdir("branches"), Mkdir("trunk/sub"), Put("trunk/sub/g", "1\n"), Mkdir("trunk/sub/deep"), Mkdir("trunk/empty"), Mkdir("trunk/empty/inner"))
	h.Commit("a", "2", TouchDir("trunk").With("svn:ignore", "*.o\n#odd\n!not\n a b \nsub/*.x\n[ab]c\nno**thing\n").With("svn:global-ignores", "*.tmp\n#all\n"))
	h.Commit("a", "3", TouchDir("trunk/sub").With("svn:ignore", "*.x\r\nbuild\n"), Put("trunk/sub/.gitignore", "mine\n!kept.tmp\n"), Put("trunk/sub/deep/h", "h\n"))
	h.Commit("a", "4",
		Put("trunk/native", "1\n").With("svn:eol-style", "native").With("svn:keywords", "Id Rev"),
		Put("trunk/unix", "1\n").With("svn:eol-style", "LF"), Put("trunk/dos", "1\r\n").With("svn:eol-style", "CRLF"),
		Put("trunk/pic", "\x00").With("svn:mime-type", "image/png"), Put("trunk/text", "1\n").With("svn:mime-type", "text/plain; charset=x"),
		Put("trunk/a b*[c]", "1\n").With("svn:eol-style", "native"), Put("trunk/#\"quoted\"", "1\n").With("svn:keywords", "id"))
	h.Commit("a", "5", CopyDir("trunk", 4, "branches/b"), Put("branches/b/only", "here\n"))
	h.Commit("a", "6", TouchDir("").With("svn:global-ignores", "*.everywhere\n"))
	h.Commit("a", "7", Edit("trunk/f", "2\n"), Delete("trunk/sub/deep/h"))
	return h
}

// Without what was added each tree is Subversion's.
func TestDressedTrees(t *testing.T) {
	t.Parallel()
	for name, dump := range map[string][]byte{"standard": Standard().Bytes(), "dressing": dressing().Bytes()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := NewRepo(t)
			repo.Load(t, dump)
			plain := convertDump(t, repo.Dump(t))
			c := mapped(t, plain.Conversion, wholeDress)
			dir, _ := c.install(t)
			judge := svnjudge.Open(t, repo.Dir)
			if len(c.commits) < len(plain.commits) {
				t.Errorf("%d commits, and %d without dressing", len(c.commits), len(plain.commits))
			}
			index := filepath.Join(t.TempDir(), "index")
			inIndex := func(args ...string) string {
				cmd := exec.Command("git", append([]string{"--git-dir", dir}, args...)...)
				cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index, "GIT_WORK_TREE="+filepath.Dir(index))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %q: %v\n%s", args, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			for _, commit := range c.commits {
				want, err := judge.Tree(commit.Path, commit.Revision)
				if err != nil {
					t.Fatal(err)
				}
				inIndex("read-tree", commit.ID.String())
				added := []string{"update-index", "--force-remove", "--"}
				for file := range strings.SplitSeq(inIndex("ls-files", "-z"), "\x00") {
					if name := filepath.Base(file); name == ".gitattributes" || name == ".gitkeep" || name == ".gitignore" && file != "sub/.gitignore" {
						added = append(added, file)
					}
				}
				inIndex(added...)
				if strings.Contains(inIndex("ls-files"), "sub/.gitignore") { // the versioned part of it is at its end
					const versioned = "mine\n!kept.tmp\n"
					if text := git(t, nil, "--git-dir", dir, "cat-file", "blob", commit.ID.String()+":sub/.gitignore"); !strings.HasSuffix(text, versioned) {
						t.Errorf("r%d: .gitignore is %q", commit.Revision, text)
					}
					blob := strings.TrimSpace(git(t, []byte(versioned), "--git-dir", dir, "hash-object", "-w", "--stdin"))
					inIndex("update-index", "--cacheinfo", "100644,"+blob+",sub/.gitignore")
				}
				if got := inIndex("write-tree"); got != want {
					t.Errorf("%s in r%d: tree %s, Subversion has %s", commit.Path, commit.Revision, got, want)
				}
			}
		})
	}
}

// Subversion and Git ignore the same files.
func TestIgnores(t *testing.T) {
	t.Parallel()
	repo := NewRepo(t)
	repo.Load(t, dressing().Bytes())
	c := mapped(t, convertDump(t, repo.Dump(t)).Conversion, MapOptions{Shape: gantry.Shape{Dressing: gantry.Dressing{Ignores: true, EmptyDirs: true}}})
	bare, _ := c.install(t)
	wc, clone := filepath.Join(t.TempDir(), "wc"), filepath.Join(t.TempDir(), "clone")
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return string(out)
	}
	run("svn", "checkout", "--quiet", repo.At("trunk", 7), wc)
	run("git", "clone", "--quiet", bare, clone)
	var want, got []string
	for _, dir := range []string{"", "sub/", "sub/deep/", "empty/inner/"} {
		for _, name := range []string{"x.o", "#odd", "!not", " a b ", "ac", "cc", "nothing", "x.tmp", "#all", "x.x", "build", "x.everywhere", "plain"} {
			for _, root := range []string{wc, clone} {
				if err := os.WriteFile(filepath.Join(root, dir+name), nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			// Only svn's own configuration ignores more: *.o everywhere.
			status := run("svn", "status", "--no-ignore", "--config-option", "config:miscellany:global-ignores=none", filepath.Join(wc, dir+name)+"@")
			if strings.HasPrefix(status, "I") {
				want = append(want, dir+name)
			}
			if exec.Command("git", "-C", clone, "check-ignore", "--quiet", "--", "./"+dir+name).Run() == nil {
				got = append(got, dir+name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 15 {
		t.Errorf("Subversion ignores %d files; in Git:\n%s", len(want), diff)
	}
}

// What Git makes of the attributes is what the properties mean.
func TestAttributes(t *testing.T) {
	t.Parallel()
	c := mapped(t, convertDump(t, dressing().Bytes()).Conversion, wholeDress)
	dir, _ := c.install(t)
	const want = `
f text unspecified
f eol unspecified
f ident unspecified
native text set
native eol unspecified
native ident set
unix text set
unix eol lf
unix ident unspecified
dos text unset
dos eol unspecified
dos ident unspecified
pic text unset
pic eol unspecified
pic ident unspecified
text text unspecified
text eol unspecified
text ident unspecified
a b*[c] text set
a b*[c] eol unspecified
a b*[c] ident unspecified
#"quoted" text unspecified
#"quoted" eol unspecified
#"quoted" ident set
`
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, nil, "clone", "--quiet", dir, clone)
	got := git(t, nil, "-C", clone, "check-attr", "-z", "text", "eol", "ident", "--",
		"f", "native", "unix", "dos", "pic", "text", "a b*[c]", `#"quoted"`)
	var lines strings.Builder
	for triple := range slices.Chunk(strings.Split(strings.TrimSuffix(got, "\x00"), "\x00"), 3) {
		lines.WriteString(strings.Join(triple, " ") + "\n")
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), lines.String()); diff != "" {
		t.Error(diff)
	}
}

// An external that is a branch becomes a submodule, which git itself checks out. Others are listed.
func TestExternals(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1\n"), Mkdir("branches"), Mkdir("branches/lib"), Put("branches/lib/l", "1\n"))
	h.Commit("a", "2", Edit("branches/lib/l", "2\n"), Mkdir("trunk/sub"), Put("trunk/sub/g", "1\n"))
	h.Commit("a", "3", TouchDir("trunk").With("svn:externals", "# libraries\n^/branches/lib newest\n-r1 ^/branches/lib@2 deps/oldest\nelse svn://example.org/else\n^/branches/lib sub/g\n^/trunk/sub part\n"),
		TouchDir("trunk/sub").With("svn:externals", "../../branches/lib@1 'near'\n"))
	h.Commit("a", "4", Edit("branches/lib/l", "4\n"))
	h.Commit("a", "5", Edit("trunk/f", "5\n"))
	c := mapped(t, convertDump(t, h.Bytes()).Conversion, wholeDress)
	bare, _ := c.install(t)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, nil, "-c", "protocol.file.allow=always", "clone", "--quiet", "--recurse-submodules", bare, clone)
	for file, want := range map[string]string{"newest/l": "4\n", "deps/oldest/l": "1\n", "sub/near/l": "1\n", "sub/g": "1\n"} {
		if got, err := os.ReadFile(filepath.Join(clone, file)); string(got) != want {
			t.Errorf("%s is %q (%v), want %q", file, got, err, want)
		}
	}
	var left []string
	for _, e := range c.result.Report.Externals {
		left = append(left, e.Path+"|"+e.Definition)
	}
	if want := []string{"|else svn://example.org/else", "|^/branches/lib sub/g", "|^/trunk/sub part"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

func TestTrailers(t *testing.T) {
	t.Parallel()
	h := NewHistory(mapUUID)
	h.Commit("a", "Begin\n\nWith a reason.\n", Mkdir("trunk"), Put("trunk/f", "1\n"))
	h.Commit("a", "", Edit("trunk/f", "2\n"))
	c := mapped(t, convertDump(t, h.Bytes()).Conversion, MapOptions{Shape: gantry.Shape{Dressing: gantry.Dressing{Trailers: true}}})
	if got, want := c.log(t, "%(trailers:key=Subversion,valueonly)%s|", "main"), "trunk@1\nBegin|\nSubversion: trunk@2|\n"; got != want {
		t.Errorf("log is %q, want %q", got, want)
	}
}
