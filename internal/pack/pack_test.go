package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gantry/internal/delta"
)

// git runs git with nothing of the machine's configuration and returns what it prints.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func openStore(t testing.TB, dir, writer string, segments []Segment) *Store {
	t.Helper()
	s, err := OpenStore(dir, writer, segments, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// editDelta is a Git delta that takes the common ends of two texts from the first.
func editDelta(base, full []byte) []byte {
	prefix := 0
	for prefix < len(base) && prefix < len(full) && base[prefix] == full[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < min(len(base), len(full))-prefix && base[len(base)-1-suffix] == full[len(full)-1-suffix] {
		suffix++
	}
	b := delta.NewBuilder(nil, int64(len(base)))
	b.Copy(0, int64(prefix))
	b.Insert(full[prefix : len(full)-suffix])
	b.Copy(int64(len(base)-suffix), int64(suffix))
	return b.Finish()
}

// project is a made-up history: each commit edits one file, and with it the trees above.
type project struct {
	store   *Store
	rand    *rand.Rand
	dirs    []map[string]file // one flat tree below the root per directory
	trees   []text
	root    text
	head    ID
	commits int
}

type file struct {
	text
	mode uint32
}

type text struct {
	id   ID
	data []byte
}

func newProject(s *Store, dirs int) *project {
	p := &project{store: s, rand: rand.New(rand.NewPCG(1, 2)), trees: make([]text, dirs)}
	for range dirs {
		p.dirs = append(p.dirs, map[string]file{})
	}
	return p
}

func (p *project) line() string {
	words := strings.Fields("the quick brown fox returns an error when it jumps over lazy dogs for range func if nil {")
	line := ""
	for range 3 + p.rand.IntN(9) {
		line += words[p.rand.IntN(len(words))] + fmt.Sprint(p.rand.IntN(100)) + " "
	}
	return line + "\n"
}

func (p *project) put(t testing.TB, typ Type, before text, data []byte) text {
	t.Helper()
	var id ID
	if before.data == nil {
		id = must[ID](t)(p.store.Put(typ, data))
	} else {
		id = must[ID](t)(p.store.PutDelta(typ, before.id, editDelta(before.data, data), data))
	}
	return text{id, data}
}

// commit makes one more commit.
func (p *project) commit(t testing.TB) {
	t.Helper()
	d := p.rand.IntN(len(p.dirs))
	dir := p.dirs[d]
	name := fmt.Sprintf("file%d", p.rand.IntN(20))
	f, exists := dir[name]
	if !exists {
		var all strings.Builder
		for range 100 + p.rand.IntN(200) {
			all.WriteString(p.line())
		}
		f = file{p.put(t, Blob, text{}, []byte(all.String())), ModeFile}
	} else {
		at := p.rand.IntN(len(f.data))
		f.text = p.put(t, Blob, f.text, slices.Concat(f.data[:at], []byte(p.line()), f.data[min(len(f.data), at+40):]))
	}
	dir[name] = f
	p.trees[d] = p.put(t, Tree, p.trees[d], p.encodeDir(d))
	var root []byte
	for i, tree := range p.trees {
		if tree.data != nil {
			root = AppendTreeEntry(root, ModeTree, fmt.Sprintf("dir%04d", i), tree.id)
		}
	}
	p.root = p.put(t, Tree, p.root, root)
	var c bytes.Buffer
	fmt.Fprintf(&c, "tree %v\n", p.root.id)
	if !p.head.IsZero() {
		fmt.Fprintf(&c, "parent %v\n", p.head)
	}
	fmt.Fprintf(&c, "author A U Thor <a@example.org> %d +0000\ncommitter A U Thor <a@example.org> %[1]d +0000\n\nChange %d\n",
		1_000_000_000+p.commits, p.commits)
	p.head = must[ID](t)(p.store.Put(Commit, c.Bytes()))
	p.commits++
}

func (p *project) encodeDir(d int) []byte {
	var names []string
	for name := range p.dirs[d] {
		names = append(names, name)
	}
	slices.Sort(names)
	var data []byte
	for _, name := range names {
		f := p.dirs[d][name]
		data = AppendTreeEntry(data, f.mode, name, f.id)
	}
	return data
}

// install copies what roots reach into a new bare repository and has git check it, the index byte by byte.
func install(t testing.TB, s *Store, opt CopyOptions, roots ...ID) (repository string, result CopyResult) {
	t.Helper()
	repository = t.TempDir()
	git(t, repository, "init", "-q", "--bare")
	var packed, idx bytes.Buffer
	result, err := Copy(t.Context(), &packed, s, roots, opt)
	if err != nil {
		t.Fatal(err)
	}
	if result.Size != int64(packed.Len()) {
		t.Errorf("size %d, wrote %d", result.Size, packed.Len())
	}
	if err := result.WriteIndex(&idx); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(repository, "objects/pack", "pack-"+result.Checksum.String())
	writeFile(t, path+".pack", packed.Bytes())
	writeFile(t, path+".idx", idx.Bytes())
	git(t, repository, "verify-pack", path+".idx")
	git(t, repository, "index-pack", "--strict", "-o", filepath.Join(repository, "theirs.idx"), path+".pack")
	theirs := must[[]byte](t)(os.ReadFile(filepath.Join(repository, "theirs.idx")))
	if !bytes.Equal(idx.Bytes(), theirs) {
		t.Error("the index is not the one that git makes")
	}
	return repository, result
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
