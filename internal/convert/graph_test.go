package convert

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/origin/hg"
	"gantry/internal/pack"
)

// hgRepo is a repository that hg itself makes.
type hgRepo struct {
	testing.TB
	dir string
	day int
}

func newHgRepo(t testing.TB, config ...string) *hgRepo {
	t.Helper()
	if _, err := exec.LookPath("hg"); err != nil {
		t.Fatal("these tests need hg: install mercurial")
	}
	r := &hgRepo{TB: t, dir: t.TempDir()}
	r.hg(append([]string{"init"}, config...)...)
	return r
}

func (r *hgRepo) hg(args ...string) string {
	r.Helper()
	cmd := exec.Command("hg", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HGPLAIN=1", "HGRCPATH=", "HGENCODING=UTF-8")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("hg %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// write writes files below the working directory. A name may end in "*", of an executable, or in "@", of a link; a file
// without content is removed, with its directory when nothing else is there.
func (r *hgRepo) write(files map[string]string) {
	r.Helper()
	for _, name := range slices.SortedFunc(maps.Keys(files), func(a, b string) int { // what is removed makes room
		if (files[a] == "") == (files[b] == "") {
			return strings.Compare(a, b)
		}
		return len(files[a]) - len(files[b])
	}) {
		content := files[name]
		full := filepath.Join(r.dir, strings.TrimRight(name, "*@"))
		err := os.RemoveAll(full)
		if content != "" && err == nil {
			err = os.MkdirAll(filepath.Dir(full), 0o755)
		}
		switch {
		case err != nil:
		case content == "":
			_ = os.Remove(filepath.Dir(full))
		case strings.HasSuffix(name, "@"):
			err = os.Symlink(content, full)
		case strings.HasSuffix(name, "*"):
			err = os.WriteFile(full, []byte(content), 0o755)
		default:
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
}

func (r *hgRepo) commit(files map[string]string) {
	r.Helper()
	r.write(files)
	r.day++
	r.hg("commit", "-q", "-A", "-m", fmt.Sprintf("change %d", r.day), "-u", "ann <ann@example.org>", "-d", fmt.Sprintf("%d -7200", 86400*r.day))
}

func (r *hgRepo) bundle(args ...string) *hg.Bundle {
	r.Helper()
	name := filepath.Join(r.TempDir(), "bundle.hg")
	r.hg(append(append([]string{"bundle", "-q"}, args...), name)...)
	b, err := hg.OpenBundle(name, r.TempDir())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { b.Close() })
	return b
}

// tell makes a history of most of what changesets do to files.
func (r *hgRepo) tell() {
	long := strings.Repeat("a line of a long file\n", 3000)
	r.commit(map[string]string{"a": "a\n", "a-b": "b\n", "a.d": "d\n", "A": "upper\n", "dir/sub/x": "x\n", "dir/y": "y\n", "long": long})
	r.commit(map[string]string{"a": "", "a/c": "c\n", "a/b/c": "deep\n", "long": long + "more\n", "run*": "#!\n", "to@": "dir/y"})
	r.commit(map[string]string{"run": "#!\nplain\n", "to": "a file now\n", "mark": "\x01\nbegins as metadata does\n", "dir/sub/x": ""})
	r.hg("copy", "long", "dir/copy")
	r.hg("move", "a.d", "moved")
	r.commit(map[string]string{"dir/copy": "begins anew\n" + long})
	r.hg("update", "-q", "1")
	r.hg("branch", "-q", "side")
	r.commit(map[string]string{"long": "side\n" + long, "dir/z": "z\n", ".gitmodules@": "a-b", ".gitattributes/x": "a directory\n"})
	r.commit(map[string]string{"a/c": "", "a/b/c": "", "a/b": "", "dir/y": "y\nand more\n"})
	r.hg("update", "-q", "default")
	r.hg("merge", "-q", "--tool", ":local", "side")
	r.commit(nil)
	r.commit(map[string]string{"dir": "", "a": "a file again\n", "git~1/x": "trap\n", "%2Ehg": "escaped\n", "empty": "e"})
	r.write(map[string]string{"empty": "e"})
	if err := os.WriteFile(filepath.Join(r.dir, "empty"), nil, 0o644); err != nil {
		r.Fatal(err)
	}
	r.commit(nil)
	r.commit(map[string]string{"empty": "full\n"})
}

// trees returns what every changeset holds as hg writes it to a working copy.
func (r *hgRepo) trees() (trees []map[string]string) {
	for number := range strings.Count(r.hg("log", "-T", "{rev}\n"), "\n") {
		dir := filepath.Join(r.TempDir(), "archive")
		r.hg("archive", "-q", "--config", "ui.archivemeta=no", "-r", fmt.Sprint(number), dir)
		tree := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			var data []byte
			mode := pack.ModeFile
			info, err := e.Info()
			if err != nil {
				return err
			}
			switch {
			case info.Mode()&os.ModeSymlink != 0:
				mode = pack.ModeLink
				target, err := os.Readlink(path)
				if data = []byte(target); err != nil {
					return err
				}
			default:
				if info.Mode()&0o100 != 0 {
					mode = pack.ModeExec
				}
				if data, err = os.ReadFile(path); err != nil {
					return err
				}
			}
			name, _ := filepath.Rel(dir, path)
			parts := strings.Split(name, "/")
			for i := range parts {
				parts[i] = history.ManifestName(parts[i])
			}
			tree[strings.Join(parts, "/")] = fmt.Sprintf("%o %v", mode, pack.Sum(pack.Blob, data))
			return nil
		})
		if err != nil {
			r.Fatal(err)
		}
		trees = append(trees, tree)
	}
	return trees
}

// list lists a tree as trees does.
func list(t testing.TB, store *pack.Store, id pack.ID, prefix string, into map[string]string) map[string]string {
	t.Helper()
	data, err := history.Load(store, id)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range pack.TreeEntries(data) {
		if err != nil {
			t.Fatal(err)
		}
		if e.IsDir() {
			list(t, store, e.ID, prefix+string(e.Name)+"/", into)
		} else {
			into[prefix+string(e.Name)] = fmt.Sprintf("%o %v", e.Mode, e.ID)
		}
	}
	return into
}

func openGraph(t testing.TB, dir, writer string, opt Options) *Conversion {
	t.Helper()
	opt.Dir, opt.Writer, opt.Journal = dir, writer, OpenFileJournal(filepath.Join(dir, "journal"))
	c, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func readGraph(t testing.TB, c *Conversion, src origin.GraphSource) {
	t.Helper()
	if err := c.ReadGraph(t.Context(), src); err != nil {
		t.Fatal(err)
	}
}

// rootTrees returns the tree of every changeset by its node.
func rootTrees(t testing.TB, c *Conversion) map[string]pack.ID {
	t.Helper()
	trees := map[string]pack.ID{}
	for r, err := range c.log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		trees[r.Changeset.Node.String()] = r.Root.Tree
	}
	return trees
}

// Every tree is what hg itself writes of its changeset.
func TestReadGraph(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, bundle string
		config       []string
	}{
		{"flat", "gzip-v2", nil},
		{"first version", "none-v1", nil},
		{"stream", "none-v2;stream=v2", nil},
		{"tree", "gzip-v2;cg.version=03", []string{"--config", "experimental.treemanifest=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newHgRepo(t, c.config...)
			r.tell()
			want := r.trees()
			for i := range want { // Git refuses these, so they have other names
				renameKey(want[i], ".gitattributes/x", "%2Egitattributes/x")
				if link, ok := want[i][".gitmodules"]; ok {
					want[i][".gitmodules"] = strings.Replace(link, "120000", "100644", 1)
				}
			}
			into := openGraph(t, t.TempDir(), "a", Options{})
			readGraph(t, into, r.bundle("--all", "--type", c.bundle))
			got := rootTrees(t, into)
			for i, node := range strings.Fields(r.hg("log", "-r", "all()", "-T", "{node}\n")) {
				if diff := cmp.Diff(want[i], list(t, into.store, got[node], "", map[string]string{})); diff != "" {
					t.Errorf("changeset %d: %s", i, diff)
				}
			}
			counts := into.State().Counts
			if counts.Revisions != int64(len(want)) || counts.Unchecked != 0 || counts.Verified != counts.Files || counts.Files == 0 {
				t.Errorf("counted %+v of %d changesets", counts, len(want))
			}
		})
	}
}

func renameKey(m map[string]string, from, to string) {
	if v, ok := m[from]; ok {
		delete(m, from)
		m[to] = v
	}
}
