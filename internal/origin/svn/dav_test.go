package svn

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

func davOptions(t *testing.T, server *davfixture.Server, path string) Options {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path += path
	return Options{URL: u, HTTP: server.Client.Transport, TempDir: t.TempDir()}
}

func openDAV(t *testing.T, opt Options) *Source {
	t.Helper()
	s, err := Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What mod_dav_svn tells is what svn export shows, and what svnserve tells, whatever the server is like.
func TestDAVReplay(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	users := []svnfixture.User{{Name: "al ice", Password: `open "sesame" \ ü`}}
	line := replay(t, dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo")))
	for name, c := range map[string]davfixture.Config{
		"open":       {},
		"compressed": {Deflate: true},
		"version 1":  {Version1: true},
		"basic":      {Users: users},
		"digest":     {Users: users, Digest: true},
		"TLS":        {TLS: true, Users: users},
		"settings":   {Settings: "SVNAllowBulkUpdates Off\nSVNCompressionLevel 0\nSVNSpecialURI special/place"},
		"rules":      {Users: users, Authz: "[/]\n* =\nal ice = r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := davfixture.Serve(t, r.Root, c)
			opt := davOptions(t, server, "/repo")
			if len(c.Users) > 0 {
				opt.Credentials = origin.Credentials{Username: users[0].Name, Password: users[0].Password}
			}
			s := openDAV(t, opt)
			want := origin.Info{UUID: svnfixture.StandardUUID, Root: server.URL + "/repo", Head: r.Head(t)}
			if got := s.Info(); got != want {
				t.Errorf("info %+v, want %+v", got, want)
			}
			m := replay(t, s)
			if diff := cmp.Diff(line.told, m.told); diff != "" {
				t.Errorf("svnserve tells something else:\n%s", diff)
			}
			if diff := cmp.Diff(line.revs, m.revs); diff != "" {
				t.Errorf("svnserve tells other revisions:\n%s", diff)
			}
		})
	}
}

// An address below the root yields the same as svnserve does, copies from elsewhere as additions.
func TestDAVReplayBelowRoot(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	r.Load(t, projects().Bytes())
	line := replay(t, dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo/two words")))
	user := svnfixture.User{Name: "alice", Password: "open sesame"}
	for name, c := range map[string]davfixture.Config{
		"version 2":      {},
		"version 1":      {Version1: true},
		"root forbidden": {Users: []svnfixture.User{user}, Authz: "[/]\n* =\n[/two words]\nalice = r\n[/one]\nalice = r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := davOptions(t, davfixture.Serve(t, r.Root, c), "/repo/two words/")
			opt.Credentials = origin.Credentials{Username: user.Name, Password: user.Password}
			s := openDAV(t, opt)
			if got := s.Info(); got.Path != "two words" || !strings.HasSuffix(got.Root, "/repo") {
				t.Errorf("info %+v", got)
			}
			m := replay(t, s)
			if diff := cmp.Diff(line.told, m.told); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(line.revs, m.revs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDAVList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := svnfixture.NewStandardRepo(t)
	line := dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo"))
	for name, c := range map[string]davfixture.Config{"version 2": {}, "version 1": {Version1: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openDAV(t, davOptions(t, davfixture.Serve(t, r.Root, c), "/repo")).first.(*davSession)
			for _, path := range []string{"", "trunk", "trunk/docs"} {
				got, err := s.List(ctx, directories(path), 11)
				want, _ := line.List(ctx, directories(path), 11)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s: %v\n%s", path, err, diff)
				}
			}
			for path, want := range map[string]Kind{"trunk": Dir, "trunk/docs/a b+c%20@x": File, "nothing": None} {
				if got, err := s.CheckPath(ctx, path, 11); err != nil || got != want {
					t.Errorf("%s is %v, %v, want %v", path, got, err, want)
				}
			}
			for _, path := range []string{"nothing", "trunk/README"} {
				if _, err := s.List(ctx, directories(path), 11); err == nil || !errors.Is(err, origin.ErrNotFound) && path == "nothing" {
					t.Errorf("%s: got %v", path, err)
				}
			}
			if err := s.Replay(ctx, 1, 1000, newModel()); err == nil || errors.Is(err, origin.ErrTemporary) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDAVAuthentication(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	r.Commit(t, "alice", "Begin", "mkdir", "trunk")
	users := []svnfixture.User{{Name: "alice", Password: "open sesame"}}
	serve := func(c davfixture.Config) *davfixture.Server { return davfixture.Serve(t, r.Root, c) }
	basic, digest := serve(davfixture.Config{Users: users}), serve(davfixture.Config{Users: users, Digest: true})
	both, open := serve(davfixture.Config{Users: users, Authz: "[/]\n* = r\n"}), serve(davfixture.Config{})
	forbidden := serve(davfixture.Config{Users: users, Authz: "[/]\nbob = r\n"})
	right := origin.Credentials{Username: "alice", Password: "open sesame"}
	for _, tt := range []struct {
		name   string
		server *davfixture.Server
		creds  origin.Credentials
		want   error
	}{
		{"basic", basic, right, nil},
		{"basic, none", basic, origin.Credentials{}, origin.ErrAuthRequired},
		{"basic, wrong password", basic, origin.Credentials{Username: "alice", Password: "x"}, origin.ErrAuthFailed},
		{"digest", digest, right, nil},
		{"digest, none", digest, origin.Credentials{}, origin.ErrAuthRequired},
		{"digest, wrong password", digest, origin.Credentials{Username: "alice", Password: "x"}, origin.ErrAuthFailed},
		{"digest, wrong user", digest, origin.Credentials{Username: "bob", Password: "open sesame"}, origin.ErrAuthFailed},
		{"anonymous where both may", both, origin.Credentials{}, nil},
		{"wrong where nobody needs it", both, origin.Credentials{Username: "bob", Password: "x"}, origin.ErrAuthFailed},
		{"given where nobody can log in", open, right, nil},
		{"right, and not allowed", forbidden, right, origin.ErrAuthFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := davOptions(t, tt.server, "/repo")
			opt.Credentials = tt.creds
			s, err := Open(context.Background(), opt)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			defer s.Close()
			if err := s.Replay(context.Background(), 1, 1, newModel()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that shows more to a user than to everybody is read as the user.
func TestDAVPathRules(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	user := svnfixture.User{Name: "alice", Password: "open sesame"}
	rules := "[/]\n* = r\n[/trunk/src]\n* =\nalice = r\n"
	for name, c := range map[string]davfixture.Config{"basic": {}, "digest": {Digest: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Users, c.Authz = []svnfixture.User{user}, rules
			opt := davOptions(t, davfixture.Serve(t, r.Root, c), "/repo")
			m := newModel()
			if err := openDAV(t, opt).Replay(context.Background(), 1, 5, m); err != nil {
				t.Fatal(err)
			}
			if m.tree["trunk/README"].Text == "" || m.tree["trunk/src/main.c"].Text != "" {
				t.Error("the rules do not hide what they should")
			}
			opt.Credentials = origin.Credentials{Username: user.Name, Password: user.Password}
			judge(t, r, "", replay(t, openDAV(t, opt)))
		})
	}
}

func TestDAVNothingThere(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	server := davfixture.Serve(t, r.Root, davfixture.Config{})
	for _, path := range []string{"/other", "/repo/trunk/nothing", "/repo/trunk/README", "/../page"} {
		opt := davOptions(t, server, path)
		if path == "/../page" {
			opt.URL.Path = "/page"
		}
		if s, err := Open(context.Background(), opt); !errors.Is(err, origin.ErrNotFound) || errors.Is(err, origin.ErrTemporary) {
			t.Errorf("%s: got %v, %v", path, s, err)
		} else {
			t.Log(err)
		}
	}
}
