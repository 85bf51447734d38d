package git_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gitdir"
	"gantry/internal/githelper"
	"gantry/internal/origin"
	"gantry/internal/origin/git"
)

func TestMain(m *testing.M) {
	if handled, code := githelper.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func newGit(t testing.TB) *gitdir.Git {
	t.Helper()
	g, err := gitdir.New(gitdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// options allow 127.0.0.1 and nothing else that is not public.
func options(t testing.TB, address string) git.Options {
	t.Helper()
	a, creds, err := origin.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egress.ParsePolicy([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return git.Options{
		Address: a, Credentials: creds, Dir: filepath.Join(t.TempDir(), "fetched.git"), Git: newGit(t),
		Egress: egress.New(policy, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler),
	}
}

// checkSample compares what was fetched with the scripted repository.
func checkSample(t *testing.T, dir string, result *git.Result, source string) {
	t.Helper()
	want := gitfixture.Git(t, source, "for-each-ref", "refs/heads", "refs/tags")
	if got := gitfixture.Git(t, dir, "for-each-ref"); got != want {
		t.Errorf("refs:\n%s\nwant:\n%s", got, want)
	}
	if result.Commits != gitfixture.Commits || result.Head != "refs/heads/main" || len(result.Refs) != gitfixture.Branches+gitfixture.Tags || len(result.Skipped) > 0 {
		t.Errorf("%+v", result)
	}
	gitfixture.Git(t, dir, "fsck", "--strict")
}

func TestFetch(t *testing.T) {
	t.Parallel()
	root := gitfixture.Repository(t, "sample.git")
	source := filepath.Join(root, "sample.git")
	open := gitfixture.ServeHTTP(t, root, "", "")
	closed := gitfixture.ServeHTTP(t, root, "ada", "p@ss/w:ord")
	daemon := gitfixture.ServeDaemon(t, root)
	ssh := gitfixture.ServeSSH(t, root)
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, open+"/sample.git"+strings.TrimPrefix(r.URL.Path, "/old")+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
	}))
	t.Cleanup(moved.Close)

	key := origin.Credentials{Username: "git", Password: ssh.PrivateKey}
	tests := []struct {
		name, address string
		creds         origin.Credentials
	}{
		{"http", open + "/sample.git", origin.Credentials{}},
		{"http, .git left out", open + "/sample", origin.Credentials{}},
		{"http, slash at the end", open + "/sample.git/", origin.Credentials{}},
		{"http, credentials not needed", open + "/sample.git", origin.Credentials{Username: "x", Password: "y"}},
		{"http, credentials", closed + "/sample.git", origin.Credentials{Username: "ada", Password: "p@ss/w:ord"}},
		{"http, redirect", moved.URL + "/old", origin.Credentials{}},
		{"git daemon", daemon + "/sample.git", origin.Credentials{}},
		{"ssh, password", "ssh://" + ssh.Address + "/sample.git", origin.Credentials{Password: ssh.Password}},
		{"ssh, private key", "ssh://git@" + ssh.Address + "/sample.git", key},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opt := options(t, tt.address)
			opt.Credentials = tt.creds
			seen := map[git.Phase]int64{}
			opt.Progress = func(p git.Progress) { seen[p.Phase] = p.Total }
			result, err := git.Fetch(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			checkSample(t, opt.Dir, result, source)
			if seen[git.Receiving] == 0 {
				t.Errorf("progress: %v", seen)
			}
			if (result.HostKey == ssh.HostKey) != strings.HasPrefix(tt.address, "ssh") {
				t.Errorf("host key %q", result.HostKey)
			}
			config, err := os.ReadFile(filepath.Join(opt.Dir, "config"))
			if err != nil || strings.Contains(string(config), "remote") {
				t.Errorf("configuration: %s, %v", config, err)
			}
		})
	}
	t.Run("bundle", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "b")
		gitfixture.Git(t, source, "bundle", "create", "--quiet", file, "HEAD", "--branches", "--tags")
		opt := options(t, "https://unused.example/")
		result, err := git.FetchBundle(t.Context(), file, opt)
		if err != nil {
			t.Fatal(err)
		}
		checkSample(t, opt.Dir, result, source)
	})
}

// Every failure has its meaning, leaves nothing behind and never shows a password.
func TestFetchFails(t *testing.T) {
	t.Parallel()
	const canary = "c4nary p@ss"
	root := gitfixture.Repository(t, "sample.git")
	gitfixture.Shallow(t, root, "sample.git")
	gitfixture.Fill(t, filepath.Join(root, "evil.git"), []byte("blob\nmark :1\ndata 2\nx\n\ncommit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 0\nM 100644 :1 .GIT/config\n\n"))
	open := gitfixture.ServeHTTP(t, root, "", "")
	closed := gitfixture.ServeHTTP(t, root, "ada", "secret")
	daemon := gitfixture.ServeDaemon(t, root)
	ssh := gitfixture.ServeSSH(t, root)
	gitfixture.Git(t, filepath.Join(root, "sample.git"), "update-server-info")
	static := httptest.NewServer(http.FileServer(http.Dir(root)))
	t.Cleanup(static.Close)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(busy.Close)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, password, _ := r.BasicAuth()
		message := "ERR your password " + password + " is nice"
		fmt.Fprintf(w, "%04x%s", len(message)+4, message)
	}))
	t.Cleanup(echo.Close)

	given := origin.Credentials{Username: "ada", Password: canary}
	kind := func(k gantry.Kind) func(error) bool { return func(err error) bool { return gantry.KindOf(err) == k } }
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	tests := []struct {
		name, address string
		creds         origin.Credentials
		hostKeys      []string
		want          func(error) bool
		text          string
	}{
		{"http, none given", closed + "/sample.git", origin.Credentials{}, nil, is(origin.ErrAuthRequired), ""},
		{"http, wrong", closed + "/sample.git", given, nil, is(origin.ErrAuthFailed), ""},
		{"http, nothing there", open + "/other.git", given, nil, is(origin.ErrNotFound), ""},
		{"http, no repository", static.URL + "/", origin.Credentials{}, nil, is(origin.ErrNotFound), ""},
		{"http, dumb", static.URL + "/sample.git", origin.Credentials{}, nil, kind(gantry.Invalid), "dumb HTTP"},
		{"http, busy", busy.URL + "/sample.git", origin.Credentials{}, nil, is(origin.ErrTemporary), "503"},
		{"http, repeats the password", echo.URL + "/sample.git", given, nil, func(err error) bool { return err != nil }, ""},
		{"http, shallow", open + "/shallow.git", origin.Credentials{}, nil, kind(gantry.Invalid), "shallow clone"},
		{"http, hostile tree", open + "/evil.git", origin.Credentials{}, nil, kind(gantry.Invalid), "hasDotgit"},
		{"http, forbidden address", "http://127.0.0.2/sample.git", given, nil, is(egress.ErrRefused), "GANTRY_EGRESS_ALLOW"},
		{"http, closed port", "http://127.0.0.1:1/sample.git", given, nil, is(origin.ErrTemporary), ""},
		{"git, nothing there", daemon + "/other.git", origin.Credentials{}, nil, is(origin.ErrNotFound), ""},
		{"git, forbidden address", "git://127.0.0.2/sample.git", origin.Credentials{}, nil, is(egress.ErrRefused), ""},
		{"ssh, none given", "ssh://" + ssh.Address + "/sample.git", origin.Credentials{}, nil, is(origin.ErrAuthRequired), ""},
		{"ssh, wrong", "ssh://" + ssh.Address + "/sample.git", origin.Credentials{Username: "git", Password: canary}, nil, is(origin.ErrAuthFailed), ""},
		{"ssh, nothing there", "ssh://" + ssh.Address + "/other.git", origin.Credentials{Password: ssh.Password}, nil, is(origin.ErrNotFound), ""},
		{
			"ssh, another host key", "ssh://" + ssh.Address + "/sample.git",
			origin.Credentials{Password: ssh.Password},
			[]string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN/Cr3JXqmLW7u+g9pTh+wyqDHpSQEIQczXkVx9q"},
			kind(gantry.Forbidden), "not the one",
		},
		{"ssh, forbidden address", "ssh://127.0.0.2/sample.git", origin.Credentials{}, nil, is(egress.ErrRefused), ""},
		{"subversion", "svn://127.0.0.1/sample.git", origin.Credentials{}, nil, kind(gantry.Invalid), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opt := options(t, tt.address)
			opt.Credentials, opt.HostKeys = tt.creds, tt.hostKeys
			_, err := git.Fetch(t.Context(), opt)
			if !tt.want(err) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("kind %v: %v", gantry.KindOf(err), err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the password shows: %v", err)
			}
			if _, err := os.Stat(opt.Dir); err == nil {
				t.Error("the repository is left behind")
			}
		})
	}
}
