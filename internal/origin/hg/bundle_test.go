package hg

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openBundleFile(t testing.TB, name string) *Bundle {
	t.Helper()
	b, err := OpenBundle(name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// Every kind of bundle tells the same, and what it tells is what hg shows.
func TestBundle(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	first := pull(t, openBundleFile(t, r.bundle(t, "none-v2", "--all")))
	judge(t, r, first)
	for _, spec := range []string{
		"none-v1", "gzip-v1", "bzip2-v1", "gzip-v2", "bzip2-v2", "zstd-v2", "none-v2;stream=v2", "zstd-streamv2", "packed1",
	} {
		t.Run(strings.ReplaceAll(spec, ";", ","), func(t *testing.T) {
			m := pull(t, openBundleFile(t, r.bundle(t, spec, "--all")))
			if diff := cmp.Diff(first.told(), m.told()); diff != "" {
				t.Errorf("it tells something else:\n%s", diff)
			}
			if diff := cmp.Diff(first.heads, m.heads); diff != "" {
				t.Errorf("it shows something else:\n%s", diff)
			}
		})
	}
}

// Repositories of other and older forms: their files tell what their changegroups do.
func TestStores(t *testing.T) {
	t.Parallel()
	for _, config := range []string{
		"format.revlog-compression=zlib", "format.revlog-compression=none", "format.usegeneraldelta=no", "format.sparse-revlog=no", "format.usestore=no",
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			r := newStandardRepo(t, config)
			m := pull(t, openBundleFile(t, r.bundle(t, "none-v2;stream=v2", "--all")))
			other := pull(t, openBundleFile(t, r.bundle(t, "gzip-v2", "--all")))
			if diff := cmp.Diff(m.told(), other.told()); diff != "" {
				t.Errorf("the changegroup tells something else than the stream:\n%s", diff)
			}
		})
	}
}

// Manifests of directories come in both ways.
func TestTreeManifests(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t, "experimental.treemanifest=1")
	m := pull(t, openBundleFile(t, r.bundle(t, "gzip-v2;cg.version=03", "--all")))
	judge(t, r, m)
	stream := pull(t, openBundleFile(t, r.bundle(t, "none-v2;stream=v2;cg.version=03", "--all")))
	if diff := cmp.Diff(m.told(), stream.told()); diff != "" {
		t.Errorf("the stream tells something else than the changegroup:\n%s", diff)
	}
	if len(m.texts["/new/"]) == 0 {
		t.Error("no manifests of directories came")
	}
}
