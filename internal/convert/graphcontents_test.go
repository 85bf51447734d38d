package convert

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/origin"
	"gantry/internal/origin/hg"
	"gantry/internal/pack"
)

// served opens what a server has.
func served(t testing.TB, address string, change ...func(*hg.Options)) *hg.Source {
	t.Helper()
	a, creds, err := origin.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	opt := hg.Options{Address: a, Credentials: creds, HTTP: transport, Dial: new(net.Dialer).DialContext, TempDir: t.TempDir()}
	for _, c := range change {
		c(&opt)
	}
	s, err := hg.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// treesOf lists what every changeset became, oldest first.
func treesOf(t testing.TB, c *Conversion) (trees []map[string]string) {
	t.Helper()
	for r, err := range c.log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, list(t, c.store, r.Root.Tree, "", map[string]string{}))
	}
	return trees
}

func file(mode int, content string) string {
	return fmt.Sprintf("%o %v", mode, pack.Sum(pack.Blob, []byte(content)))
}

func absents(c *Conversion) (lines []string) {
	for _, a := range c.State().Absent {
		lines = append(lines, a.Path+" "+a.OID[:min(6, len(a.OID))]+": "+a.Reason)
	}
	return lines
}

func sha1Of(content string) string {
	sum := sha1.Sum([]byte(content))
	return hex.EncodeToString(sum[:])
}

// newLargefiles is a repository whose large files are changed, moved, made executable, removed, and made small; two have the
// same content, one is missing at the server, one is damaged there, and one is in the place of something else.
func newLargefiles(t *testing.T) (r *hgfixture.Repo, trees []map[string]string) {
	t.Helper()
	r = hgfixture.New(t, "extensions.largefiles=", "largefiles.usercache="+t.TempDir(), "extensions.rebase=")
	write := func(path, content string) { r.Write(t, path, content) }
	add := func(path, content string) {
		write(path, content)
		r.Run(t, "add", "-q", "--large", path)
	}
	state := map[string]string{}
	commit := func(changes map[string]string) {
		r.Commit(t, "change")
		for path, entry := range changes {
			if state[path] = entry; entry == "" {
				delete(state, path)
			}
		}
		trees = append(trees, maps.Clone(state))
	}
	small, big := "small\n", strings.Repeat("large\n", 1<<18)
	write("dir/a", small)
	add("dir/big", big)
	add("one/gone", "gone\n")
	commit(map[string]string{"dir/a": file(0o100644, small), "dir/big": file(0o100644, big), ".hglf/one/gone": file(0o100644, sha1Of("gone\n")+"\n")})
	write("dir/big", "changed\n")
	add("same", big)
	add("wrong", "wrong\n")
	commit(map[string]string{"dir/big": file(0o100644, "changed\n"), "same": file(0o100644, big), ".hglf/wrong": file(0o100644, sha1Of("wrong\n")+"\n")})
	if err := os.Chmod(filepath.Join(r.Dir, "same"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Run(t, "mv", "-q", "dir/big", "other/big")
	commit(map[string]string{"same": file(0o100755, big), "dir/big": "", "other/big": file(0o100644, "changed\n")})
	r.Run(t, "rm", "-q", "same")
	write("dir/a", "changed\n")
	commit(map[string]string{"same": "", "dir/a": file(0o100644, "changed\n")})
	return r, trees
}

func TestLargefiles(t *testing.T) {
	t.Parallel()
	r, want := newLargefiles(t)
	store := filepath.Join(r.Dir, ".hg", "largefiles")
	for content, damage := range map[string]func(string) error{
		"gone\n":  os.Remove,
		"wrong\n": func(name string) error { return os.Remove(name) },
	} {
		if err := damage(filepath.Join(store, sha1Of(content))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store, sha1Of("wrong\n")), []byte("another\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	fresh := "largefiles.usercache=" + t.TempDir()
	over := r.ServeSSH(t, "", fresh)
	ssh := func(o *hg.Options) {
		o.Credentials = origin.Credentials{Username: "alice", Password: over.PrivateKey}
	}
	address := r.Serve(t, fresh)
	into := openGraph(t, t.TempDir(), "a", Options{LargeFile: 1 << 20})
	readGraph(t, into, served(t, address))
	if diff := cmp.Diff(want, treesOf(t, into)); diff != "" {
		t.Errorf("trees: %s", diff)
	}
	wantAbsent := []string{
		"one/gone " + sha1Of("gone\n")[:6] + ": the server does not have it",
		"wrong " + sha1Of("wrong\n")[:6] + ": what the server has in its place has the SHA-1 " + sha1Of("another\n"),
	}
	if diff := cmp.Diff(wantAbsent, absents(into)); diff != "" {
		t.Errorf("absent: %s", diff)
	}
	var large []string
	for _, f := range into.large {
		large = append(large, f.Path)
	}
	if diff := cmp.Diff([]string{"dir/big", "same"}, large); diff != "" {
		t.Errorf("large files: %s", diff)
	}
	t.Run("ssh", func(t *testing.T) {
		into := openGraph(t, t.TempDir(), "a", Options{})
		readGraph(t, into, served(t, "ssh://"+over.Address+"/repo", ssh))
		if diff := cmp.Diff(want, treesOf(t, into)); diff != "" {
			t.Errorf("trees: %s", diff)
		}
	})
	t.Run("in parts", func(t *testing.T) {
		into := openGraph(t, t.TempDir(), "a", Options{})
		for n := 1; n <= len(want); n++ {
			readGraph(t, into, served(t, r.Part(t, n).Serve(t, "largefiles.usercache="+store)))
		}
		if diff := cmp.Diff(want, treesOf(t, into)); diff != "" {
			t.Errorf("trees: %s", diff)
		}
	})
	// This one adds to the repository, and is the last for that.
	t.Run("bundle", func(t *testing.T) {
		dir := t.TempDir()
		into := openGraph(t, dir, "a", Options{})
		b, err := hg.OpenBundle(r.Bundle(t, "none-v2"), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		readGraph(t, into, b)
		if got := treesOf(t, into)[0][".hglf/dir/big"]; got == "" || len(absents(into)) != 6 {
			t.Errorf("standin %q, absent: %q", got, absents(into))
		}
		// What was absent is there when the server is asked, for all that is new then.
		into.Close()
		r.Write(t, "new", "new\n")
		r.Commit(t, "new")
		into = openGraph(t, dir, "b", Options{})
		readGraph(t, into, served(t, address))
		after := maps.Clone(want[len(want)-1])
		after["new"] = file(0o100644, "new\n")
		if diff := cmp.Diff(after, treesOf(t, into)[len(want)]); diff != "" {
			t.Errorf("tree: %s", diff)
		}
		if diff := cmp.Diff(wantAbsent, absents(into)); diff != "" {
			t.Errorf("absent: %s", diff)
		}
	})
}

// What else there may be below .hglf stays as it is, and so does a standin at whose path something is.
func TestStandinsInTheWay(t *testing.T) {
	t.Parallel()
	r := hgfixture.New(t, "extensions.largefiles=", "largefiles.usercache="+t.TempDir())
	sum := sha1Of("content\n")
	h := hgfixture.NewHistory()
	h.Commit(hgfixture.Changeset{},
		hgfixture.Put("file", "file\n"), hgfixture.Put("dir/a", "a\n"),
		hgfixture.Put(".hglf/file", sum+"\n"), hgfixture.Put(".hglf/dir2/a", sum), hgfixture.Link(".hglf/link", sum),
		hgfixture.Put(".hglf/file2/below", sum), hgfixture.Put("file2", "file\n"), hgfixture.Put(".hglf/.hglf/x", sum), hgfixture.Put(".hglf/no", "no standin\n"),
		hgfixture.Executable(".hglf/dir/b", sum+"\n"), hgfixture.Put(".hglf/.gitmodules", sum), hgfixture.Put(".hglf/.git/x", sum),
		hgfixture.Put(".hglf/upper", strings.ToUpper(sum)))
	r.Load(t, h)
	if err := os.MkdirAll(filepath.Join(r.Dir, ".hg", "largefiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, ".hg", "largefiles", sum), []byte("content\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	into := openGraph(t, t.TempDir(), "a", Options{})
	readGraph(t, into, served(t, r.Serve(t)))
	content := file(0o100644, "content\n")
	want := map[string]string{
		"file": file(0o100644, "file\n"), "file2": file(0o100644, "file\n"), "dir/a": file(0o100644, "a\n"), "dir/b": file(0o100755, "content\n"), "dir2/a": content,
		".gitmodules": content, "%2Egit/x": content, ".hglf/file": file(0o100644, sum+"\n"), ".hglf/link": file(0o120000, sum), ".hglf/file2/below": file(0o100644, sum),
		".hglf/.hglf/x": file(0o100644, sum), ".hglf/no": file(0o100644, "no standin\n"), ".hglf/upper": file(0o100644, strings.ToUpper(sum)),
	}
	if diff := cmp.Diff(want, treesOf(t, into)[0]); diff != "" {
		t.Errorf("trees: %s", diff)
	}
	const taken = ": something else is at this path, beside the standin"
	if diff := cmp.Diff([]string{"file " + sum[:6] + taken, "file2/ " + taken}, absents(into)); diff != "" {
		t.Errorf("absent: %s", diff)
	}
}
