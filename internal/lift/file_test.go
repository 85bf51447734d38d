package lift

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"gantry"
)

// What a file is, is told by its content alone, however it is compressed and wherever it ends.
func TestIdentify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, begin string
		want        gantry.VCS
	}{
		{"dump", "SVN-fs-dump-format-version: 2\n\n", gantry.Subversion},
		{"dump after empty lines", "\n\r\nSVN-fs-dump-format-version: 3\n", gantry.Subversion},
		{"bundle", "# v2 git bundle\n", gantry.Git},
		{"bundle of version 3", "# v3 git bundle\n@object-format=sha1\n", gantry.Git},
		{"Mercurial bundle", "HG20\x00\x00\x00\x00", gantry.Mercurial},
		{"Mercurial stream", "HGS1UN\x00\x00", gantry.Mercurial},
		{"text", "some text\n", ""},
		{"bundle of another version", "# v9 git bundle\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var zipped, squeezed bytes.Buffer
			g := gzip.NewWriter(&zipped)
			_, _ = g.Write([]byte(tt.begin)) // into memory
			_ = g.Close()
			z, err := zstd.NewWriter(&squeezed)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = z.Write([]byte(tt.begin))
			_ = z.Close()
			for form, content := range map[string][]byte{"plain": []byte(tt.begin), "gzip": zipped.Bytes(), "zstd": squeezed.Bytes()} {
				if got := identify(t, content); got != tt.want {
					t.Errorf("%s: %q, want %q", form, got, tt.want)
				}
			}
		})
	}
	for name, broken := range map[string]string{"gzip": "\x1f\x8b", "zstd": "\x28\xb5\x2f\xfd\xff\xff"} {
		if got := identify(t, []byte(broken)); got != "" {
			t.Errorf("broken %s is taken for %q", name, got)
		}
	}
}

func identify(t testing.TB, content []byte) gantry.VCS {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	vcs, err := Identify(name)
	if err != nil {
		t.Fatal(err)
	}
	return vcs
}
