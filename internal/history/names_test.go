package history

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gantry/internal/pack"
)

var names = []struct{ name, want string }{
	{"README", "README"},
	{".gitignore", ".gitignore"},
	{".gitmodules", ".gitmodules"},
	{".gitattributes", ".gitattributes"},
	{".github", ".github"},
	{"git", "git"},
	{"git~2", "git~2"},
	{"a\\b", "a\\b"},
	{"100%", "100%"},
	{"%20", "%20"},
	{"%2Ehidden", "%2Ehidden"},
	{"übersicht ☃", "übersicht ☃"},
	{".gitmodules~", ".gitmodules~"},
	{"gitmod~5", "gitmod~5"},
	{"gi7eba~a", "gi7eba~a"},
	{"\xff.git", "\xff.git"},

	{".", "%2E"},
	{"..", "%2E."},
	{".git", "%2Egit"},
	{".GIT", "%2EGIT"},
	{".git.", "%2Egit."},
	{".git . ", "%2Egit . "},
	{".git::$INDEX_ALLOCATION", "%2Egit::$INDEX_ALLOCATION"},
	{".git\\hooks", "%2Egit%5Chooks"},
	{"a\\.git", "%61%5C.git"},
	{"a\\.git\\.git", "%61%5C.git%5C.git"},
	{"git~1", "%67it~1"},
	{"GIT~1 .", "%47IT~1 ."},
	{".g\u200cit", "%2Eg\u200cit"},
	{"\ufeff.git", "%EF\xbb\xbf.git"},
	{".GitModules", "%2EGitModules"},
	{".gitmodules ", "%2Egitmodules "},
	{"gitmod~1", "%67itmod~1"},
	{"GI7EBA~1", "%47I7EBA~1"},
	{"gi7eb~12", "%67i7eb~12"},
	{"~1000000", "%7E1000000"},
	{"%2Egit", "%252Egit"},
	{"%252Egit", "%25252Egit"},
	{"a\x00b", "%61%00b"},
}

func TestGitName(t *testing.T) {
	t.Parallel()
	for _, tt := range names {
		if got := GitName(tt.name); got != tt.want {
			t.Errorf("GitName(%q) = %q, want %q", tt.name, got, tt.want)
		}
		if got := OriginName(tt.want); got != tt.name {
			t.Errorf("OriginName(%q) = %q, want %q", tt.want, got, tt.name)
		}
	}
}

// Git itself decides what is refused: nothing more is renamed, and nothing that it refuses is left.
func TestGitNameIsWhatFsckAccepts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(stdin []byte, args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := git(nil, "init", "-q"); err != nil {
		t.Fatal(out)
	}
	blob, err := git([]byte("x\n"), "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(blob)
	}
	id, err := pack.ParseID(blob)
	if err != nil {
		t.Fatal(err)
	}
	// A name that git takes for .gitmodules is refused as a link.
	checked := map[string][]string{} // ids of trees by name
	for _, tt := range names {
		for _, name := range []string{tt.name, tt.want} {
			for _, mode := range []uint32{pack.ModeFile, pack.ModeLink} {
				if strings.Contains(name, "\x00") || mode == pack.ModeLink && name == ".gitmodules" {
					continue
				}
				tree := pack.AppendTreeEntry(nil, mode, name, id)
				out, err := git(tree, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
				if err != nil {
					t.Fatal(out)
				}
				checked[name] = append(checked[name], out)
			}
		}
	}
	found, _ := git(nil, "fsck", "--strict", "--no-dangling")
	accepts := func(name string) bool {
		return !slices.ContainsFunc(checked[name], func(id string) bool { return strings.Contains(found, "error in tree "+id) })
	}
	for _, tt := range names {
		if !accepts(tt.want) {
			t.Errorf("git refuses %q, which stands for %q", tt.want, tt.name)
		}
		if strings.HasPrefix(tt.name, "%") || strings.Contains(tt.name, "\x00") {
			continue // renamed for another reason
		}
		if renamed := tt.name != tt.want; renamed == accepts(tt.name) {
			t.Errorf("renamed is %v for %q, and git disagrees", renamed, tt.name)
		}
	}
}

// Every name comes back, and no other name becomes the same one.
func TestGitNameIsReversible(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{".", ".git", "git~1", "%", "25", "2E", "5C", "g", "\\", ":", " ", "\u200c", "I", "\x00", "modules", "~1", "gi7eba"})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(parts, 1, 8).Draw(t, "parts"), "")
		encoded := GitName(name)
		if OriginName(encoded) != name {
			t.Fatalf("%q became %q, which becomes %q", name, encoded, OriginName(encoded))
		}
		if isRefused(encoded) {
			t.Fatalf("%q became %q, which is refused", name, encoded)
		}
		if back := OriginName(name); GitName(back) != name && !isRefused(name) && !isEscaped(name) && back != name {
			t.Fatalf("%q is the name of %q, which has the name %q", name, back, GitName(back))
		}
	})
}

func FuzzGitName(f *testing.F) {
	for _, tt := range names {
		f.Add(tt.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || strings.Contains(name, "/") {
			return
		}
		encoded := GitName(name)
		if OriginName(encoded) != name || isRefused(encoded) {
			t.Errorf("%q became %q", name, encoded)
		}
	})
}
