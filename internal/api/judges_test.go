package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	old "github.com/google/go-github/github"
	"github.com/google/go-github/v84/github"

	"gantry"
	"gantry/internal/api"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gantrytest/svnfixture"
)

// judge is a published client, reduced to what both of its generations have. An error that is not nil is the client's own.
type judge interface {
	createRepository(name string) error
	start(repo string, in old.Import) (*old.Import, *http.Response, error)
	progress(repo string) (*old.Import, *http.Response, error)
	update(repo string, in old.Import) (*old.Import, *http.Response, error)
	cancel(repo string) (*http.Response, error)
	authors(repo string) ([]*old.SourceImportAuthor, error)
	mapAuthor(repo string, id int64, in old.SourceImportAuthor) (*old.SourceImportAuthor, error)
	setLFS(repo, choice string) (*old.Import, error)
	largeFiles(repo string) ([]*old.LargeFile, error)
	follow(address string, into any) error
}

const owner = "alice"

// judge17 is go-github 17, which sends the preview media types; it logs in with a password.
type judge17 struct{ c *old.Client }

func newJudge17(t *testing.T, c *cast) judge {
	transport := old.BasicAuthTransport{Username: owner, Password: password(owner)}
	client, err := old.NewEnterpriseClient(c.url+"/", c.url+"/", transport.Client())
	check(t, err)
	return judge17{client}
}

func (j judge17) createRepository(name string) error {
	_, _, err := j.c.Repositories.Create(context.Background(), "", &old.Repository{Name: &name})
	return err
}

func (j judge17) start(repo string, in old.Import) (*old.Import, *http.Response, error) {
	imp, answer, err := j.c.Migrations.StartImport(context.Background(), owner, repo, &in)
	return imp, answer.Response, err
}

func (j judge17) progress(repo string) (*old.Import, *http.Response, error) {
	imp, answer, err := j.c.Migrations.ImportProgress(context.Background(), owner, repo)
	return imp, answer.Response, err
}

func (j judge17) update(repo string, in old.Import) (*old.Import, *http.Response, error) {
	imp, answer, err := j.c.Migrations.UpdateImport(context.Background(), owner, repo, &in)
	return imp, answer.Response, err
}

func (j judge17) cancel(repo string) (*http.Response, error) {
	answer, err := j.c.Migrations.CancelImport(context.Background(), owner, repo)
	return answer.Response, err
}

func (j judge17) authors(repo string) ([]*old.SourceImportAuthor, error) {
	list, _, err := j.c.Migrations.CommitAuthors(context.Background(), owner, repo)
	return list, err
}

func (j judge17) mapAuthor(repo string, id int64, in old.SourceImportAuthor) (*old.SourceImportAuthor, error) {
	author, _, err := j.c.Migrations.MapCommitAuthor(context.Background(), owner, repo, id, &in)
	return author, err
}

func (j judge17) setLFS(repo, choice string) (*old.Import, error) {
	imp, _, err := j.c.Migrations.SetLFSPreference(context.Background(), owner, repo, &old.Import{UseLFS: &choice})
	return imp, err
}

func (j judge17) largeFiles(repo string) ([]*old.LargeFile, error) {
	list, _, err := j.c.Migrations.LargeFiles(context.Background(), owner, repo)
	return list, err
}

func (j judge17) follow(address string, into any) error {
	r, err := j.c.NewRequest("GET", address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", previewType)
	_, err = j.c.Do(context.Background(), r, into)
	return err
}

// judge84 is go-github 84, which sends no preview and insists on /api/v3; it uses a token.
type judge84 struct{ c *github.Client }

func newJudge84(t *testing.T, c *cast) judge {
	client, err := github.NewClient(nil).WithAuthToken(c.token["alice repo"]).WithEnterpriseURLs(c.url, c.url)
	check(t, err)
	return judge84{client}
}

func (j judge84) createRepository(name string) error {
	_, _, err := j.c.Repositories.Create(context.Background(), "", &github.Repository{Name: &name})
	return err
}

func (j judge84) start(repo string, in old.Import) (*old.Import, *http.Response, error) {
	imp, answer, err := j.c.Migrations.StartImport(context.Background(), owner, repo, newImport(in))
	return oldImport(imp), answer.Response, err
}

func (j judge84) progress(repo string) (*old.Import, *http.Response, error) {
	imp, answer, err := j.c.Migrations.ImportProgress(context.Background(), owner, repo)
	return oldImport(imp), answer.Response, err
}

func (j judge84) update(repo string, in old.Import) (*old.Import, *http.Response, error) {
	imp, answer, err := j.c.Migrations.UpdateImport(context.Background(), owner, repo, newImport(in))
	return oldImport(imp), answer.Response, err
}

func (j judge84) cancel(repo string) (*http.Response, error) {
	answer, err := j.c.Migrations.CancelImport(context.Background(), owner, repo)
	return answer.Response, err
}

func (j judge84) authors(repo string) ([]*old.SourceImportAuthor, error) {
	list, _, err := j.c.Migrations.CommitAuthors(context.Background(), owner, repo)
	var authors []*old.SourceImportAuthor
	for _, a := range list {
		authors = append(authors, (*old.SourceImportAuthor)(a))
	}
	return authors, err
}

func (j judge84) mapAuthor(repo string, id int64, in old.SourceImportAuthor) (*old.SourceImportAuthor, error) {
	author, _, err := j.c.Migrations.MapCommitAuthor(context.Background(), owner, repo, id, (*github.SourceImportAuthor)(&in))
	return (*old.SourceImportAuthor)(author), err
}

func (j judge84) setLFS(repo, choice string) (*old.Import, error) {
	imp, _, err := j.c.Migrations.SetLFSPreference(context.Background(), owner, repo, &github.Import{UseLFS: &choice})
	return oldImport(imp), err
}

func (j judge84) largeFiles(repo string) ([]*old.LargeFile, error) {
	list, _, err := j.c.Migrations.LargeFiles(context.Background(), owner, repo)
	var files []*old.LargeFile
	for _, f := range list {
		files = append(files, (*old.LargeFile)(f))
	}
	return files, err
}

func (j judge84) follow(address string, into any) error {
	r, err := j.c.NewRequest("GET", address, nil)
	if err != nil {
		return err
	}
	_, err = j.c.Do(context.Background(), r, into)
	return err
}

// newImport and oldImport carry over what the scenarios use.
func newImport(in old.Import) *github.Import {
	return &github.Import{VCS: in.VCS, VCSURL: in.VCSURL, VCSUsername: in.VCSUsername, VCSPassword: in.VCSPassword}
}

func oldImport(in *github.Import) *old.Import {
	if in == nil {
		return nil
	}
	return &old.Import{
		VCS: in.VCS, VCSURL: in.VCSURL, UseLFS: in.UseLFS, Status: in.Status, StatusText: in.StatusText, HasLargeFiles: in.HasLargeFiles,
		AuthorsCount: in.AuthorsCount, Percent: in.Percent, PushPercent: in.PushPercent, CommitCount: in.CommitCount, Message: in.Message,
		FailedStep: in.FailedStep, URL: in.URL, HTMLURL: in.HTMLURL, AuthorsURL: in.AuthorsURL, RepositoryURL: in.RepositoryURL,
	}
}

// settle polls an import until nobody works on it any more, and returns it.
func settle(t *testing.T, j judge, repo string) *old.Import {
	t.Helper()
	var imp *old.Import
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var answer *http.Response
		var err error
		imp, answer, err = j.progress(repo)
		check(t, err)
		if answer.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("progress may be cached: %q", answer.Header.Get("Cache-Control"))
		}
		if !gantry.ImportStatus(imp.GetStatus()).Live() {
			return imp
		}
	}
	t.Fatalf("the import does not end: %v", imp)
	return nil
}

// The origins of this file let one user in.
const originUser, originPassword = "reader", "letmein"

// logIn waits until an import asks for credentials, and sends them.
func logIn(t *testing.T, j judge, repo string) {
	t.Helper()
	if imp := settle(t, j, repo); imp.GetStatus() != "auth_failed" {
		t.Fatalf("without credentials: %v", imp)
	}
	imp, _, err := j.update(repo, old.Import{VCSUsername: old.String(originUser), VCSPassword: old.String(originPassword)})
	check(t, err)
	if imp.GetStatus() != "detecting" {
		t.Errorf("with credentials: %v", imp)
	}
}

// Published clients start, watch, change and cancel imports with all eight operations, and follow what they are told.
func TestPublishedClientsImport(t *testing.T) {
	t.Parallel()
	origins := map[string]struct {
		vcs, url string
		author   string // remote name of one
	}{
		"git":        {"git", gitOrigin(t), "Ada Lovelace"},
		"subversion": {"subversion", svnOrigin(t), "bob"},
	}
	judges := map[string]struct {
		lenient bool
		make    func(*testing.T, *cast) judge
	}{
		"go-github 17": {false, newJudge17},
		"go-github 84": {true, newJudge84},
	}
	for name, as := range judges {
		for origin, from := range origins {
			t.Run(name+" "+origin, func(t *testing.T) {
				t.Parallel()
				c := world(t, func(o *api.Options) { o.Lenient = as.lenient })
				j := as.make(t, c)
				const repo = "imported"
				check(t, j.createRepository(repo))
				url := c.url + "/repos/alice/" + repo + "/import"

				imp, answer, err := j.start(repo, old.Import{VCS: &from.vcs, VCSURL: &from.url})
				check(t, err)
				if answer.StatusCode != 201 || answer.Header.Get("Location") != url || imp.GetURL() != url || imp.GetStatus() != "importing" {
					t.Fatalf("started: %d, Location %q, %v", answer.StatusCode, answer.Header.Get("Location"), imp)
				}
				logIn(t, j, repo)
				if imp = settle(t, j, repo); imp.GetStatus() != "complete" || imp.GetVCS() != from.vcs || imp.HasLargeFiles == nil {
					t.Fatalf("imported: %v", imp)
				}

				var authors []*old.SourceImportAuthor
				check(t, j.follow(imp.GetAuthorsURL(), &authors))
				listed, err := j.authors(repo)
				check(t, err)
				if len(authors) != imp.GetAuthorsCount() || len(listed) != len(authors) {
					t.Fatalf("%d authors at the url, %d listed, %d counted", len(authors), len(listed), imp.GetAuthorsCount())
				}
				at := slices.IndexFunc(authors, func(a *old.SourceImportAuthor) bool { return a.GetRemoteName() == from.author })
				if at < 0 {
					t.Fatalf("%s is not among %v", from.author, authors)
				}
				email, full := "new@example.com", "New Name"
				mapped, err := j.mapAuthor(repo, authors[at].GetID(), old.SourceImportAuthor{Email: &email, Name: &full})
				check(t, err)
				var same old.SourceImportAuthor
				check(t, j.follow(mapped.GetURL(), &same))
				if same.GetEmail() != email || same.GetName() != full || same.GetRemoteName() != from.author || same.GetImportURL() != url {
					t.Errorf("mapped: %v", same)
				}
				if imp = settle(t, j, repo); imp.GetStatus() != "complete" {
					t.Fatalf("mapped again: %v", imp)
				}
				if log := c.log(repo); !strings.Contains(log, "New Name <new@example.com>") || strings.Contains(log, from.author+" <") {
					t.Errorf("the authors in the repository are\n%s", log)
				}

				imp, err = j.setLFS(repo, "opt_in")
				check(t, err)
				if imp.GetUseLFS() != "opt_in" {
					t.Errorf("LFS: %v", imp)
				}
				settle(t, j, repo)
				files, err := j.largeFiles(repo)
				check(t, err)
				if len(files) != 0 {
					t.Errorf("large files: %v", files)
				}

				imp, answer, err = j.update(repo, old.Import{})
				check(t, err)
				if imp.GetStatus() != "importing" || answer.Header.Get("Location") != url {
					t.Errorf("restarted: %v, Location %q", imp, answer.Header.Get("Location"))
				}
				logIn(t, j, repo) // credentials are not kept after an import is complete
				if imp = settle(t, j, repo); imp.GetStatus() != "complete" {
					t.Fatalf("restarted: %v", imp)
				}
				var home old.Repository
				check(t, j.follow(imp.GetRepositoryURL(), &home))
				if home.GetFullName() != "alice/"+repo || home.GetDefaultBranch() != "main" {
					t.Errorf("the repository: %v", home)
				}

				answer, err = j.cancel(repo)
				check(t, err)
				if answer.StatusCode != 204 {
					t.Errorf("cancelled: %d", answer.StatusCode)
				}
				if _, answer, err = j.progress(repo); err == nil || answer.StatusCode != 404 {
					t.Errorf("after the cancellation: %d, %v", answer.StatusCode, err)
				}
			})
		}
	}
}

// log is what the repository's main branch says of authors.
func (c *cast) log(name string) string {
	c.t.Helper()
	view, err := c.repos.Get(context.Background(), gantry.Principal{User: c.alice, Credential: gantry.CredPassword}, owner, name)
	check(c.t, err)
	dir, release, err := c.repos.OpenRead(context.Background(), &view.Repository)
	check(c.t, err)
	defer release()
	return gitfixture.Git(c.t, dir, "log", "--format=%an <%ae>", "refs/heads/main")
}

// gitOrigin serves a history with merges and tags over HTTP, to one user.
func gitOrigin(t *testing.T) (url string) {
	t.Helper()
	return gitfixture.ServeHTTP(t, gitfixture.Repository(t, "app.git"), originUser, originPassword) + "/app.git"
}

// svnOrigin serves a history with branches and tags by svnserve, to one user.
func svnOrigin(t *testing.T) (url string) {
	t.Helper()
	repo := svnfixture.NewStandardRepo(t)
	return "svn://" + svnfixture.Serve(t, repo.Root, svnfixture.User{Name: originUser, Password: originPassword}) + "/repo"
}
