package hg

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gantry/internal/egress"
	"gantry/internal/lfs"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

func pointerTo(content string) lfs.Pointer {
	return lfs.Pointer{OID: sha256.Sum256([]byte(content)), Size: int64(len(content))}
}

// objectsAt has objects brought from a server, in front of which a store answers that is not hg's, and returns why they are
// absent.
func objectsAt(t *testing.T, store http.HandlerFunc, change func(*Options), to *lfs.Store, pointers ...lfs.Pointer) ([]string, error) {
	t.Helper()
	f := newFront(t, newRepo(t).serve(t), func(behind http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/.git/") || strings.HasPrefix(r.URL.Path, "/store/") {
				store(w, r)
				return
			}
			behind.ServeHTTP(w, r)
		}
	})
	opt := reading(t, f.URL)
	if change != nil {
		change(&opt)
	}
	reasons := make([]string, len(pointers))
	err := openSource(t, opt).Objects(t.Context(), pointers, to, func(p lfs.Pointer, reason string) {
		for i := range pointers {
			if pointers[i] == p {
				reasons[i] = reason
			}
		}
	})
	return reasons, err
}

// answerBatch offers every object where href says.
func answerBatch(t *testing.T, w http.ResponseWriter, r *http.Request, href func(oid string) string, header map[string]string) {
	var asked objectBatch
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		t.Errorf("the question is none: %v", err)
	}
	type download struct {
		Href   string            `json:"href"`
		Header map[string]string `json:"header"`
	}
	var objects []map[string]any
	for _, o := range asked.Objects {
		objects = append(objects, map[string]any{"oid": o.OID, "size": o.Size, "actions": map[string]any{"download": download{href(o.OID), header}}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"objects": objects})
}

// Whatever a store sends in the place of an object is told, and nothing of it is kept.
func TestHostileStore(t *testing.T) {
	t.Parallel()
	const content = "the content of an object\n"
	p := pointerTo(content)
	object := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/.git/") {
				answerBatch(t, w, r, func(oid string) string { return "/store/" + oid }, nil)
				return
			}
			answer(w, r)
		}
	}
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	batch := func(text string) http.HandlerFunc { return say(strings.ReplaceAll(text, "OID", p.OID.String())) }
	policy, err := egress.ParsePolicy([]string{"127.0.0.1/32"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"too long", object(say(content + "more")), "it is longer than 25 bytes"},
		{"endless", object(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}), "it is longer than 25 bytes"},
		{"wrong", object(say(strings.Replace(content, "t", "T", 1))), "it has 25 bytes with the SHA-256"},
		{"too short", object(say(content[:10])), "it has 10 bytes with the SHA-256"},
		{"a private address", object(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		}), "127.0.0.2"},
		{"a file", object(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}), "leads to file:///etc/passwd"},
		{"in circles", object(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }), "again and again"},
		{"gone", object(http.NotFound), "404"},
		{"a fault", object(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }), "500"},
		{"no store", http.NotFound, "404"},
		{"a page", batch("<html>"), "does not answer by its protocol"},
		{"nothing", batch("{}"), "the store does not have it"},
		{"no action", batch(`{"objects":[{"oid":"OID","size":25}]}`), "the store does not have it"},
		{"an error", batch(`{"objects":[{"oid":"OID","error":{"code":410,"message":"was removed"}}]}`), "was removed (410)"},
		{"another object", batch(`{"objects":[{"oid":"00","actions":{"download":{"href":"/store/x"}}}]}`), "the store does not have it"},
		{"an odd address", batch(`{"objects":[{"oid":"OID","actions":{"download":{"href":"ftp://localhost/x"}}}]}`), "where nothing can be"},
		{"a broken header", batch(`{"objects":[{"oid":"OID","actions":{"download":{"href":"/store/x","header":{"a b":"c\nd"}}}}]}`), "header"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			within := func(opt *Options) {
				opt.HTTP = egress.New(policy, slog.New(slog.DiscardHandler)).HTTPClient().Transport
			}
			reasons, err := objectsAt(t, tt.answer, within, lfs.In(dir), p)
			if err != nil {
				t.Fatalf("it is an error: %v", err)
			}
			if !strings.Contains(reasons[0], tt.want) {
				t.Errorf("it is absent because %q, want %q", reasons[0], tt.want)
			}
			if lfs.In(dir).Has(p) {
				t.Error("it is kept")
			}
		})
	}
}

// An object goes on where the connection broke, also from a server that does not know how to, and another time.
func TestObjectsResume(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 100_000)
	p := pointerTo(content)
	for _, ranges := range []bool{true, false} {
		var mu sync.Mutex
		var sent, requests int
		to := lfs.In(t.TempDir())
		reasons, err := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/.git/") {
				answerBatch(t, w, r, func(oid string) string { return "/store/" + oid }, nil)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			requests++
			rest := content
			var from int
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && ranges {
				rest = content[from:]
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
				w.WriteHeader(http.StatusPartialContent)
			}
			if requests == 1 {
				rest = rest[:len(rest)/2]
			}
			n, _ := w.Write([]byte(rest))
			if sent += n; requests == 1 {
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}, nil, to, p)
		if err != nil || reasons[0] != "" || !to.Has(p) || requests != 2 || ranges && sent > len(content) {
			t.Errorf("with ranges %v: %v, absent because %q, %d requests, %d bytes", ranges, err, reasons[0], requests, sent)
		}
	}
}

// The log-in goes to the server that it is for, and what a store wants in a request to where it says.
func TestObjectsCredentials(t *testing.T) {
	t.Parallel()
	p, q := pointerTo("here\n"), pointerTo("elsewhere\n")
	check := func(where string, r *http.Request, login, token bool) {
		if _, _, ok := r.BasicAuth(); ok != login || (r.Header.Get("X-Token") == "t") != token {
			t.Errorf("%s gets %v", where, r.Header)
		}
	}
	third := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check("the third", r, false, false)
		fmt.Fprint(w, "elsewhere\n")
	}))
	defer third.Close()
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check("the second", r, false, true)
		http.Redirect(w, r, third.URL, http.StatusFound)
	}))
	defer second.Close()
	to := lfs.In(t.TempDir())
	reasons, err := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "sesame" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/store/") {
			check("the first", r, true, true)
			fmt.Fprint(w, "here\n")
			return
		}
		answerBatch(t, w, r, func(oid string) string {
			if oid == p.OID.String() {
				return "/store/" + oid
			}
			return second.URL
		}, map[string]string{"X-Token": "t", "Host": "nowhere"})
	}, func(opt *Options) { opt.Credentials = origin.Credentials{Username: "alice", Password: "sesame"} }, to, p, q)
	if err != nil || !to.Has(p) || !to.Has(q) {
		t.Errorf("%v, absent: %q", err, reasons)
	}
}

// A store of another host is asked where somebody has named it, and never with the log-in. Over ssh nobody else does.
func TestObjectsElsewhere(t *testing.T) {
	t.Parallel()
	p := pointerTo("elsewhere\n")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the log-in goes to another host")
		}
		if r.URL.Path == "/lfs/objects/batch" {
			answerBatch(t, w, r, func(oid string) string { return "/lfs/" + oid }, nil)
			return
		}
		fmt.Fprint(w, "elsewhere\n")
	}))
	defer other.Close()
	r := newRepo(t)
	over := r.serveSSH(t, "")
	for _, named := range []string{other.URL + "/lfs/", ""} {
		opt := reading(t, "ssh://"+over.Address+"/repo")
		opt.Credentials = origin.Credentials{Username: "alice", Password: over.Password}
		opt.LFS = named
		to := lfs.In(t.TempDir())
		var absent string
		err := openSource(t, opt).Objects(t.Context(), []lfs.Pointer{p}, to, func(_ lfs.Pointer, reason string) { absent = reason })
		if err != nil || to.Has(p) != (named != "") || (absent == "") != (named != "") {
			t.Errorf("at %q: %v, absent because %q", named, err, absent)
		}
	}
}

// Of a server of largefiles that sends what it likes, nothing comes that is not a content's length and so many bytes.
func TestHostileLargefiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, want string }{
		{"5\nabcde", ""},
		{"5\nabcdefgh", ""},
		{"-1\n", "where the length"},
		{"99999999999999999999\n", "where the length"},
		{strings.Repeat("9", 1<<20), "where the length"},
		{"x\nabc", "where the length"},
	} {
		f := newFront(t, newRepo(t, "extensions.largefiles=").serve(t), func(behind http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Query().Get("cmd") {
				case "batch":
					w.Header().Set("Content-Type", mediaPrefix+"0.1")
					fmt.Fprint(w, "0\n")
				case "statlfile":
					w.Header().Set("Content-Type", mediaPrefix+"0.1")
					fmt.Fprint(w, "0\n")
				case "getlfile":
					w.Header().Set("Content-Type", mediaPrefix+"0.1")
					fmt.Fprint(w, tt.answer)
				default:
					behind.ServeHTTP(w, r)
				}
			}
		})
		var absent string
		var came []byte
		err := openSource(t, reading(t, f.URL)).Largefiles(t.Context(), []revlog.Node{{1}}, func(_ revlog.Node, in io.Reader) (err error) {
			came, err = io.ReadAll(in)
			return err
		}, func(_ revlog.Node, reason string) { absent = reason })
		if err != nil || !strings.Contains(absent, tt.want) || (absent == "") != (tt.want == "") || tt.want == "" && string(came) != "abcde" {
			t.Errorf("%.20q: %v, absent because %q, came %q", tt.answer, err, absent, came)
		}
	}
}
