package githttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gantry"
)

// A path belongs to Git when it is below OWNER/NAME.git; its label comes from a fixed set, whatever a caller makes up.
func TestRoute(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/o/r.git/info/refs":        "/{owner}/{repo}.git/info/refs",
		"/o/r.git/git-upload-pack":  "/{owner}/{repo}.git/git-upload-pack",
		"/o/r.git/git-receive-pack": "/{owner}/{repo}.git/git-receive-pack",
		"/o/r.git/objects/info/x":   "/{owner}/{repo}.git/{file}",
		"/o/r.git/HEAD":             "/{owner}/{repo}.git/{file}",
		"/o/r.git/../../etc/passwd": "/{owner}/{repo}.git/{file}",
		"/o/r/info/refs":            "",
		"/o/r.git":                  "",
		"/o/.git/info/refs":         "",
		"//r.git/info/refs":         "",
		"/repos/o/r/import":         "",
		"/":                         "",
	} {
		got, ok := Route(path)
		if got != want || ok != (want != "") {
			t.Errorf("Route(%q) is %q, %v, want %q", path, got, ok, want)
		}
	}
}

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A body is bounded by what it inflates to, so that a small request cannot make git read without end.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 1000
	for name, test := range map[string]struct {
		size  int
		gzip  bool
		limit int64
		over  bool
	}{
		"below":              {size: limit - 1, limit: limit},
		"exactly":            {size: limit, limit: limit},
		"above":              {size: limit + 1, limit: limit, over: true},
		"no limit":           {size: 10 * limit},
		"inflated, exactly":  {size: limit, gzip: true, limit: limit},
		"inflated, above":    {size: 1000 * limit, gzip: true, limit: limit, over: true},
		"inflated, no limit": {size: 10 * limit, gzip: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := bytes.Repeat([]byte("x"), test.size)
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(text))
			if test.gzip {
				r = httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(compressed(t, text)))
				r.Header.Set("Content-Encoding", "gzip")
			}
			b, err := newBody(httptest.NewRecorder(), r, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			if test.over {
				if !errors.Is(err, errTooLarge) || !b.over.Load() || int64(len(got)) > test.limit {
					t.Errorf("%d bytes and %v came through, want an error after at most %d", len(got), err, test.limit)
				}
				return
			}
			if err != nil || !bytes.Equal(got, text) || b.over.Load() {
				t.Errorf("%d of %d bytes came through, %v", len(got), len(text), err)
			}
		})
	}
}

func TestBodyEncodings(t *testing.T) {
	t.Parallel()
	for encoding, body := range map[string]string{"br": "x", "gzip": "this is no gzip", "deflate": ""} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Encoding", encoding)
		if _, err := newBody(httptest.NewRecorder(), r, 0); gantry.KindOf(err) != gantry.Invalid {
			t.Errorf("Content-Encoding %s with the body %q: %v, want Invalid", encoding, body, err)
		}
	}
}

// No more than the limit are inside for one repository; others wait, and are sent away when it takes too long.
func TestGates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gates{limit: 2}
		var inside, most atomic.Int32
		for range 10 {
			go func() {
				leave, err := g.enter(t.Context(), 7)
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(time.Second)
				inside.Add(-1)
				leave()
			}()
		}
		synctest.Wait()
		if other, err := g.enter(t.Context(), 8); err != nil {
			t.Errorf("another repository has to wait: %v", err)
		} else {
			other()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if most.Load() != 2 {
			t.Errorf("%d were inside at a time, want 2", most.Load())
		}
		if len(g.open) != 0 {
			t.Errorf("%d gates are left behind", len(g.open))
		}

		for range 2 {
			if _, err := g.enter(t.Context(), 7); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := g.enter(t.Context(), 7); gantry.KindOf(err) != gantry.Unavailable {
			t.Errorf("waiting in vain: %v, want Unavailable", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(gone, 7); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
	})
}

func TestPresented(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]struct {
		token, user, password string
		basic                 bool
	}{
		"":                     {},
		"Bearer abc":           {token: "abc"},
		"token abc":            {token: "abc"},
		"Basic dXNlcjpwYXNz":   {user: "user", password: "pass", basic: true},
		"Negotiate abcdef":     {},
		"Basic not-base64-!!!": {},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		r.RemoteAddr = "[::ffff:192.0.2.7]:1234"
		got := presented(r)
		if got.Token != want.token || got.Username != want.user || got.Password != want.password || got.Basic != want.basic {
			t.Errorf("%q is read as %+v", header, got)
		}
		if got.Addr.String() != "192.0.2.7" {
			t.Errorf("the address is %s", got.Addr)
		}
	}
}
