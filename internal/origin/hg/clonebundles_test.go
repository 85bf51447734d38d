package hg

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recommend makes the repository recommend bundles, one in each line.
func (r *repo) recommend(t *testing.T, lines ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, ".hg", "clonebundles.manifest"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A bundle that the server recommends is read from wherever it is, and what is newer comes from the server itself. Where
// one cannot be read, another one or another way is taken, and in the end everything is there.
func TestCloneBundles(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t, "extensions.clonebundles=")
	files := t.TempDir()
	for name, spec := range map[string]string{
		"stream.hg": "none-v2;stream=v2", "zstd.hg": "zstd-v2", "gzip.hg": "gzip-v1", "bzip2.hg": "bzip2-v2", "packed.hg": "packed1",
	} {
		if err := os.Rename(r.bundle(t, spec, "--all"), filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(filepath.Join(files, "zstd.hg"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var fetched []string
	cuts := 0
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "" {
			t.Error("the credentials are told to another host")
		}
		mu.Lock()
		defer mu.Unlock()
		fetched = append(fetched, q.URL.Path+" "+q.Header.Get("Range"))
		switch q.URL.Path {
		case "/moved.hg":
			http.Redirect(w, q, "/zstd.hg", http.StatusFound)
		case "/circle.hg":
			http.Redirect(w, q, "/circle.hg", http.StatusFound)
		case "/half.hg":
			_, _ = w.Write(whole[:len(whole)/2])
		case "/garbage.hg":
			_, _ = io.WriteString(w, "what is that?")
		case "/breaks.hg", "/breaks-untold.hg", "/changes.hg": // every connection brings a fifth
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			from := 0
			if q.URL.Path == "/changes.hg" {
				w.Header().Set("Last-Modified", fmt.Sprintf("Mon, 02 Jan 2006 15:04:%02d GMT", len(fetched)))
			} else if _, err := fmt.Sscanf(q.Header.Get("Range"), "bytes=%d-", &from); err == nil && q.URL.Path == "/breaks.hg" {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(whole)-1, len(whole)))
				w.Header().Set("Content-Length", fmt.Sprint(len(whole)-from))
				w.WriteHeader(http.StatusPartialContent)
			} else {
				from = 0
				w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			}
			cuts++
			_, _ = w.Write(whole[from:min(len(whole), cuts*len(whole)/4+1)])
		default:
			http.FileServer(http.Dir(files)).ServeHTTP(w, q)
		}
	}))
	defer cdn.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()

	// Something comes after the bundles were made.
	r.commit(t, "Newer", map[string]string{"a": "newer\n"})
	r.run(t, "bookmark", "-f", "-r", ".", "new")
	want := r.whole(t)
	address := r.serve(t)
	const begin, bundle, stream = "capabilities, batch, clonebundles, ", "getbundle", "getbundle stream"
	for _, tt := range []struct {
		name    string
		lines   []string // URL stands for the server of the bundles
		fetched string
		asked   string
	}{
		{"none", nil, "", begin + stream},
		{"stream", []string{"URL/bzip2.hg BUNDLESPEC=bzip2-v2", "URL/zstd.hg BUNDLESPEC=zstd-v2", "URL/stream.hg BUNDLESPEC=none-v2;stream%3Dv2 REQUIRESNI=true"}, "/stream.hg ", begin + bundle},
		{"zstd", []string{"URL/gzip.hg BUNDLESPEC=gzip-v1", "URL/zstd.hg BUNDLESPEC=zstd-v2", "URL/x BUNDLESPEC=none-v2;stream=v3-exp", "URL/y BUNDLESPEC=lzma-v2"}, "/zstd.hg ", begin + bundle},
		{"gzip", []string{"URL/gzip.hg BUNDLESPEC=gzip-v1", "URL/zstd.hg BUNDLESPEC=zstd-v2 REQUIREDRAM=20GB", "ftp://x/y BUNDLESPEC=none-v2"}, "/gzip.hg ", begin + bundle},
		{"not told", []string{"URL/bzip2.hg"}, "/bzip2.hg ", begin + bundle},
		{"moved", []string{"URL/moved.hg BUNDLESPEC=zstd-v2"}, "/moved.hg , /zstd.hg ", begin + bundle},
		{"the first one is missing", []string{"URL/missing.hg BUNDLESPEC=zstd-v2", "URL/gzip.hg BUNDLESPEC=gzip-v1"}, "/missing.hg , /gzip.hg ", begin + bundle},
		{"the first one is cut", []string{"URL/half.hg BUNDLESPEC=zstd-v2", "URL/gzip.hg BUNDLESPEC=gzip-v1"}, "/half.hg , /gzip.hg ", begin + bundle},
		{"none is one", []string{"URL/garbage.hg BUNDLESPEC=zstd-v2"}, "/garbage.hg ", begin + stream},
		{"goes round", []string{"URL/circle.hg BUNDLESPEC=zstd-v2"}, strings.Repeat("/circle.hg , ", maxRedirects) + "/circle.hg ", begin + stream},
		{"secret address", []string{"URL/gone.hg?signature=sesame BUNDLESPEC=zstd-v2"}, "/gone.hg ", begin + stream},
		{"nobody there", []string{closed.URL + "/x.hg BUNDLESPEC=zstd-v2"}, "", begin + stream},
		{"breaks", []string{"URL/breaks.hg BUNDLESPEC=zstd-v2"}, "breaks", begin + bundle},
		{"breaks and begins again", []string{"URL/breaks-untold.hg BUNDLESPEC=zstd-v2"}, "breaks", begin + bundle},
		{"packed", []string{"URL/packed.hg BUNDLESPEC=none-packed1;requirements%3Drevlogv1"}, "/packed.hg ", begin + bundle},
		{"changes", []string{"URL/changes.hg BUNDLESPEC=zstd-v2"}, "changes", begin + stream},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := strings.Split(strings.ReplaceAll(strings.Join(tt.lines, "\n"), "URL", cdn.URL), "\n")
			r.recommend(t, lines...)
			fetched = nil
			cuts = 0
			server := newFront(t, address, unchanged)
			opt := reading(t, server.URL)
			opt.Credentials.Username, opt.Credentials.Password = "alice", "sesame"
			var log bytes.Buffer
			opt.Log = slog.New(slog.NewTextHandler(&log, nil))
			same(t, want, pull(t, openSource(t, opt)))
			if strings.Contains(log.String(), "sesame") || (len(tt.lines) > 0) != strings.Contains(log.String(), "the clone bundle http://127.0.0.1:") {
				t.Errorf("the log says: %s", log.String())
			}
			if asked := server.questions(); asked != tt.asked {
				t.Errorf("it was asked %q, want %q", asked, tt.asked)
			}
			if got := strings.Join(fetched, ", "); got != tt.fetched && !strings.Contains(got, tt.fetched) || len(tt.fetched) > 10 && got != tt.fetched {
				t.Errorf("%q was fetched, want %q", got, tt.fetched)
			}
		})
	}
}

func TestParseCloneBundles(t *testing.T) {
	t.Parallel()
	const text = `https://h/1 BUNDLESPEC=bzip2-v2
http://h/2
https://h/3 BUNDLESPEC=gzip-v2 REQUIREDRAM=512MB
https://h/4 BUNDLESPEC=zstd-v2;obsolescence=yes;phases=yes
https://h/5 BUNDLESPEC=zstd-v2 REQUIREDRAM=1g
https://h/6 BUNDLESPEC=zstd-v2 REQUIREDRAM=much
https://h/7 BUNDLESPEC=none-streamv2
https://h/8 BUNDLESPEC=none-packed1
https://h/9 BUNDLESPEC=nonsense
https://h/10 BUNDLESPEC=zstd-v3;cg.version=04
https://h/11 BUNDLESPEC=%zz
/12 BUNDLESPEC=zstd-v2

https://h/13 BUNDLESPEC=zstd-v2 OTHER
peer-bundle-cache://14 BUNDLESPEC=zstd-v2
`
	var got []string
	for _, b := range parseCloneBundles(text) {
		got = append(got, b.url.Path[1:])
	}
	if want := "7 8 4 10 13 3 2 1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// FuzzAnswers reads arbitrary answers of a server.
func FuzzAnswers(f *testing.F) {
	f.Add("batch bundle2=HG20%0Astream%3Dv2 httpheader=1024", "1111111111111111111111111111111111111111 \n", "https://h/1 BUNDLESPEC=zstd-v2;stream=v2 REQUIREDRAM=1.5GB", "a:cb:o:s:e")
	f.Fuzz(func(t *testing.T, capabilities, heads, bundles, escaped string) {
		c := parseCapabilities(capabilities)
		if n := c.number("httpheader"); n < 0 {
			t.Error(n)
		}
		_ = c.streams()
		if nodes, err := parseNodes([]byte(heads)); err == nil {
			if again, err := parseNodes([]byte(joinNodes(nodes))); err != nil || len(again) != len(nodes) {
				t.Errorf("%v is read again as %v, %v", nodes, again, err)
			}
		}
		for _, b := range parseCloneBundles(bundles) {
			if b.url.Scheme != "http" && b.url.Scheme != "https" || b.url.Hostname() == "" {
				t.Errorf("%v", b.url)
			}
		}
		_ = unescapeBatch([]byte(escaped))
		if plain := unescapeBatch([]byte(batchEscapes.Replace(escaped))); string(plain) != escaped {
			t.Errorf("%q becomes %q", escaped, plain)
		}
	})
}
