package hgbundle_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gantry/bench/synth"
	"gantry/bench/synth/hgbundle"
)

// Numbers of one benchmark can be compared with those of another only while the same parameters give the same history.
func TestSameHistoryForEver(t *testing.T) {
	t.Parallel()
	sum := sha256.New()
	if _, err := hgbundle.Write(sum, synth.Revisions(synth.Params{Seed: 1, Revisions: 300})); err != nil {
		t.Fatal(err)
	}
	const want = "d73dadfff5d4c406"
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want {
		t.Errorf("the bundle's SHA-256 begins with %s, want %s: numbers measured before can no longer be compared", got, want)
	}
}

// Mercurial itself is the judge of the bundle.
func TestMercurialAcceptsTheBundle(t *testing.T) {
	t.Parallel()
	params := synth.Params{Seed: 7, Revisions: 600}
	dir := t.TempDir()
	var bundle bytes.Buffer
	facts, err := hgbundle.Write(&bundle, synth.Revisions(params))
	if err != nil {
		t.Fatal(err)
	}
	hg := func(args ...string) string { return hg(t, dir, bundle.Bytes(), args...) }
	hg("init")
	hg("unbundle", "--quiet", "/dev/stdin")
	if out := hg("verify"); strings.Contains(out, "warning") {
		t.Errorf("hg verify warns:\n%s", out)
	}
	for revset, want := range map[string]int{
		"all()":           facts.Changesets,
		"merge()":         facts.Merges,
		"extra('source')": facts.Grafts,
	} {
		if got := strings.Count(hg("log", "--rev", revset, "--template", "x"), "x"); got != want {
			t.Errorf("%s: %d changesets, want %d", revset, got, want)
		}
	}
	if got := strings.Count(hg("tags", "--quiet"), "v"); got != facts.Tags {
		t.Errorf("%d tags, want %d", got, facts.Tags)
	}
	if facts.Branches < 20 || facts.Tags == 0 || facts.Merges < 20 || facts.Grafts == 0 {
		t.Errorf("too little happens: %s", facts)
	}
}

// What Mercurial has on its default branch is what the story tells of trunk.
func TestTrunkIsWhatTheStoryTells(t *testing.T) {
	t.Parallel()
	trunk := map[string]*synth.File{}
	at := func(path string) (below []string) {
		for p := range trunk {
			if p == path || strings.HasPrefix(p, path+"/") {
				below = append(below, p)
			}
		}
		return below
	}
	apply := func(l *synth.Line, changes []synth.Change) {
		if l.Kind != synth.Trunk {
			return
		}
		for _, c := range changes {
			switch c.Action {
			case synth.Add, synth.Edit:
				if c.File != nil {
					trunk[c.Path] = c.File
				}
			case synth.Move:
				for _, p := range at(c.From) {
					trunk[c.Path+strings.TrimPrefix(p, c.From)] = trunk[p]
					delete(trunk, p)
				}
			case synth.Remove:
				for _, p := range at(c.Path) {
					delete(trunk, p)
				}
			}
		}
	}
	story := synth.Params{Seed: 3, Revisions: 500}
	for r := range synth.Revisions(story) {
		for _, step := range r.Steps {
			switch step := step.(type) {
			case synth.Commit:
				apply(step.Line, step.Changes)
			case synth.Merge:
				apply(step.Into, step.Changes)
			}
		}
	}
	dir := t.TempDir()
	var bundle bytes.Buffer
	if _, err := hgbundle.Write(&bundle, synth.Revisions(story)); err != nil {
		t.Fatal(err)
	}
	hg(t, dir, nil, "init")
	hg(t, dir, bundle.Bytes(), "unbundle", "--quiet", "/dev/stdin")
	archive := tar.NewReader(strings.NewReader(hg(t, dir, nil, "archive", "--rev", "default", "--type", "tar", "--prefix", ".", "-")))
	for {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		f := trunk[head.Name]
		delete(trunk, head.Name)
		switch {
		case head.Name == ".hg_archival.txt":
		case f == nil:
			t.Errorf("%s: there is none in the story", head.Name)
		case f.Kind == synth.Link != (head.Typeflag == tar.TypeSymlink), f.Kind == synth.Executable != (head.Mode&0o100 != 0 && head.Typeflag == tar.TypeReg):
			t.Errorf("%s: the kind of file is another", head.Name)
		case string(f.AppendTo(nil)) != string(text)+head.Linkname:
			t.Errorf("%s: the content is another", head.Name)
		}
	}
	for path := range trunk {
		t.Errorf("%s: Mercurial has none", path)
	}
}

func hg(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hg", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HGRCPATH=", "HGPLAIN=1")
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hg %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
