package gantrytest_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v84/github"

	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/gantrytest/hgjudge"
)

// A published client imports a real Mercurial server, maps an author, and restarts when there is something new; what git
// clones in the end is what hg has. The same repository as an uploaded bundle gives the same commits.
func TestImportOfMercurial(t *testing.T) {
	t.Parallel()
	server := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_PREVIEW=lenient", "GANTRY_RATE_USER=1000000"}})
	client := newClient(t, server)
	repo := hgfixture.NewStandard(t)
	address := repo.Serve(t)
	watch := watchImport(t, client, "mercurial")
	watch.start(github.Import{VCSURL: &address})
	imp := watch.until("complete")
	if imp.GetVCS() != "mercurial" || imp.GetAuthorsCount() != len(watch.authors()) {
		t.Errorf("vcs %q with %d authors, of whom %d are listed", imp.GetVCS(), imp.GetAuthorsCount(), len(watch.authors()))
	}
	judgeMercurial(t, repo, cloneOf(t, server, watch.repo))

	// Names and addresses are taken apart; the one whom the client maps is another one from then on.
	authors := watch.authors()
	i := slices.IndexFunc(authors, func(a *github.SourceImportAuthor) bool {
		return a.GetRemoteID() == "alice@example.org" && a.GetRemoteName() == "alice"
	})
	if i < 0 {
		t.Fatalf("alice is not among the authors: %v", authors)
	}
	watch.mapAuthor(authors[i].GetID(), "Alice Example", "a.example@example.com")
	watch.until("complete")
	names := git(t, cloneOf(t, server, watch.repo), "log", "--all", "--format=%an <%ae>")
	if !strings.Contains(names, "Alice Example <a.example@example.com>\n") || strings.Contains(names, "alice <alice@example.org>\n") {
		t.Errorf("after alice was mapped the authors are:\n%s", names)
	}
	watch.mapAuthor(authors[i].GetID(), "alice", "alice@example.org")
	watch.until("complete")

	// What is new comes with a restart; what is moved or gone at the origin moves or goes here.
	repo.Run(t, "update", "-q", "null") // no file system has all names of the others
	repo.Write(t, "fresh", "new\n")
	repo.Commit(t, "Something new")
	repo.Run(t, "bookmark", "-q", "-f", "-r", "tip", "top")
	repo.Run(t, "bookmark", "-q", "-d", "mark")
	watch.restart()
	watch.until("complete")
	clone := cloneOf(t, server, watch.repo)
	if text := git(t, clone, "show", "top:fresh"); text != "new\n" {
		t.Errorf("what is new at the origin is not there after a restart: %q", text)
	}
	if refs := git(t, clone, "for-each-ref", "refs/heads/mark*"); refs != "" {
		t.Errorf("a bookmark that is gone is still a branch: %s", refs)
	}
	judgeMercurial(t, repo, clone)

	bundle, err := os.ReadFile(repo.Bundle(t, "zstd-v2"))
	must(t, err)
	uploaded := server.CreateRepository("uploaded-bundle")
	if status := sendUntil(t, server, uploaded, bundle, 0, int64(len(bundle))); status != http.StatusCreated {
		t.Fatalf("the upload of a bundle is answered with %d", status)
	}
	server.WaitForImport(uploaded, timeout)
	const commits = "--format=%H"
	if got, want := git(t, cloneOf(t, server, uploaded), "log", commits, "--date-order", "main"), git(t, clone, "log", commits, "--date-order", "main"); got != want {
		t.Errorf("the commits of an uploaded bundle are\n%swant those of the server's repository\n%s", got, want)
	}
}

// judgeMercurial compares a clone with what the command line makes of the same repository, and that with what hg has.
func judgeMercurial(t *testing.T, repo *hgfixture.Repo, clone string) {
	t.Helper()
	dir := t.TempDir()
	converted, lines := filepath.Join(dir, "converted.git"), filepath.Join(dir, "map")
	if out, err := exec.Command(gantrytest.Build(t), "convert", "--map", lines, repo.Serve(t), converted).CombinedOutput(); err != nil {
		t.Fatalf("gantry convert: %v\n%s", err, out)
	}
	git(t, converted, "fsck", "--strict")
	const all = "--format=%(objectname)\t%(refname)"
	if got, want := git(t, clone, "for-each-ref", all, "refs/heads", "refs/tags"), git(t, converted, "for-each-ref", all, "refs/heads", "refs/tags"); got != want {
		t.Errorf("the server's import and the command line's differ:\n%s\nand\n%s", got, want)
	}
	if _, err := hgjudge.Open(t, repo.Dir).Check(t.Context(), lines, converted); err != nil {
		t.Error(err)
	}
}
