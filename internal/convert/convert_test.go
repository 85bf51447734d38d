package convert

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/origin/svn"
)

// Each commit's tree is what libsvn says of its path and revision, every change has its commit, every living branch and
// tag its ref, and Git finds nothing wrong. The way that the history comes makes no difference.
func TestTreesAreSubversions(t *testing.T) {
	t.Parallel()
	for name, dump := range map[string][]byte{"standard": svnfixture.Standard().Bytes(), "traps": traps().Bytes(), "long texts": longTexts().Bytes()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := svnfixture.NewRepo(t)
			repo.Load(t, dump)
			first := convertFrom(t, openDumpBytes(t, repo.Dump(t)))
			dir, mapFile := first.install(t)
			commits, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, dir)
			if err != nil {
				t.Error(err)
			}
			if commits != int(first.result.Commits) || commits == 0 {
				t.Errorf("%d commits judged, %d in the result", commits, first.result.Commits)
			}
			for way, src := range map[string]origin.PathSource{"deltas": openDumpBytes(t, repo.Dump(t, "--deltas")), "svn": dial(t, repo, ""), "http": dialHTTP(t, repo, "", davfixture.Config{})} {
				c := convertFrom(t, src)
				if !slices.Equal(c.commits, first.commits) || !slices.Equal(c.result.Refs, first.result.Refs) {
					t.Errorf("%s: other commits than from whole texts", way)
				}
				if r := c.result.Report; r.VerifiedTexts != r.Files || r.Files == 0 {
					t.Errorf("%s: %d of %d texts verified", way, r.VerifiedTexts, r.Files)
				}
				c.install(t)
			}
		})
	}
}

// Read from below its root, a repository may lose the directory that is read, and get it back.
func TestRootThatComesBack(t *testing.T) {
	t.Parallel()
	h := svnfixture.NewHistory("2f0c61a6-2bd2-4c1f-9d3e-0a7b86e4d211")
	h.Commit("alice", "Begin", svnfixture.Mkdir("project"), svnfixture.Mkdir("project/trunk"), svnfixture.Put("project/trunk/a", "1\n"))
	h.Commit("alice", "Edit", svnfixture.Edit("project/trunk/a", "2\n"))
	h.Commit("bob", "Delete", svnfixture.Delete("project"))
	h.Commit("bob", "Begin again", svnfixture.Mkdir("project"), svnfixture.Mkdir("project/trunk"), svnfixture.Put("project/trunk/b", "3\n"))
	h.Commit("alice", "Go back", svnfixture.CopyDir("project", 2, "project").Replacing(), svnfixture.Put("project/trunk/c", "4\n"))
	repo := svnfixture.NewRepo(t)
	repo.Load(t, h.Bytes())
	c := convertFrom(t, dial(t, repo, "/project"))
	dir, _ := c.install(t)
	c.judgeTrees(t, repo, dir, "project")
	if revisions := len(c.commits); revisions != 4 {
		t.Errorf("%d commits, want one of each revision but the one that deletes", revisions)
	}
}

// dial opens a repository, or what is below it, through a server.
func dial(t *testing.T, repo *svnfixture.Repo, below string) origin.PathSource {
	t.Helper()
	return dialAddr(t, svnfixture.Serve(t, repo.Root), below)
}

func dialAddr(t *testing.T, addr, below string) origin.PathSource {
	t.Helper()
	src, err := svn.Open(t.Context(), svn.Options{
		URL:     &url.URL{Scheme: "svn", Host: addr, Path: "/repo" + below},
		Dial:    new(net.Dialer).DialContext,
		TempDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// dialHTTP is dial through Apache.
func dialHTTP(t *testing.T, repo *svnfixture.Repo, below string, config davfixture.Config) origin.PathSource {
	t.Helper()
	return dialServer(t, davfixture.Serve(t, repo.Root, config), below)
}

func dialServer(t *testing.T, server *davfixture.Server, below string) origin.PathSource {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	address.Path += "/repo" + below
	src, err := svn.Open(t.Context(), svn.Options{URL: address, HTTP: server.Client.Transport, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// converted is a conversion that has come to its end.
type converted struct {
	*Conversion
	result  *Result
	commits []history.Commit
}

func convertDump(t *testing.T, dump []byte) converted {
	t.Helper()
	return convertFrom(t, openDumpBytes(t, dump))
}

func convertFrom(t *testing.T, src origin.PathSource) converted {
	t.Helper()
	staging := t.TempDir()
	c, err := Open(t.Context(), Options{Dir: staging, Writer: "a", Journal: OpenFileJournal(filepath.Join(staging, "journal"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Read(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	return mapped(t, c, MapOptions{})
}

func mapped(t *testing.T, c *Conversion, opt MapOptions) converted {
	t.Helper()
	return mappedBy(t, c, c.Map, opt)
}

func mappedBy(t *testing.T, c *Conversion, by func(context.Context, MapOptions) (*Result, error), opt MapOptions) converted {
	t.Helper()
	done := converted{Conversion: c}
	opt.Commit = func(c history.Commit) error {
		done.commits = append(done.commits, c)
		return nil
	}
	var err error
	if done.result, err = by(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return done
}

func openDumpBytes(t *testing.T, dump []byte) origin.PathSource {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(file, dump, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := svn.OpenDump(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// install makes a bare repository of the result with git alone, checks it, and writes the map file.
func (c converted) install(t *testing.T) (dir, mapFile string) {
	t.Helper()
	dir, mapFile = filepath.Join(t.TempDir(), "result.git"), filepath.Join(t.TempDir(), "map")
	git(t, nil, "init", "--quiet", "--bare", dir)
	var packed bytes.Buffer
	if _, err := c.WritePack(t.Context(), &packed, c.result, nil); err != nil {
		t.Fatal(err)
	}
	git(t, packed.Bytes(), "--git-dir", dir, "index-pack", "--strict", "--stdin")
	var refs strings.Builder
	for _, ref := range c.result.Refs {
		fmt.Fprintf(&refs, "create %s %s\n", ref.Name, ref.ID)
	}
	git(t, []byte(refs.String()), "--git-dir", dir, "update-ref", "--stdin")
	git(t, nil, "--git-dir", dir, "symbolic-ref", "HEAD", c.result.Head)
	if out := git(t, nil, "--git-dir", dir, "-c", "fsck.gitmodulesParse=ignore", "-c", "fsck.gitattributesSymlink=ignore", "-c", "fsck.gitignoreSymlink=ignore", "-c", "fsck.mailmapSymlink=ignore",
		"fsck", "--strict", "--full", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
		t.Errorf("git fsck: %s", out)
	}
	var lines strings.Builder
	for _, commit := range c.commits {
		revision := strconv.FormatInt(commit.Revision, 10)
		if !commit.Node.IsNull() {
			revision = commit.Node.String()
		}
		fmt.Fprintf(&lines, "%s\t%s\t%s\n", commit.ID, commit.Path, revision)
	}
	if err := os.WriteFile(mapFile, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, mapFile
}

func git(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (c converted) refs() []string {
	var names []string
	for _, ref := range c.result.Refs {
		names = append(names, ref.Name)
	}
	return names
}

// Refs of the standard fixture: living ones by their names, what ended below refs/archive unless it is
// reachable, as the first feature is: trunk has merged it.
func TestRefs(t *testing.T) {
	t.Parallel()
	done := convertDump(t, svnfixture.Standard().Bytes())
	want := []string{
		"refs/archive/branches/stable@33", "refs/archive/tags/rc1@30",
		"refs/heads/feature", "refs/heads/main", "refs/heads/stable", "refs/tags/v1.0", "refs/tags/v1.1",
	}
	if got := done.refs(); !slices.Equal(got, want) {
		t.Errorf("refs:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if done.result.Head != "refs/heads/main" {
		t.Errorf("HEAD is %s", done.result.Head)
	}
	dir, _ := done.install(t)
	for ref, want := range map[string]string{"refs/tags/v1.0": "tag", "refs/tags/v1.1": "commit", "refs/archive/tags/rc1@30": "tag"} {
		if got := strings.TrimSpace(git(t, nil, "--git-dir", dir, "cat-file", "-t", ref)); got != want {
			t.Errorf("%s is a %s, want a %s", ref, got, want)
		}
	}
}
