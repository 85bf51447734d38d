package hg

import (
	"bufio"
	"bytes"
	"os"
	"testing"

	"gantry/internal/revlog"
)

// drain is a sink that keeps nothing. It fails on what no reader may send.
type drain struct {
	t      *testing.T
	behind bool // files came
}

func (d *drain) Changeset(r *revlog.Revision) error {
	d.behind = false
	return d.check(r)
}

func (d *drain) Manifest(_ string, r *revlog.Revision) error {
	if d.behind {
		d.t.Error("a manifest after files")
	}
	return d.check(r)
}

func (d *drain) File(path string, r *revlog.Revision) error {
	d.behind = true
	if path == "" || len(path) > maxPath {
		d.t.Errorf("a path of %d bytes", len(path))
	}
	return d.check(r)
}

func (d *drain) check(r *revlog.Revision) error {
	if r.Node.IsNull() || r.Base == r.Node || r.Flags&^knownFlags != 0 {
		d.t.Errorf("revision %+v", r)
	}
	return nil
}

// newSmallRepo has something of everything in few bytes, so that it is mutated quickly.
func newSmallRepo(t testing.TB) *repo {
	t.Helper()
	r := newRepo(t, "phases.publish=no", "experimental.evolution=all")
	r.commit(t, "1", map[string]string{"a": "1\n"})
	r.commit(t, "2", map[string]string{"a": "1\n2\n", "b": ""})
	r.run(t, "commit", "-q", "--amend", "-m", "3")
	r.run(t, "bookmark", "m")
	return r
}

// FuzzBundle reads arbitrary bundles to their end.
func FuzzBundle(f *testing.F) {
	r := newSmallRepo(f)
	for _, spec := range []string{"none-v1", "gzip-v1", "bzip2-v1", "none-v2;obsolescence=yes;phases=yes", "zstd-v2", "none-v2;stream=v2;obsolescence=yes", "packed1"} {
		seed, err := os.ReadFile(r.bundle(f, spec, "--all"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Add([]byte(r.getBundle(f, "changegroup%3D03%0Abookmarks%0Alistkeys", "bookmarks", "1", "listkeys", "bookmarks")))
	f.Add([]byte("HG20\x00\x00\x00\x0eCompression=GZ"))
	f.Fuzz(func(t *testing.T, bundle []byte) {
		to := newIntake(t.Context(), &drain{t: t}, "")
		_ = readBundle(bytes.NewReader(bundle), to)
		to.shown()
	})
}

// FuzzChangegroup reads arbitrary changegroups of every version.
func FuzzChangegroup(f *testing.F) {
	for version := 1; version < len(headerSizes); version++ {
		f.Add(newChangegroup(version), uint8(version))
	}
	f.Fuzz(func(t *testing.T, group []byte, version uint8) {
		to := newIntake(t.Context(), &drain{t: t}, "")
		_ = readChangegroup(bufio.NewReader(bytes.NewReader(group)), 1+int(version)%4, to)
		to.shown()
	})
}

// FuzzRevlog reads an arbitrary index with an arbitrary file of chunks.
func FuzzRevlog(f *testing.F) {
	dir := newSmallRepo(f).dir + "/.hg/store/"
	for _, name := range []string{"00changelog.i", "00manifest.i", "data/a.i"} {
		seed, err := os.ReadFile(dir + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed, []byte{})
		split := bytes.Clone(seed[:revlog.IndexEntrySize])
		split[1] &^= 1 // not inline
		f.Add(split, seed[revlog.IndexEntrySize:])
	}
	f.Fuzz(func(t *testing.T, index, data []byte) {
		file, err := os.Create(t.TempDir() + "/spool")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(append(bytes.Clone(index), data...)); err != nil {
			t.Fatal(err)
		}
		i, d := int64(len(index)), int64(len(data))
		s := &store{file: file, files: []stored{{"00changelog.d", i, d}, {"00changelog.i", 0, i}, {"00manifest.d", i, d}, {"00manifest.i", 0, i}, {"data/a.d", i, d}, {"data/a.i", 0, i}}}
		to := newIntake(t.Context(), &drain{t: t}, "")
		_ = s.read(to)
		to.shown()
	})
}

// FuzzTold reads arbitrary bytes as everything that is told beside revisions.
func FuzzTold(f *testing.F) {
	f.Add([]byte("1 0123456789abcdef0123456789abcdef01234567\n"))
	f.Add(append([]byte{1}, newMarker1(60)...))
	f.Add([]byte("\x00\x00\x00\x00\x00\x04\x000123456789abcdefghijmeta"))
	f.Fuzz(func(t *testing.T, p []byte) {
		to := newIntake(t.Context(), &drain{t: t}, "")
		_ = to.told.readPhaseRoots(bytes.NewReader(p))
		_ = to.told.readMarkers(bufio.NewReader(bytes.NewReader(p)))
		for _, name := range []string{"bookmarks", "listkeys", "phase-heads", "obsmarkers"} {
			_ = readParts(bufio.NewReader(bytes.NewReader(newParts(newPart(name, 0, "namespace", "bookmarks").body(p)))), to)
		}
		to.shown()
	})
}
