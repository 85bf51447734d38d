package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gantrytest/svnfixture"
)

// part is the header of a part of a file.
func part(first, end, total int) string {
	return fmt.Sprintf("Content-Range: bytes %d-%d/%d", first, end-1, total)
}

func zipped(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(plain)
	check(t, err)
	check(t, z.Close())
	return b.Bytes()
}

func bundle(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bundle")
	gitfixture.Git(t, filepath.Join(gitfixture.Repository(t, "app.git"), "app.git"), "bundle", "create", "-q", file, "--all")
	content, err := os.ReadFile(file)
	check(t, err)
	return content
}

// hgBundle is a Mercurial bundle of some changesets.
func hgBundle(t *testing.T, version string) []byte {
	t.Helper()
	dir := t.TempDir()
	kind := map[string]string{"HG10GZ": "gzip-v1", "HG20": "zstd-v2"}[version]
	script := `hg init r && cd r && for i in 1 2 3; do echo $i >file$i && hg commit -q -A -u "A <a@example.org>" -d "$i 0" -m $i; done && hg bundle -q --all --type ` + kind + ` ../bundle`
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HGRCPATH=", "HGPLAIN=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("hg (of the package mercurial): %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "bundle"))
	check(t, err)
	return content
}

// What a file is, is told by its content. It is imported as if it had been read at an address, and is not kept.
func TestUploads(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	for _, tt := range []struct {
		name, status, vcs string
		content           []byte
	}{
		{"dump", "complete", "subversion", svnfixture.Standard().Bytes()},
		{"dump-gzip", "complete", "subversion", zipped(t, svnfixture.Standard().Bytes())},
		{"bundle", "complete", "git", bundle(t)},
		{"bundle-gzip", "complete", "git", zipped(t, bundle(t))},
		{"text", "detection_found_nothing", "", []byte("This is a text.\n")},
		{"mercurial", "complete", "mercurial", hgBundle(t, "HG20")},
		{"mercurial-1", "complete", "mercurial", hgBundle(t, "HG10GZ")},
		{"mercurial-cut", "error", "mercurial", hgBundle(t, "HG20")[:300]},
		{"cut-dump", "error", "subversion", svnfixture.Standard().Bytes()[:500]},
	} {
		c.repository(c.alice, tt.name, false)
		began := c.ask(201, "PUT", tt.name, "/upload", string(tt.content))
		if at := began.Header.Get("Location"); at != c.url+"/repos/alice/"+tt.name+"/import" {
			t.Errorf("%s: Location %q", tt.name, at)
		}
		if imp := began.object(t); imp["status"] != "detecting" || imp["vcs_url"] != "" {
			t.Errorf("%s began as %v", tt.name, imp)
		}
		imp := c.importOf(tt.name)
		if vcs, _ := imp["vcs"].(string); imp["status"] != tt.status || vcs != tt.vcs {
			t.Errorf("%s ended as %v", tt.name, imp)
		}
		if text, _ := imp["message"].(string); strings.Contains(text, "/") {
			t.Errorf("%s: the message is %q", tt.name, text)
		}
		c.ask(404, "GET", tt.name, "/upload", "")
		if tt.status != "complete" {
			continue
		}
		refs := c.refs(tt.name)
		c.ask(200, "PATCH", tt.name, "", "") // a restart needs the file no more
		if imp := c.importOf(tt.name); imp["status"] != "complete" || c.refs(tt.name) != refs {
			t.Errorf("%s, restarted: %v\n%s\nwant\n%s", tt.name, imp, c.refs(tt.name), refs)
		}
	}
	if plain, packed := c.refs("dump"), c.refs("dump-gzip"); plain != packed || plain == "" {
		t.Errorf("compression changes the result:\n%s\n%s", plain, packed)
	}
}

func (c *cast) refs(repo string) string {
	c.t.Helper()
	dir, release, err := c.repos.OpenRead(c.t.Context(), c.view(repo))
	check(c.t, err)
	defer release()
	return gitfixture.Git(c.t, dir, "for-each-ref")
}

// A file may come in parts of any size. Where it stands is told at any time; what does not go on from there is refused.
func TestUploadInParts(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	dump := svnfixture.Standard().Bytes()
	total := len(dump)
	seed := rand.Uint64()
	t.Logf("the parts are those of seed %d", seed)
	sizes := rand.New(rand.NewPCG(seed, 0))
	for at := 0; at < total; {
		end := min(total, at+1+sizes.IntN(total/4))
		body := string(dump[at:end])
		if at > 0 {
			elsewhere := c.ask(416, "PUT", "open", "/upload", string(dump[at+1-1:at+1]), part(at+1, at+2, total+2))
			if elsewhere.Header.Get("Range") != fmt.Sprintf("bytes=0-%d", at-1) || !strings.Contains(elsewhere.message(), fmt.Sprintf("byte %d:", at)) {
				t.Errorf("elsewhere: Range %q, %s", elsewhere.Header.Get("Range"), elsewhere.text)
			}
			c.ask(422, "PUT", "open", "/upload", body, part(at, end, total+1))
		}
		want := 204
		if end == total {
			want = 201
		}
		answer := c.ask(want, "PUT", "open", "/upload", body, part(at, end, total))
		if at = end; at == total {
			break
		}
		if got := answer.Header.Get("Range"); got != fmt.Sprintf("bytes=0-%d", at-1) {
			t.Errorf("at %d: Range %q", at, got)
		}
		if state := c.ask(200, "GET", "open", "/upload", "").object(t); state["received"] != float64(at) || state["total"] != float64(total) {
			t.Errorf("at %d: %v", at, state)
		}
		c.ask(200, "HEAD", "open", "/upload", "")
		c.ask(204, "PUT", "open", "/upload", "", fmt.Sprintf("Content-Range: bytes */%d", total))
	}
	if imp := c.importOf("open"); imp["status"] != "complete" {
		t.Errorf("the import ended as %v", imp)
	}
}

// What becomes of a dump is said with it: what counts is said with the part that completes it.
func TestShapeOfAnUpload(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	h := svnfixture.NewHistory("0b7c1ce6-0000-4000-8000-00000000000b")
	h.Commit("ada", "Two projects", svnfixture.Mkdir("one"), svnfixture.Mkdir("one/trunk"), svnfixture.Mkdir("two"), svnfixture.Mkdir("two/trunk"))
	h.Commit("ada", "The first one", svnfixture.Put("one/trunk/first", "1\n"))
	h.Commit("ada", "The second one", svnfixture.Put("two/trunk/second", "2\n"), svnfixture.Mkdir("two/trunk/empty"))
	dump := string(h.Bytes())
	with := func(root, options string) string {
		return "/upload?" + url.Values{"svn_root": {root}, "svn_options": {options}}.Encode()
	}
	for _, options := range []string{`{"layout":"this is not one"}`, `{"keep_empty":"yes"}`, `[]`, `{} {}`} {
		fault := c.ask(422, "PUT", "open", with("two", options), dump).object(t)["errors"].([]any)[0].(map[string]any)
		if fault["field"] != "svn_options" {
			t.Errorf("%s: %v", options, fault)
		}
		c.ask(404, "GET", "open", "/upload", "")
	}

	half := len(dump) / 2
	c.ask(204, "PUT", "open", with("one", `{"keep_empty":true}`), dump[:half], part(0, half, len(dump)))
	began := c.ask(201, "PUT", "open", with("two", `{"empty_dirs":true}`), dump[half:], part(half, len(dump), len(dump))).object(t)
	if options, _ := json.Marshal(began["svn_options"]); string(options) != `{"empty_dirs":true}` || began["svn_root"] != "two" {
		t.Errorf("the import has the options %s and the root %v", options, began["svn_root"])
	}
	if imp := c.importOf("open"); imp["status"] != "complete" || c.files("open") != "empty/.gitkeep second" {
		t.Errorf("%v holds %q", imp, c.files("open"))
	}

	// They are for Subversion, which a file is known to be when it has come.
	c.ask(201, "PUT", "hidden", with("", `{"empty_dirs":true}`), string(bundle(t)))
	imp := c.importOf("hidden")
	if text, _ := imp["message"].(string); imp["failed_step"] != "detecting" || !strings.Contains(text, "svn_options are for Subversion") {
		t.Errorf("a bundle: %v", imp)
	}
	c.ask(200, "PATCH", "hidden", "", `{"svn_options":{}}`)
	c.ask(200, "PATCH", "hidden", "", "")
	if imp := c.importOf("hidden"); imp["status"] != "complete" {
		t.Errorf("a bundle, without options: %v", imp)
	}
}

// Nothing is taken that could not be imported, and nothing of what was taken is left after a cancellation.
func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	dump := string(svnfixture.Standard().Bytes())
	for _, tt := range []struct {
		name   string
		status int
		body   string
		header string
	}{
		{"too large", 413, "x", part(0, 1, uploadLimit+1)},
		{"too large, whole", 413, strings.Repeat("x", uploadLimit+1), "X-None: 1"},
		{"not at the beginning", 416, "x", part(1, 2, 3)},
		{"asked before it began", 416, "", "Content-Range: bytes */7"},
		{"lengths that differ", 400, "x", part(0, 2, 3)},
		{"no range", 400, "x", "Content-Range: bytes 1"},
		{"backwards", 400, "x", "Content-Range: bytes 2-1/3"},
		{"beyond the end", 400, "x", "Content-Range: bytes 0-3/3"},
		{"signs", 400, "x", "Content-Range: bytes +0-+0/3"},
		{"overflow", 400, "x", "Content-Range: bytes 0-0/99999999999999999999"},
		{"empty", 400, "", "X-None: 1"},
		{"content coding", 415, "x", "Content-Encoding: gzip"},
	} {
		answer := c.do("PUT", "/repos/alice/open/import/upload", tt.body, c.as("alice repo"), tt.header)
		if answer.StatusCode != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.name, answer.StatusCode, answer.text, tt.status)
		}
		c.ask(404, "GET", "open", "/upload", "")
	}
	for who, want := range map[string]int{"bob repo": 403, "alice": 403, "": 404} {
		var as []string
		if who != "" {
			as = []string{c.as(who)}
		}
		if answer := c.do("PUT", "/repos/alice/open/import/upload", dump, as...); answer.StatusCode != want {
			t.Errorf("%q uploads: %d, want %d", who, answer.StatusCode, want)
		}
	}

	c.ask(204, "PUT", "open", "/upload", dump[:100], part(0, 100, len(dump)))
	// A first part that is late takes nothing away.
	c.ask(416, "PUT", "open", "/upload", dump[:50], part(0, 50, len(dump)))
	if state := c.ask(200, "GET", "open", "/upload", "").object(t); state["received"] != float64(100) {
		t.Errorf("after a late part: %v", state)
	}
	c.ask(204, "DELETE", "open", "", "")
	c.ask(404, "GET", "open", "/upload", "")
	c.ask(404, "DELETE", "open", "", "")

	// One at a time: the first request holds the upload until its body has ended.
	body, more := io.Pipe()
	request, err := http.NewRequest("PUT", c.url+"/repos/alice/open/import/upload", body)
	check(t, err)
	request.Header.Set("Authorization", "token "+c.token["alice repo"])
	first := make(chan int, 1)
	go func() {
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Error(err)
			first <- 0
			return
		}
		defer answer.Body.Close()
		first <- answer.StatusCode
	}()
	_, err = io.WriteString(more, dump[:100])
	check(t, err)
	for c.do("GET", "/repos/alice/open/import/upload", "", c.as("alice repo")).StatusCode == 404 {
	}
	c.ask(422, "PUT", "open", "/upload", dump)
	_, err = io.WriteString(more, dump[100:])
	check(t, err)
	check(t, more.Close())
	if status := <-first; status != 201 {
		t.Errorf("the first of two uploads: %d", status)
	}
	c.ask(422, "PUT", "open", "/upload", dump[:1], part(0, 1, len(dump)))
	if imp := c.importOf("open"); imp["status"] != "complete" {
		t.Errorf("the import ended as %v", imp)
	}
}
