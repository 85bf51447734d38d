package hg

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/revlog"
)

// repo is a repository that hg itself made.
type repo struct {
	dir  string
	rc   string // name of its configuration
	does *hgfixture.Commands
	date int
}

// newRepo makes an empty repository. Config is of the form section.name=value.
func newRepo(t testing.TB, config ...string) *repo {
	t.Helper()
	dir := t.TempDir()
	r := &repo{dir: filepath.Join(dir, "repo"), rc: filepath.Join(dir, "hgrc")}
	var rc strings.Builder
	for _, c := range append([]string{"ui.username=alice <alice@example.org>", "ui.merge=:other", "extensions.censor="}, config...) {
		section, rest, _ := strings.Cut(c, ".")
		fmt.Fprintf(&rc, "[%s]\n%s\n", section, rest)
	}
	if err := os.WriteFile(r.rc, []byte(rc.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	hgfixture.StartCommands(t, dir, r.env()).Run(t, "init", r.dir)
	r.does = hgfixture.StartCommands(t, r.dir, r.env())
	return r
}

func (r *repo) env() []string {
	return append(os.Environ(), "HGPLAIN=1", "HGRCPATH="+r.rc, "HGENCODING=UTF-8")
}

// run runs hg in the repository.
func (r *repo) run(t testing.TB, args ...string) string {
	t.Helper()
	return r.does.Run(t, args...)
}

// commit commits what write left in the working directory.
func (r *repo) commit(t testing.TB, message string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		name := filepath.Join(r.dir, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.date++
	r.run(t, "commit", "-q", "-A", "-m", message, "-d", strings.Repeat("1", 1+r.date%8)+" -3600")
}

// bundle writes a bundle of a type that hg knows.
func (r *repo) bundle(t testing.TB, spec string, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bundle.hg")
	if spec == "packed1" {
		r.run(t, "debugcreatestreamclonebundle", name)
		return name
	}
	r.run(t, append([]string{"bundle", "-q", "-t", spec, name}, args...)...)
	return name
}

// getBundle asks hg serve for all that it has, in the form that a capability of bundles names.
func (r *repo) getBundle(t testing.TB, capability string, arguments ...string) string {
	t.Helper()
	heads := strings.TrimSpace(r.run(t, "log", "-r", "head() and not secret()", "-T", "{node} "))
	arguments = append(arguments, "heads", heads, "bundlecaps", "HG20,bundle2=HG20%0A"+capability)
	request := fmt.Sprintf("getbundle\n* %d\n", len(arguments)/2)
	for i := 0; i < len(arguments); i += 2 {
		request += fmt.Sprintf("%s %d\n%s", arguments[i], len(arguments[i+1]), arguments[i+1])
	}
	cmd := exec.Command("hg", "-R", r.dir, "serve", "--stdio")
	cmd.Env, cmd.Stdin = r.env(), strings.NewReader(request)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// noise is text that compression does not make much smaller.
func noise(seed uint64, size int) string {
	rnd := rand.New(rand.NewPCG(seed, seed))
	var b strings.Builder
	for b.Len() < size {
		for range 40 {
			b.WriteByte(byte(' ' + rnd.IntN(94)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// newStandardRepo has something of everything: names that stores escape, copies, merges, a file that is kept in two files,
// branches, links and executables.
func newStandardRepo(t testing.TB, config ...string) *repo {
	t.Helper()
	r := newRepo(t, config...)
	long := strings.Repeat("A long Name/", 14) + "end.TXT"
	big := noise(1, 300<<10)
	r.commit(t, "Begin", map[string]string{
		"a": "1\n", "a.i/b": "2\n", "a.d/c.d": "3\n", "a.i.hg/d": "4\n", "x.hg/e.i": "5\n", "AUX/Con.": "6\n", long: "7\n",
		"\xe4\xf6 ~2f_/\xff": "8\n", "empty": "", "big": big, "marked": "\x01\nlike a header\n\x01\ncontent\n", ".hgtags": "",
	})
	for i := range 4 {
		big = big[:1000*i] + noise(uint64(i)+2, 20<<10) + big[1000*i+500:]
		r.commit(t, "Grow", map[string]string{"big": big, "a": strings.Repeat("more\n", i*100)})
	}
	r.run(t, "branch", "-q", "other branch")
	r.run(t, "cp", "-q", "a", "copy")
	r.run(t, "mv", "-q", "a.d/c.d", "moved")
	if err := os.Symlink("a", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(r.dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.commit(t, "Line\n\nend", map[string]string{"copy": "other\n"})
	r.run(t, "update", "-q", "default")
	r.commit(t, "On", map[string]string{"a": "this\n", "new/a": "n\n"})
	r.run(t, "merge", "-q", "other branch")
	r.commit(t, "Merge", nil)
	r.run(t, "bookmark", "-r", "2", "a mark/\u00fc")
	r.run(t, "tag", "-d", "5 0", "-r", "1", "v1")
	r.run(t, "update", "-q", "3")
	r.commit(t, "Another head", map[string]string{"big": "small\n"})
	return r
}

// judge compares what came with what hg itself shows.
func judge(t *testing.T, r *repo, m *model) {
	t.Helper()
	type changeset struct{ Node, Manifest string }
	var shown []changeset
	if err := json.Unmarshal([]byte(r.run(t, "log", "-r", "all()-secret()", "-T", "json(node, manifest)")), &shown); err != nil {
		t.Fatal(err)
	}
	for _, c := range shown {
		node, err := revlog.ParseNode([]byte(c.Node))
		if err != nil {
			t.Fatal(err)
		}
		if _, came := m.texts[""][node]; !came {
			t.Errorf("changeset %s did not come", node)
			continue
		}
		want := make(map[string]string)
		for line := range strings.Lines(r.run(t, "manifest", "--debug", "-r", c.Node)) {
			// node, mode in four columns, sign, path
			flag := map[string]string{" ": `'\x00'`, "*": "'x'", "@": "'l'"}[line[45:46]]
			want[strings.TrimSuffix(line[47:], "\n")] = line[:40] + " " + flag
		}
		got := m.entries(t, node)
		for path, entry := range want {
			if got[path] != entry {
				t.Errorf("changeset %s: %q is %q, want %q", node, path, got[path], entry)
			}
		}
		if len(got) != len(want) {
			t.Errorf("changeset %s has %d files, want %d", node, len(got), len(want))
		}
	}
	var heads []string
	for _, n := range m.heads.Heads {
		heads = append(heads, n.String())
	}
	want := strings.Fields(r.run(t, "log", "-r", "sort(heads(all()-secret()), -rev)", "-T", "{node}\n"))
	if strings.Join(heads, " ") != strings.Join(want, " ") {
		t.Errorf("heads are %q, want %q", heads, want)
	}
}
