package hg

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry"
	"gantry/internal/revlog"
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
	for spec, want := range map[string]int64{"zstd-v2": int64(len(first.texts[""])), "gzip-v1": -1, "none-v2;stream=v2": -1} {
		if got := openBundleFile(t, r.bundle(t, spec, "--all")).GraphInfo().Changesets; got != want {
			t.Errorf("%s says that it has %d changesets, want %d", spec, got, want)
		}
	}
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

// A changegroup of version 4 tells more of changesets, which is passed over; a stream of such a repository is refused.
func TestSideData(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t, "experimental.changegroup4=yes", "format.exp-use-copies-side-data-changeset=yes")
	m := pull(t, ReadBundle(strings.NewReader(r.getBundle(t, "changegroup%3D04")), "answer", t.TempDir()))
	judge(t, r, m)
	_, err := ReadBundle(strings.NewReader(r.getBundle(t, "stream%3Dv2", "stream", "1")), "answer", t.TempDir()).Pull(t.Context(), nil, newModel())
	if !errors.As(err, new(unsupported)) {
		t.Errorf("the stream is %v", err)
	}
}

// A text that was taken away is flagged as such in every way.
func TestCensored(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit(t, "1", map[string]string{"a": "fine\n"})
	r.commit(t, "2", map[string]string{"a": "fine\nsecret\n"})
	r.commit(t, "3", map[string]string{"a": "fine\nagain\n"})
	r.run(t, "censor", "-r", "1", "-t", "why", "a")
	for _, spec := range []string{"none-v2", "none-v2;stream=v2"} {
		m := pull(t, openBundleFile(t, r.bundle(t, spec, "--all")))
		var flagged []string
		for _, line := range m.order {
			if strings.HasSuffix(line, " 32768") {
				flagged = append(flagged, strings.Fields(line)[1])
			}
		}
		for node, text := range m.texts["a"] {
			header, _ := revlog.SplitMetadata(text)
			if why := string(revlog.Metadata(header, revlog.CensoredKey)); why == "why" != slices.Contains(flagged, node.String()) {
				t.Errorf("%s: %s is %q, and these are flagged: %q", spec, node, text, flagged)
			}
		}
		if len(flagged) != 1 {
			t.Errorf("%s: %q are flagged", spec, flagged)
		}
	}
}

// A pointer to a large file is flagged as one.
func TestExternal(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "extensions.lfs=", "lfs.track=size('>1KB')", "lfs.url=null://", "lfs.usercache="+t.TempDir())
	r.commit(t, "1", map[string]string{"large": noise(1, 2000), "small": "small\n"})
	r.commit(t, "2", map[string]string{"large": noise(1, 3000)})
	r.run(t, "cp", "-q", "large", "copied")
	r.commit(t, "3", map[string]string{"large": "small\n"})
	r.commit(t, "4", map[string]string{"large": noise(1, 2000)})
	for _, spec := range []string{"none-v2;cg.version=03", "none-v2;stream=v2;cg.version=03"} {
		m := pull(t, openBundleFile(t, r.bundle(t, spec, "--all")))
		pointers := 0
		for _, line := range m.order {
			if strings.HasSuffix(line, " 8192") {
				pointers++
			}
		}
		if pointers != 4 || len(m.texts["large"]) != 4 || len(m.texts["copied"]) != 1 {
			t.Errorf("%s: %d pointers in %q", spec, pointers, m.order)
		}
		for node, text := range m.texts["copied"] {
			if !strings.HasPrefix(string(text), "version https://git-lfs") {
				t.Errorf("%s: the text of %s is %q", spec, node, text)
			}
		}
	}
}

// A bundle that builds on something else is of use only where that is.
func TestIncrementalBundle(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	name := r.bundle(t, "gzip-v2", "--base", "2")
	_, err := openBundleFile(t, name).Pull(t.Context(), nil, newModel())
	if err == nil || !strings.Contains(err.Error(), "make one that has everything") {
		t.Errorf("without what it builds on: %v", err)
	}
	m := pull(t, openBundleFile(t, r.bundle(t, "none-v1", "--base", "null", "-r", "2")))
	known := m.heads.Heads
	if m.heads, err = openBundleFile(t, name).Pull(t.Context(), known, m); err != nil {
		t.Fatal(err)
	}
	judge(t, r, m)
}

// A stream can be read once, and says so.
func TestReadBundle(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	data, err := os.ReadFile(r.bundle(t, "zstd-v2", "--all"))
	if err != nil {
		t.Fatal(err)
	}
	b := ReadBundle(bytes.NewReader(data), "upload", t.TempDir())
	judge(t, r, pull(t, b))
	if _, err := b.Pull(t.Context(), nil, newModel()); gantry.KindOf(err) != gantry.Conflict {
		t.Errorf("read twice: %v", err)
	}
}

// Large texts come from files, however they are kept, and what is beside them comes as before.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	const line = "a line of a large text, which is repeated\n"
	for _, config := range []string{"format.revlog-compression=zstd", "format.revlog-compression=zlib", "format.revlog-compression=none"} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, config)
			large := strings.Repeat(line, keepChunk/len(line)+2)
			r.commit(t, "1", map[string]string{"large": large, "small": "1\n"})
			r.commit(t, "2", map[string]string{"large": "first\n" + large, "small": "2\n"})
			r.commit(t, "3", map[string]string{"large": strings.ToUpper(large)})
			r.commit(t, "4", map[string]string{"large": "small\n"})
			m := pull(t, openBundleFile(t, r.bundle(t, "none-v2;stream=v2", "--all")))
			judge(t, r, m)
			other := pull(t, openBundleFile(t, r.bundle(t, "none-v2", "--all")))
			if diff := cmp.Diff(m.told(), other.told()); diff != "" {
				t.Errorf("the changegroup tells something else than the stream:\n%s", diff)
			}
		})
	}
}
