package detect_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gantrytest/sshfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/githelper"
	"gantry/internal/origin"
	"gantry/internal/origin/detect"
)

func TestMain(m *testing.M) {
	if handled, code := githelper.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func ask(t *testing.T, address string, creds origin.Credentials, hint gantry.VCS) (detect.Result, error) {
	t.Helper()
	a, _, err := origin.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egress.ParsePolicy([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	return detect.Detect(t.Context(), detect.Options{Address: a, Credentials: creds, Hint: hint, Egress: egress.New(policy, log), Log: log})
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// mercurial and tfvc answer as recorded from hg 6.3 and Azure DevOps Server.
func mercurial(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNotImplemented)
	case r.URL.Query().Get("cmd") == "capabilities":
		w.Header().Set("Content-Type", "application/mercurial-0.1")
		fmt.Fprint(w, "batch branchmap getbundle bundle2=HG20")
	default:
		http.Error(w, "method not found", http.StatusBadRequest)
	}
}

// locked is mercurial behind a log-in.
func locked(w http.ResponseWriter, r *http.Request) {
	if name, password, _ := r.BasicAuth(); name != "ada" || password != "secret" {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	mercurial(w, r)
}

// serveMercurial is an ssh server at which hg serves an empty repository, repo.
func serveMercurial(t *testing.T) *sshfixture.Server {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("hg", "init", filepath.Join(dir, "repo")).CombinedOutput(); err != nil {
		t.Fatalf("these tests need hg: install mercurial (%v)\n%s", err, out)
	}
	return sshfixture.Serve(t, "hg", func(line string, _ []string) *exec.Cmd {
		if !strings.HasPrefix(line, "hg ") {
			return nil
		}
		cmd := exec.Command("sh", "-c", "exec "+line)
		cmd.Dir = dir
		return cmd
	})
}

// stumbling answers as a server of hg 6.3 that has just started: several requests at once make it load its modules several
// times, which breaks them.
func stumbling() http.HandlerFunc {
	var asked atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1, 2:
			http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		case 3, 4:
			panic(http.ErrAbortHandler)
		default:
			mercurial(w, r)
		}
	}
}

func tfvc(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-TFS-ProcessId", "1")
	if r.URL.Path != "/tfs/Collection/_apis/projects" {
		http.NotFound(w, r)
		return
	}
	if _, _, ok := r.BasicAuth(); !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprint(w, `{"count":1,"value":[{"name":"P"}]}`)
}

func TestDetect(t *testing.T) {
	t.Parallel()
	root := gitfixture.Repository(t, "sample.git")
	openGit := gitfixture.ServeHTTP(t, root, "", "")
	closedGit := gitfixture.ServeHTTP(t, root, "ada", "secret")
	ssh, hgSSH := gitfixture.ServeSSH(t, root), serveMercurial(t)
	repo := svnfixture.NewStandardRepo(t)
	openSVN := "svn://" + svnfixture.Serve(t, filepath.Dir(repo.Dir))
	closedSVN := "svn://" + svnfixture.Serve(t, filepath.Dir(repo.Dir), svnfixture.User{Name: "ada", Password: "secret"})
	name := "/" + filepath.Base(repo.Dir)
	openDAV := davfixture.Serve(t, repo.Root, davfixture.Config{}).URL
	users := []svnfixture.User{{Name: "ada", Password: "secret"}}
	closedDAV := davfixture.Serve(t, repo.Root, davfixture.Config{Users: users, Digest: true}).URL
	subversion, err := url.Parse(openDAV)
	if err != nil {
		t.Fatal(err)
	}
	subversion.Path = ""
	right := origin.Credentials{Username: "ada", Password: "secret"}
	wrong := origin.Credentials{Username: "ada", Password: "guess"}
	everywhere401 := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	page := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") })
	both := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			mercurial(w, r)
			return
		}
		httputil.NewSingleHostReverseProxy(subversion).ServeHTTP(w, r)
	})
	moved := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, openGit+"/sample.git/info/refs?"+r.URL.RawQuery, http.StatusFound)
	})

	backend, err := url.Parse(openGit)
	if err != nil {
		t.Fatal(err)
	}
	exact := serve(t, func(w http.ResponseWriter, r *http.Request) { // knows the repository by one name only
		if !strings.HasPrefix(r.URL.Path, "/sample.git/") {
			http.NotFound(w, r)
			return
		}
		httputil.NewSingleHostReverseProxy(backend).ServeHTTP(w, r)
	})

	tests := []struct {
		name, address string
		creds         origin.Credentials
		hint          gantry.VCS
		want          detect.Outcome
		vcs           gantry.VCS
		found         string // "" for the address itself
	}{
		{"git over http", openGit + "/sample.git", origin.Credentials{}, "", detect.Found, gantry.Git, ""},
		{"git over http, .git left out", exact + "/sample", origin.Credentials{}, "", detect.Found, gantry.Git, exact + "/sample.git"},
		{"git that redirects to another host", moved + "/x", origin.Credentials{}, gantry.Git, detect.Found, gantry.Git, ""},
		{"git asks", closedGit + "/sample.git", origin.Credentials{}, gantry.Git, detect.NeedsAuth, gantry.Git, ""},
		{"git refuses", closedGit + "/sample.git", wrong, gantry.Git, detect.AuthFailed, gantry.Git, ""},
		{"git accepts", closedGit + "/sample.git", right, "", detect.Found, gantry.Git, ""},
		{"something asks over ssh", "ssh://" + ssh.Address + "/sample.git", origin.Credentials{}, "", detect.NeedsAuth, "", ""},
		{"git over ssh asks", "ssh://" + ssh.Address + "/sample.git", origin.Credentials{}, gantry.Git, detect.NeedsAuth, gantry.Git, ""},
		{"git over ssh", "ssh://" + ssh.Address + "/sample.git", origin.Credentials{Username: "git", Password: ssh.Password}, "", detect.Found, gantry.Git, ""},
		{"git over ssh, nothing", "ssh://" + ssh.Address + "/other.git", origin.Credentials{Username: "git", Password: ssh.Password}, "", detect.Nothing, "", ""},
		{"svn", openSVN + name, origin.Credentials{}, "", detect.Found, gantry.Subversion, ""},
		{"svn, nothing", openSVN + "/other", origin.Credentials{}, "", detect.Nothing, "", ""},
		{"svn asks", closedSVN + name, origin.Credentials{}, "", detect.NeedsAuth, gantry.Subversion, ""},
		{"svn refuses", closedSVN + name, wrong, "", detect.AuthFailed, gantry.Subversion, ""},
		{"svn accepts", closedSVN + name, right, "", detect.Found, gantry.Subversion, ""},
		{"svn over http", openDAV + name + "/trunk", origin.Credentials{}, "", detect.Found, gantry.Subversion, ""},
		{"svn over http, nothing", openDAV + name + "/other", origin.Credentials{}, "", detect.Nothing, "", ""},
		{"svn over http asks", closedDAV + name, origin.Credentials{}, gantry.Subversion, detect.NeedsAuth, gantry.Subversion, ""},
		{"svn over http refuses", closedDAV + name, wrong, gantry.Subversion, detect.AuthFailed, gantry.Subversion, ""},
		{"svn over http accepts", closedDAV + name, right, "", detect.Found, gantry.Subversion, ""},
		{"mercurial", serve(t, mercurial) + "/repo", origin.Credentials{}, "", detect.Found, gantry.Mercurial, ""},
		{"mercurial that stumbles", serve(t, stumbling()) + "/repo", origin.Credentials{}, "", detect.Found, gantry.Mercurial, ""},
		{"mercurial asks", serve(t, locked) + "/repo", origin.Credentials{}, gantry.Mercurial, detect.NeedsAuth, gantry.Mercurial, ""},
		{"mercurial refuses", serve(t, locked) + "/repo", wrong, gantry.Mercurial, detect.AuthFailed, gantry.Mercurial, ""},
		{"mercurial accepts", serve(t, locked) + "/repo", right, gantry.Mercurial, detect.Found, gantry.Mercurial, ""},
		{"mercurial over ssh", "ssh://" + hgSSH.Address + "/repo", origin.Credentials{Username: "hg", Password: hgSSH.Password}, "", detect.Found, gantry.Mercurial, ""},
		{"mercurial over ssh, nothing", "ssh://" + hgSSH.Address + "/none", origin.Credentials{Username: "hg", Password: hgSSH.Password}, gantry.Mercurial, detect.Nothing, "", ""},
		{"mercurial over ssh asks", "ssh://" + hgSSH.Address + "/repo", origin.Credentials{}, gantry.Mercurial, detect.NeedsAuth, gantry.Mercurial, ""},
		{"tfvc asks, below the collection", serve(t, tfvc) + "/tfs/Collection/P/_versionControl", origin.Credentials{}, "", detect.NeedsAuth, gantry.TFVC, ""},
		{"tfvc", serve(t, tfvc) + "/tfs/Collection", right, "", detect.Found, gantry.TFVC, ""},
		{"something asks everywhere", everywhere401 + "/x", origin.Credentials{}, "", detect.NeedsAuth, "", ""},
		{"something refuses everywhere", everywhere401 + "/x", wrong, "", detect.AuthFailed, "", ""},
		{"a page", page + "/", origin.Credentials{}, "", detect.Nothing, "", ""},
		{"two systems", both + "/svn/repo", origin.Credentials{}, "", detect.Multiple, "", ""},
		{"two systems, one asked for", both + "/svn/repo", origin.Credentials{}, gantry.Mercurial, detect.Found, gantry.Mercurial, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, tt.address, tt.creds, tt.hint)
			if err != nil {
				t.Fatal(err)
			}
			if tt.found == "" {
				tt.found = tt.address
			}
			if got.Outcome != tt.want || got.VCS != tt.vcs || got.Address.String() != tt.found {
				t.Errorf("%+v", got)
			}
			if tt.want == detect.Multiple && (len(got.Choices) != 2 || got.Choices[0].VCS != gantry.Subversion || got.Choices[1].VCSURL != tt.address) {
				t.Errorf("%+v", got.Choices)
			}
		})
	}
}

// What is wrong with the connection is an error, never "nothing".
// What hg serve does when its first requests of all come at once.
func TestDetectAsksAgainWhereAServerFailed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		again := asked[r.URL.String()]
		asked[r.URL.String()] = true
		mu.Unlock()
		if !again {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		mercurial(w, r)
	})
	result, err := ask(t, address, origin.Credentials{}, "")
	if err != nil || result.Outcome != detect.Found || result.VCS != gantry.Mercurial {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestDetectFaults(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]error{
		"http://127.0.0.1:1/x":         origin.ErrTemporary,
		"svn://127.0.0.1:1/x":          origin.ErrTemporary,
		"git://127.0.0.1:1/x":          origin.ErrTemporary,
		"http://127.0.0.2/x":           egress.ErrRefused,
		"svn://127.0.0.2/x":            egress.ErrRefused,
		"ssh://127.0.0.2/x":            egress.ErrRefused,
		"http://surely.not.invalid./x": origin.ErrNotFound,
	} {
		if _, err := ask(t, address, origin.Credentials{}, ""); !errors.Is(err, want) && !strings.Contains(address, "invalid") || err == nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := ask(t, "svn://127.0.0.1/x", origin.Credentials{}, gantry.Git); gantry.KindOf(err) != gantry.Invalid {
		t.Error(err)
	}
}
