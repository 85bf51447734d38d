package gantrytest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v84/github"

	"gantry"
	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
)

// A published client takes imports of a real Subversion and a real Git server through every state of the contract, maps
// authors during and after them, restarts and cancels; what git clones is what libsvn and the origin have.
func TestImportWithPublishedClient(t *testing.T) {
	t.Parallel()
	server := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_PREVIEW=lenient", "GANTRY_RATE_USER=1000000"}})
	client := newClient(t, server)

	t.Run("subversion", func(t *testing.T) {
		user := svnfixture.User{Name: "jrandom", Password: "correct horse"}
		repo := svnfixture.NewStandardRepo(t)
		gate := newGate(t, svnfixture.Serve(t, repo.Root, user))
		watch := watchImport(t, client, "standard")
		origin := "svn://" + gate.addr + "/repo"

		watch.start(github.Import{VCSURL: &origin})
		watch.until("detection_needs_auth")
		watch.update(github.Import{VCSUsername: &user.Name, VCSPassword: github.Ptr("wrong")})
		watch.until("auth_failed")
		gate.hold(2 << 10)
		imp := watch.update(github.Import{VCSUsername: &user.Name, VCSPassword: &user.Password})
		if imp.GetStatus() != "detecting" {
			t.Errorf("after a PATCH with credentials the import is %q, want detecting", imp.GetStatus())
		}
		watch.until("importing")
		gate.open()
		watch.until("complete")

		before := server.Refs(watch.repo)
		authors := watch.authors()
		i := slices.IndexFunc(authors, func(a *github.SourceImportAuthor) bool { return a.GetRemoteName() == "alice" })
		if i < 0 {
			t.Fatalf("alice is not among the authors: %v", authors)
		}
		if want := "alice@" + svnfixture.StandardUUID; authors[i].GetRemoteID() != want || authors[i].GetEmail() != want {
			t.Errorf("alice is %v, want the remote id and address %s", authors[i], want)
		}
		watch.mapAuthor(authors[i].GetID(), "Alice Example", "alice@example.org")
		watch.until("complete")
		// Mapping takes no time at first; now it was waited for in the queue.
		for _, status := range []string{"detecting", "importing", "mapping", "pushing"} {
			if !slices.Contains(watch.seen, status) {
				t.Errorf("the state %s was never seen: %v", status, watch.seen)
			}
		}
		after := server.Refs(watch.repo)
		if before == after {
			t.Error("mapping an author of a complete import changed no commit")
		}
		clone := cloneOf(t, server, watch.repo)
		if names := git(t, clone, "log", "--all", "--format=%an <%ae>"); !strings.Contains(names, "Alice Example <alice@example.org>") {
			t.Errorf("the mapped author is in no commit:\n%s", names)
		}

		// The command line converts the same history to the same commits, and says where each comes from: libsvn judges.
		judgeConversion(t, repo, clone)

		// Credentials are forgotten when an import ends, so a restart has to be given them again.
		watch.restart()
		watch.until("auth_failed")
		watch.update(github.Import{VCSUsername: &user.Name, VCSPassword: &user.Password})
		watch.until("complete")
		if again := server.Refs(watch.repo); again != after {
			t.Errorf("a restart with nothing new at the origin moved refs:\n%s\nwant\n%s", again, after)
		}
		repo.Commit(t, "bob", "Something new", "mkdir", "trunk/fresh", "put", writeFile(t, "new\n"), "trunk/fresh/file")
		watch.update(github.Import{VCSUsername: &user.Name, VCSPassword: &user.Password})
		watch.until("complete")
		if text := git(t, cloneOf(t, server, watch.repo), "show", "main:fresh/file"); text != "new\n" {
			t.Errorf("what is new at the origin is not there after a restart: %q", text)
		}

		checkNoSecret(t, server, user.Password)

		watch.cancel()
		if _, resp, err := client.Migrations.ImportProgress(t.Context(), "admin", "standard"); err == nil || resp.StatusCode != http.StatusNotFound {
			t.Errorf("after a cancel the import's progress is answered with %v", resp.Status)
		}
		if server.Refs(watch.repo) == "" {
			t.Error("a cancel took away what was imported before")
		}
	})

	t.Run("author mapped while importing", func(t *testing.T) {
		repo := svnfixture.NewStandardRepo(t)
		gate := newGate(t, svnfixture.Serve(t, repo.Root))
		watch := watchImport(t, client, "mapped-early")
		origin := "svn://" + gate.addr + "/repo"
		gate.hold(6 << 10)
		watch.start(github.Import{VCSURL: &origin, VCS: github.Ptr("svn")})
		var author *github.SourceImportAuthor
		for deadline := time.Now().Add(time.Minute); author == nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no author appears while the origin is read")
			}
			if authors := watch.authors(); len(authors) > 0 {
				author = authors[0]
			}
		}
		watch.mapAuthor(author.GetID(), "Early Bird", "early@example.org")
		gate.open()
		watch.until("complete")
		if names := git(t, cloneOf(t, server, watch.repo), "log", "--all", "--format=%an"); !strings.Contains(names, "Early Bird\n") {
			t.Errorf("the mapped author is in no commit:\n%s", names)
		}
	})

	t.Run("git", func(t *testing.T) {
		root := gitfixture.Repository(t, "project.git")
		address := gitfixture.ServeHTTP(t, root, "jrandom", "correct horse") + "/project.git"
		watch := watchImport(t, client, "git")
		watch.start(github.Import{VCSURL: &address})
		watch.until("detection_needs_auth")
		watch.update(github.Import{VCSUsername: github.Ptr("jrandom"), VCSPassword: github.Ptr("correct horse")})
		imp := watch.until("complete")
		if imp.GetVCS() != "git" {
			t.Errorf("vcs is %q", imp.GetVCS())
		}
		want := git(t, filepath.Join(root, "project.git"), "for-each-ref", "--format=%(objectname)\t%(refname)", "refs/heads", "refs/tags")
		clone := cloneOf(t, server, watch.repo)
		if got := git(t, clone, "for-each-ref", "--format=%(objectname)\t%(refname)", "refs/heads", "refs/tags"); got != want {
			t.Errorf("refs after an import without a mapping:\n%s\nwant those of the origin:\n%s", got, want)
		}
		author := watch.authors()[0]
		watch.mapAuthor(author.GetID(), "Somebody Else", "else@example.org")
		watch.until("complete")
		if names := git(t, cloneOf(t, server, watch.repo), "log", "--all", "--format=%an"); !strings.Contains(names, "Somebody Else\n") || strings.Contains(names, author.GetRemoteName()+"\n") {
			t.Errorf("after %s was mapped the authors are:\n%s", author.GetRemoteName(), names)
		}
	})

	t.Run("nothing", func(t *testing.T) {
		web := httptest.NewServer(http.NotFoundHandler())
		defer web.Close()
		watch := watchImport(t, client, "nothing")
		watch.start(github.Import{VCSURL: &web.URL})
		watch.until("detection_found_nothing")
		watch.cancel()
	})

	t.Run("multiple", func(t *testing.T) {
		h := svnfixture.NewHistory("0f0c61a6-2bd2-4c1f-9d3e-0a7b86e4d211")
		h.Commit("alice", "Two projects",
			svnfixture.Mkdir("one"), svnfixture.Mkdir("one/trunk"), svnfixture.Put("one/trunk/a", "1\n"),
			svnfixture.Mkdir("two"), svnfixture.Mkdir("two/trunk"), svnfixture.Put("two/trunk/b", "2\n"))
		repo := svnfixture.NewRepo(t)
		repo.Load(t, h.Bytes())
		origin := "svn://" + svnfixture.Serve(t, repo.Root) + "/repo"
		watch := watchImport(t, client, "multiple")
		watch.start(github.Import{VCSURL: &origin})
		imp := watch.until("detection_found_multiple")
		if len(imp.ProjectChoices) != 2 {
			t.Fatalf("project choices: %v", imp.ProjectChoices)
		}
		// The client has no field for Subversion's key, so the choice is sent as it came.
		server.Call("PATCH", "/repos/"+watch.repo+"/import", map[string]string{"vcs": "subversion", "svn_root": "two", "human_name": "two"}, http.StatusOK, nil)
		watch.until("complete")
		if files := git(t, cloneOf(t, server, watch.repo), "ls-tree", "-r", "--name-only", "main"); files != "b\n" {
			t.Errorf("the chosen project has the files %q", files)
		}
	})

	t.Run("error", func(t *testing.T) {
		// An answer that Team Foundation Server gives: recognised, and not read by this version.
		tfs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/_apis/projects" {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, `{"count":1,"value":[{"name":"P"}]}`)
		}))
		defer tfs.Close()
		watch := watchImport(t, client, "error")
		watch.start(github.Import{VCSURL: &tfs.URL})
		imp := watch.until("error")
		if imp.GetVCS() != "tfvc" || imp.GetFailedStep() != "importing" || !strings.Contains(imp.GetMessage(), "tfvc") {
			t.Errorf("vcs %q, failed_step %q, message %q", imp.GetVCS(), imp.GetFailedStep(), imp.GetMessage())
		}
	})
}

// judgeConversion converts a repository with the command line and the author mapping of a clone, and compares.
func judgeConversion(t *testing.T, repo *svnfixture.Repo, clone string) {
	t.Helper()
	dir := t.TempDir()
	dump, converted, lines, authors := filepath.Join(dir, "dump"), filepath.Join(dir, "converted.git"), filepath.Join(dir, "map"), filepath.Join(dir, "authors.csv")
	must(t, os.WriteFile(dump, repo.Dump(t), 0o600))
	must(t, os.WriteFile(authors, []byte("remote_id,remote_name,email,name\nalice@"+svnfixture.StandardUUID+",alice,alice@example.org,Alice Example\n"), 0o600))
	out, err := exec.Command(gantrytest.Build(t), "convert", "--authors", authors, "--map", lines, dump, converted).CombinedOutput()
	if err != nil {
		t.Fatalf("gantry convert: %v\n%s", err, out)
	}
	const all = "--format=%(objectname)\t%(refname)"
	if got, want := git(t, clone, "for-each-ref", all, "refs/heads", "refs/tags"), git(t, converted, "for-each-ref", all, "refs/heads", "refs/tags"); got != want {
		t.Errorf("the server's import over svn:// and the command line's from a dump differ:\n%s\nand\n%s", got, want)
	}
	commits, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), lines, converted)
	if err != nil {
		t.Error(err)
	}
	t.Logf("libsvn agrees with the trees of %d commits", commits)
}

// checkNoSecret looks for a password in everything that a server has written.
func checkNoSecret(t *testing.T, server *gantrytest.Server, secret string) {
	t.Helper()
	if strings.Contains(server.Log(), secret) {
		t.Error("the log tells the origin's password")
	}
	err := filepath.WalkDir(server.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the server goes on working
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s holds the origin's password", path)
		}
		return err
	})
	must(t, err)
}

func newClient(t *testing.T, server *gantrytest.Server) *github.Client {
	client := github.NewClient(nil).WithAuthToken(server.Token)
	base, err := url.Parse(server.URL + "/")
	must(t, err)
	client.BaseURL = base
	return client
}

// importWatch drives the import of one repository of the administrator.
type importWatch struct {
	t      *testing.T
	client *github.Client
	name   string
	repo   string   // owner/name
	seen   []string // states, in their order
}

func watchImport(t *testing.T, client *github.Client, name string) *importWatch {
	t.Helper()
	_, _, err := client.Repositories.Create(t.Context(), "", &github.Repository{Name: &name, Private: github.Ptr(true)})
	must(t, err)
	return &importWatch{t: t, client: client, name: name, repo: "admin/" + name}
}

func (w *importWatch) saw(imp *github.Import) *github.Import {
	if s := imp.GetStatus(); len(w.seen) == 0 || w.seen[len(w.seen)-1] != s {
		w.seen = append(w.seen, s)
	}
	return imp
}

func (w *importWatch) start(in github.Import) {
	w.t.Helper()
	imp, resp, err := w.client.Migrations.StartImport(w.t.Context(), "admin", w.name, &in)
	must(w.t, err)
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Location") != imp.GetURL() {
		w.t.Errorf("start: %s, Location %q, url %q", resp.Status, resp.Header.Get("Location"), imp.GetURL())
	}
	w.saw(imp)
}

func (w *importWatch) update(in github.Import) *github.Import {
	w.t.Helper()
	imp, _, err := w.client.Migrations.UpdateImport(w.t.Context(), "admin", w.name, &in)
	must(w.t, err)
	return w.saw(imp)
}

func (w *importWatch) restart() {
	w.t.Helper()
	if imp := w.update(github.Import{}); imp.GetStatus() != "importing" {
		w.t.Errorf("a restart answers %q, want importing", imp.GetStatus())
	}
}

func (w *importWatch) cancel() {
	w.t.Helper()
	resp, err := w.client.Migrations.CancelImport(w.t.Context(), "admin", w.name)
	must(w.t, err)
	if resp.StatusCode != http.StatusNoContent {
		w.t.Errorf("cancel: %s", resp.Status)
	}
}

func (w *importWatch) authors() []*github.SourceImportAuthor {
	w.t.Helper()
	authors, _, err := w.client.Migrations.CommitAuthors(w.t.Context(), "admin", w.name)
	must(w.t, err)
	return authors
}

func (w *importWatch) mapAuthor(id int64, name, email string) {
	w.t.Helper()
	author, _, err := w.client.Migrations.MapCommitAuthor(w.t.Context(), "admin", w.name, id, &github.SourceImportAuthor{Name: &name, Email: &email})
	must(w.t, err)
	if author.GetName() != name || author.GetEmail() != email {
		w.t.Errorf("the mapped author is answered as %v", author)
	}
}

// ends waits until nobody works on the import any more.
func (w *importWatch) ends() *github.Import {
	w.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		imp, _, err := w.client.Migrations.ImportProgress(w.t.Context(), "admin", w.name)
		must(w.t, err)
		if !gantry.ImportStatus(imp.GetStatus()).Live() {
			return w.saw(imp)
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the import is still %s (%s)", imp.GetStatus(), imp.GetStatusText())
		}
	}
}

// until polls without a pause, because some states are short.
func (w *importWatch) until(status string) *github.Import {
	w.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		imp, _, err := w.client.Migrations.ImportProgress(w.t.Context(), "admin", w.name)
		must(w.t, err)
		w.saw(imp)
		switch got := imp.GetStatus(); {
		case got == status:
			return imp
		case got == "error", time.Now().After(deadline):
			w.t.Fatalf("the import is %s (%s) and not %s; states so far: %v", got, imp.GetStatusText(), status, w.seen)
		}
	}
}

// gate forwards connections to a server, and can hold back what the server says.
type gate struct {
	addr string

	mu     sync.Mutex
	to     string
	opened sync.Cond
	held   bool
	left   int // bytes that still pass while held
}

func newGate(t *testing.T, to string) *gate {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	g := &gate{addr: listener.Addr().String(), to: to}
	g.opened.L = &g.mu
	t.Cleanup(func() { listener.Close(); g.open() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", g.target())
			if err != nil {
				near.Close()
				continue
			}
			go func() { io.Copy(far, near); far.Close() }()
			go func() { g.pass(near, far); near.Close() }()
		}
	}()
	return g
}

func (g *gate) target() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.to
}

// lead makes new connections go to another server.
func (g *gate) lead(to string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to = to
}

func (g *gate) pass(to io.Writer, from io.Reader) {
	buf := make([]byte, 512)
	for {
		n, err := from.Read(buf)
		g.mu.Lock()
		for g.held && g.left < n {
			g.opened.Wait()
		}
		g.left -= n
		g.mu.Unlock()
		if _, werr := to.Write(buf[:n]); errors.Join(err, werr) != nil {
			return
		}
	}
}

// hold lets a number of bytes pass, and then none until open.
func (g *gate) hold(bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.left = true, bytes
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	g.opened.Broadcast()
}

// cloneOf clones a hosted repository over HTTP and checks it strictly.
func cloneOf(t *testing.T, server *gantrytest.Server, repo string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone.git")
	git(t, "", "clone", "--quiet", "--mirror", strings.Replace(server.URL, "://", "://admin:"+server.Token+"@", 1)+"/"+repo+".git", dir)
	git(t, dir, "fsck", "--strict", "--full")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
