package svn

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// told is what an XML reader says of a document, in words.
func told(x *xmlReader) (string, error) {
	var out strings.Builder
	text := false
	for {
		token, err := x.next()
		if errors.Is(err, errAnswerEnds) && len(x.open) == 0 {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		switch token.kind {
		case xmlText:
			if !text {
				out.WriteString("'")
			}
			out.Write(token.text)
		case xmlStart:
			fmt.Fprintf(&out, "<%s %v>", x.element(), x.attrs)
		case xmlEnd:
			out.WriteString("</>")
		}
		text = token.kind == xmlText
	}
}

// XML comes to the same however it is cut into pieces.
func TestXML(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"<?xml version=\"1.0\"?>\n<a/>": "'\n<a []></>",
		`<D:a xmlns:D="DAV:" xmlns="x:"><b D:c="1>2" e='"&#x26;&lt;&#13;'/><D:d></D:d ></D:a>`: `<DAV:a []><x:b [{c 1>2} {e "&<` + "\r" + `}]></><DAV:d []></></>`,
		`<a xmlns="u:"><b xmlns=""/><c/></a>`:                                                  `<u:a []><b []></><u:c []></></>`,
		`<a>1<!-- -- ---><![CDATA[<2>]]]]>&amp;3</a>`:                                          `<a []>'1<2>]]&3</>`,
		"<a p=\"x\ty\nz\x01\xff\">\x02\xfe</a>":                                                "<a [{p x\ty\nz\x01\xff}]>'\x02\xfe</>",
		`<a>&bogus;</a>`:                                                                       "error", `<a>&#0;</a>`: "error", `<a>&#xd800;</a>`: "error", `<a b=c/>`: "error",
		`<a></b>`: "error", `</a>`: "error", `<x:a/>`: "error", `<!DOCTYPE a>`: "error", `<a b="<"/>`: "error", `<>`: "error", `<a>`: "error",
		"<a b=\"" + strings.Repeat("x", maxTag) + "\"/>": "error",
	} {
		for name, cut := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader} {
			var x xmlReader
			x.reset(cut(strings.NewReader(doc)))
			got, err := told(&x)
			if err != nil {
				got = "error"
			}
			if got != want {
				t.Errorf("%.80q, %s: %q (%v), want %q", doc, name, got, err, want)
			}
		}
	}
}

func TestUnbase64(t *testing.T) {
	t.Parallel()
	text := []byte("any carnal pleas\x00\xff")
	for n := range len(text) + 1 {
		coded := base64.StdEncoding.EncodeToString(text[:n])
		for step := 1; step < 7; step++ {
			var out bytes.Buffer
			d := unbase64{out: &out}
			for rest := coded; rest != ""; {
				k := min(step, len(rest))
				if _, err := io.WriteString(&d, rest[:k]+"\r\n"); err != nil {
					t.Fatal(err)
				}
				rest = rest[k:]
			}
			if err := d.end(); err != nil || !bytes.Equal(out.Bytes(), text[:n]) {
				t.Errorf("%q in %d: %q, %v", coded, step, out.Bytes(), err)
			}
		}
	}
	for _, wrong := range []string{"a", "ab==cd==", "a=b=", "ab!d", "ab==\ncdef"} {
		d := unbase64{out: io.Discard}
		_, err := io.WriteString(&d, wrong)
		if err == nil && d.end() == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

const recordedDAV = "testdata/replay.xml"

// TestRecordDAV makes the seed of FuzzDAVReplay: what mod_dav_svn answers for the last revision of small, and for the first.
func TestRecordDAV(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	r := svnfixture.NewRepo(t)
	r.Load(t, small().Bytes())
	server := davfixture.Serve(t, r.Root, davfixture.Config{})
	for _, rev := range []int{1, 4} {
		body := fmt.Sprintf(`<S:replay-report xmlns:S="svn:"><S:revision>%d</S:revision><S:low-water-mark>0</S:low-water-mark><S:send-deltas>1</S:send-deltas></S:replay-report>`, rev)
		request, err := http.NewRequestWithContext(t.Context(), "REPORT", server.URL+"/repo/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%s.%d", recordedDAV, rev), answer, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzDAVReplay reads arbitrary answers to a replay-report.
func FuzzDAVReplay(f *testing.F) {
	for _, rev := range []int{1, 4} {
		seed, err := os.ReadFile(fmt.Sprintf("%s.%d", recordedDAV, rev))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, answer []byte) {
		var x xmlReader
		x.reset(bytes.NewReader(answer))
		held := spool{dir: dir}
		for rev := int64(1); rev <= 4; rev += 3 {
			x.reset(bytes.NewReader(answer))
			e := &davEditor{editor: editor{rev: rev, spool: &held, out: emitter{sink: drain{t}}}, x: &x}
			_ = e.edit(&origin.Revision{Number: rev})
		}
		_ = held.close()
	})
}

// FuzzDAVLog reads arbitrary answers to a log-report, and to PROPFIND.
func FuzzDAVLog(f *testing.F) {
	f.Add([]byte(`<S:log-report xmlns:S="svn:" xmlns:D="DAV:"><S:log-item><D:version-name>1</D:version-name><S:date>2010-01-02T03:04:05.678900Z</S:date>` +
		`<D:comment encoding="base64">eAF5Cg==</D:comment><S:revprop name="a">b</S:revprop></S:log-item></S:log-report>`))
	f.Add([]byte(`<D:multistatus xmlns:D="DAV:"><D:response xmlns:C="http://subversion.tigris.org/xmlns/custom/" xmlns:V="http://subversion.tigris.org/xmlns/dav/">` +
		`<D:href>/svn/repo/</D:href><D:propstat><D:prop><C:a V:encoding="base64">eA==</C:a><D:resourcetype><D:collection/></D:resourcetype></D:prop>` +
		`<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var x xmlReader
		x.reset(bytes.NewReader(answer))
		_ = revisionProps{}.read(&x)
		x.reset(bytes.NewReader(answer))
		_ = readMultistatus(&x, func(href string, _ []davProp) error {
			if !strings.HasPrefix(href, "/") && href != "" {
				t.Errorf("%q", href)
			}
			return nil
		})
	})
}

// FuzzDAVHeaders reads arbitrary headers of an answer to OPTIONS.
func FuzzDAVHeaders(f *testing.F) {
	f.Add("http://subversion.tigris.org/xmlns/dav/svn/log-revprops", "/svn/repo", "/svn/repo/!svn/rev", "7")
	f.Add("1,2", "//", "%zz", "-1")
	f.Fuzz(func(t *testing.T, dav, root, stub, youngest string) {
		h := http.Header{"Dav": {dav}, "Svn-Repository-Root": {root}, "Svn-Rev-Stub": {stub}, "Svn-Rev-Root-Stub": {stub}, "Svn-Youngest-Rev": {youngest}}
		s := (&davPlace{opt: Options{URL: &url.URL{Scheme: "http", Host: "h"}}, here: "/svn/repo/trunk/"}).session()
		if s.readOptions(h) == nil && s.stubs.root != "" && s.locate() == nil {
			if clean, err := cleanPath(s.info.Path); err != nil || clean != s.info.Path {
				t.Errorf("path %q", s.info.Path)
			}
		}
	})
}

// BenchmarkDAVReplay is what reading the XML of a large text costs.
func BenchmarkDAVReplay(b *testing.B) {
	text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("0123456789"), 100_000))
	answer := `<S:editor-report xmlns:S="svn:"><S:target-revision rev="1"/><S:open-root rev="-1"/><S:add-file name="a"/><S:apply-textdelta>` +
		text + `</S:apply-textdelta><S:close-file/>` + strings.Repeat(`<S:add-directory name="branches/a b"/><S:close-directory/>`, 1000) +
		`<S:close-directory/></S:editor-report>`
	held := spool{dir: b.TempDir()}
	var x xmlReader
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		x.reset(strings.NewReader(answer))
		e := &davEditor{editor: editor{rev: 1, spool: &held, out: emitter{sink: ignoring{}}}, x: &x}
		if err := e.edit(&origin.Revision{Number: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

type ignoring struct{}

func (ignoring) BeginRevision(*origin.Revision) error { return nil }
func (ignoring) Change(*origin.Change) error          { return nil }
func (ignoring) EndRevision() error                   { return nil }
