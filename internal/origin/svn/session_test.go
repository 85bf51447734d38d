package svn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

func dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func options(t *testing.T, addr, path string) Options {
	t.Helper()
	return Options{URL: &url.URL{Scheme: "svn", Host: addr, Path: path}, Dial: dialTCP, TempDir: t.TempDir()}
}

func dial(t *testing.T, opt Options) *Session {
	t.Helper()
	s, err := Dial(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What a server tells is what svn export shows, and what a dump tells.
func TestReplay(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	addr := svnfixture.Serve(t, r.Root)
	s := dial(t, options(t, addr, "/repo"))
	want := origin.Info{UUID: svnfixture.StandardUUID, Root: "svn://" + addr + "/repo", Head: r.Head(t)}
	if got := s.Info(); got != want {
		t.Errorf("info %+v, want %+v", got, want)
	}
	m := replay(t, s)
	judge(t, r, "", m)
	d := replay(t, openDump(t, r.Dump(t)))
	if diff := cmp.Diff(d.told, m.told); diff != "" {
		t.Errorf("a dump tells something else:\n%s", diff)
	}
	if diff := cmp.Diff(d.revs, m.revs); diff != "" {
		t.Errorf("a dump tells other revisions:\n%s", diff)
	}
}

// Reading goes on at any revision, on the same connection and on others.
func TestReplayFrom(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	addr := svnfixture.Serve(t, r.Root)
	s := dial(t, options(t, addr, "/repo"))
	whole := replay(t, s)
	m := newModel()
	for _, span := range [][2]int64{{0, 4}, {5, 5}, {6, 5}, {6, 20}} {
		if err := s.Replay(context.Background(), span[0], span[1], m); err != nil {
			t.Fatal(err)
		}
	}
	if err := dial(t, options(t, addr, "/repo")).Replay(context.Background(), 21, s.Info().Head, m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.told, m.told); diff != "" {
		t.Error(diff)
	}
}

// An address below the root yields what is below it, with copies from elsewhere as additions.
func TestReplayBelowRoot(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	r.Load(t, projects().Bytes())
	s := dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo/two words/"))
	if got := s.Info(); got.Path != "two words" || !strings.HasSuffix(got.Root, "/repo") {
		t.Fatalf("info %+v", got)
	}
	m := replay(t, s)
	for rev := int64(1); rev <= r.Head(t); rev++ {
		want := map[string]node{"": {Dir: true, Props: map[string]string{}}}
		if rev >= 2 && rev != 6 {
			want = subversionTree(t, r, "two words", rev)
		}
		if diff := cmp.Diff(want, m.trees[rev]); diff != "" {
			t.Errorf("r%d differs (-svn +read):\n%s", rev, diff)
		}
	}
}

// projects is a history of two projects; the second begins late, is deleted once, and is brought back.
func projects() *svnfixture.History {
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("alice", "One", svnfixture.Mkdir("one"), svnfixture.Mkdir("one/trunk"), svnfixture.Put("one/trunk/a", "1\n"))
	h.Commit("alice", "Two", svnfixture.Mkdir("two words").With("color", "blue"), svnfixture.Mkdir("two words/trunk"), svnfixture.Put("two words/trunk/b", "1\n"))
	h.Commit("alice", "From one", svnfixture.CopyDir("one/trunk", 1, "two words/trunk/one"), svnfixture.Edit("two words/trunk/b", "2\n"))
	h.Commit("alice", "Within two", svnfixture.CopyDir("two words/trunk", 3, "two words/branch"), svnfixture.Edit("two words/branch/one/a", "2\n"))
	h.Commit("alice", "Elsewhere", svnfixture.Edit("one/trunk/a", "3\n"))
	h.Commit("alice", "Away", svnfixture.Delete("two words"))
	h.Commit("alice", "Back", svnfixture.CopyDir("two words", 4, "two words"))
	h.Commit("alice", "Anew", svnfixture.Mkdir("two words").Replacing(), svnfixture.Put("two words/c", "c\n"))
	return h
}

// What happens to a directory above the address happens to what is read.
func TestReplayBelowMovedDirectory(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("alice", "Begin", svnfixture.Mkdir("a"), svnfixture.Mkdir("a/b"), svnfixture.Put("a/b/x", "1\n"), svnfixture.Put("a/y", "1\n"))
	h.Commit("alice", "Move", svnfixture.CopyDir("a", 1, "c"), svnfixture.Delete("a"))
	h.Commit("alice", "Edit", svnfixture.Edit("c/b/x", "2\n"), svnfixture.Edit("c/y", "2\n"))
	h.Commit("alice", "Away", svnfixture.Delete("c"))
	h.Commit("alice", "Back", svnfixture.CopyDir("c", 3, "c"), svnfixture.Edit("c/b/x", "3\n"))
	h.Commit("alice", "Back to 2", svnfixture.CopyDir("c", 2, "c").Replacing(), svnfixture.TouchDir("c").With("a", "b"))
	r.Load(t, h.Bytes())
	m := replay(t, dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo/c/b")))
	for _, rev := range []int64{2, 3, 5, 6} {
		if diff := cmp.Diff(subversionTree(t, r, "c/b", rev), m.trees[rev]); diff != "" {
			t.Errorf("r%d differs (-svn +read):\n%s", rev, diff)
		}
	}
	if got := m.trees[4]; len(got) != 1 {
		t.Errorf("r4 has %v", got)
	}
}

// A large text is not held in memory, and arrives whole; nothing of it stays in the directory for such texts.
func TestReplayLargeText(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	large := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(large)
	h := svnfixture.NewHistory(svnfixture.StandardUUID)
	h.Commit("alice", "Large", svnfixture.Put("large", string(large)), svnfixture.Put("small", "s\n"))
	copy(large[3<<20:], "changed")
	h.Commit("alice", "Change", svnfixture.Edit("large", string(large)), svnfixture.Put("other", string(large[:2<<20])))
	r.Load(t, h.Bytes())
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	s := dial(t, opt)
	m := replay(t, s)
	judge(t, r, "", m)
	if c := cap(s.spool.mem); c > 2*spoolMemory {
		t.Errorf("%d bytes are held", c)
	}
	if left, err := os.ReadDir(opt.TempDir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewRepo(t)
	r.Commit(t, "alice", "Begin", "mkdir", "trunk")
	user := svnfixture.User{Name: "alice", Password: "open sesame"}
	locked, open, anonymous := svnfixture.Serve(t, r.Root, user), svnfixture.ServeAuthz(t, r.Root, "[/]\n* = r\n", user), svnfixture.Serve(t, r.Root)
	for _, tt := range []struct {
		name  string
		addr  string
		creds origin.Credentials
		want  error
	}{
		{"right", locked, origin.Credentials{Username: "alice", Password: "open sesame"}, nil},
		{"none", locked, origin.Credentials{}, origin.ErrAuthRequired},
		{"wrong password", locked, origin.Credentials{Username: "alice", Password: "x"}, origin.ErrAuthFailed},
		{"wrong user", locked, origin.Credentials{Username: "bob", Password: "open sesame"}, origin.ErrAuthFailed},
		{"anonymous where both may", open, origin.Credentials{}, nil},
		{"wrong where nobody needs it", open, origin.Credentials{Username: "bob", Password: "x"}, origin.ErrAuthFailed},
		{"given where nobody can log in", anonymous, origin.Credentials{Username: "bob", Password: "x"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(t, tt.addr, "/repo")
			opt.Credentials = tt.creds
			s, err := Dial(context.Background(), opt)
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

// Where a server shows more to a user than to everybody, all of it is read; a path of which nobody else may know is asked
// for again after the log-in.
func TestPathRules(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	user := svnfixture.User{Name: "alice", Password: "open sesame"}
	addr := svnfixture.ServeAuthz(t, r.Root, "[/]\n* = r\n[/trunk/src]\n* =\nalice = r\n", user)
	opt := options(t, addr, "/repo")
	m := newModel()
	if err := dial(t, opt).Replay(context.Background(), 1, 5, m); err != nil {
		t.Fatal(err)
	}
	if m.tree["trunk/README"].Text == "" || m.tree["trunk/src/main.c"].Text != "" {
		t.Error("the rules do not hide what they should")
	}
	hidden := options(t, addr, "/repo/trunk/src")
	if _, err := Dial(context.Background(), hidden); !errors.Is(err, origin.ErrAuthRequired) {
		t.Errorf("got %v", err)
	}
	opt.Credentials = origin.Credentials{Username: user.Name, Password: user.Password}
	judge(t, r, "", replay(t, dial(t, opt)))
	hidden.Credentials = opt.Credentials
	if got := dial(t, hidden).Info().Path; got != "trunk/src" {
		t.Errorf("path is %q", got)
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	addr := svnfixture.Serve(t, r.Root)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for _, tt := range []struct {
		name, addr, path string
		want             error
	}{
		{"no repository", addr, "/other", origin.ErrNotFound},
		{"no such directory", addr, "/repo/trunk/nothing", origin.ErrNotFound},
		{"a file", addr, "/repo/trunk/README", origin.ErrNotFound},
		{"no server", free.Addr().String(), "/repo", origin.ErrTemporary},
		{"no host", "nothing.invalid", "/repo", origin.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(t, tt.addr, tt.path)
			if tt.name == "no host" { // some networks answer for every name
				opt.Dial = func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Name: "nothing.invalid", IsNotFound: true}}
				}
			}
			if s, err := Dial(context.Background(), opt); !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v, want %v", s, err, tt.want)
			}
		})
	}
}

// directories asks for all that a server tells.
func directories(paths ...string) (dirs []origin.Directory) {
	for _, path := range paths {
		dirs = append(dirs, origin.Directory{Path: path, Changes: true})
	}
	return dirs
}

func TestList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := svnfixture.NewStandardRepo(t)
	s := dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo"))
	if lists, err := s.List(ctx, directories("trunk", "trunk/config", "branches"), 11); len(lists) != 1 || err == nil || errors.Is(err, origin.ErrTemporary) {
		t.Errorf("the second one is a file: %v, %v", lists, err)
	}
	got, err := s.List(ctx, directories("trunk"), 11)
	want := [][]Entry{{{"README", File, 24, 8}, {"config", File, 11, 2}, {"data", Dir, -1, 5}, {"docs", Dir, -1, 11}, {"run.sh", File, 24, 3}, {"src", Dir, -1, 10}, {"start", File, 11, 3}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for path, want := range map[string]Kind{"trunk": Dir, "trunk/README": File, "nothing": None} {
		if got, err := s.CheckPath(ctx, path, 11); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", path, got, err, want)
		}
	}
	// A refusal leaves the connection in order.
	if _, err := s.List(ctx, directories("nothing"), 11); !errors.Is(err, origin.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := s.Replay(ctx, 1, 1000, newModel()); err == nil || errors.Is(err, origin.ErrTemporary) {
		t.Errorf("got %v", err)
	}
	if _, err := s.List(ctx, directories("trunk"), 11); err != nil {
		t.Error(err)
	}
}

// A server that does not know replay-range is asked for each revision.
func TestOldServer(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	whole := replay(t, dial(t, opt))
	opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialTCP(ctx, network, addr)
		return &oldServer{Conn: conn}, err
	}
	if diff := cmp.Diff(whole.told, replay(t, dial(t, opt)).told); diff != "" {
		t.Error(diff)
	}
}

// oldServer answers replay-range the way that servers before Subversion 1.5 do, and passes on the rest.
type oldServer struct {
	net.Conn
	answer io.Reader
}

func (c *oldServer) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("( replay-range ")) {
		c.answer = strings.NewReader("( success ( ( ) 0: ) ) ( failure ( ( 210001 30:Unknown command 'replay-range' 0: 0 ) ) ) ")
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *oldServer) Read(p []byte) (int, error) {
	if c.answer != nil {
		if n, err := c.answer.Read(p); err == nil {
			return n, nil
		}
		c.answer = nil
	}
	return c.Conn.Read(p)
}

// A sink's error comes back as it is. The connection is not used again.
func TestReplaySinkFails(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	s := dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo"))
	stop := errors.New("stop")
	if err := s.Replay(context.Background(), 1, 10, failingSink{stop}); err == nil || err.Error() != stop.Error() {
		t.Errorf("got %v", err)
	}
	if err := s.Replay(context.Background(), 1, 10, newModel()); !errors.Is(err, origin.ErrTemporary) {
		t.Errorf("got %v", err)
	}
}

// silent accepts connections, sends what it was given, and then nothing.
func silent(t *testing.T, greeting string, hangUp bool) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, greeting)
			if hangUp {
				conn.Close()
			} else {
				defer conn.Close()
			}
		}
	}()
	return l.Addr().String()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const greeting = "( success ( 2 2 ( ) ( edit-pipeline ) ) ) "
	for _, tt := range []struct {
		name, says string
		hangUp     bool
		want       error
		text       string
	}{
		{"silence", greeting, false, origin.ErrTemporary, "silent"},
		{"hang-up", greeting, true, origin.ErrTemporary, "svn://"}, // closed or reset, as it happens
		{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", false, nil, "protocol"},
		{"unknown ways to log in", greeting + "( success ( ( GSSAPI EXTERNAL ) 5:realm ) ) ", false, origin.ErrAuthFailed, "GSSAPI, EXTERNAL"},
		{"endless string", greeting + "( failure ( ( 1 9223372036854775807:", false, nil, "protocol"},
		{"number out of range", greeting + "( failure ( ( 99999999999999999999 ", false, nil, "out of range"},
		{"endless nesting", greeting + "( success ( ( ) 0: " + strings.Repeat("( ", 10000), false, nil, "nested"},
		{"endless word", greeting + "( " + strings.Repeat("a", 10000), false, nil, "no end"},
		{"newer version", "( success ( 3 4 ( ) ( ) ) ) ", false, nil, "versions 3 to 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(t, silent(t, tt.says, tt.hangUp), "/repo")
			opt.IdleTimeout = 200 * time.Millisecond
			opt.Credentials = origin.Credentials{Username: "alice", Password: "sesame"}
			_, err := Dial(context.Background(), opt)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v and %q", err, tt.want, tt.text)
			}
			if tt.want == nil && errors.Is(err, origin.ErrTemporary) {
				t.Errorf("%v would be tried again", err)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

// A context that ends closes the connection at once.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := Dial(ctx, options(t, silent(t, "", false), "/repo"))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begun))
	}
}
