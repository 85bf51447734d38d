package convert

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gantry/internal/delta"
	"gantry/internal/revlog"
)

// drawManifest draws what paths have, of few paths and nodes that look alike.
func drawManifest(t *rapid.T) map[string]string {
	path := rapid.StringMatching(`[ab]{1,2}(/[ab])?`)
	line := rapid.Custom(func(t *rapid.T) string {
		node := revlog.Node{19: byte(rapid.IntRange(0, 1).Draw(t, "node"))}
		return hex.EncodeToString(node[:]) + rapid.SampledFrom([]string{"", "", "", "x"}).Draw(t, "flag")
	})
	return rapid.MapOfN(path, line, 0, 6).Draw(t, "manifest")
}

func manifestOf(entries map[string]string) (text []byte) {
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		text = append(text, path+"\x00"+entries[path]+"\n"...)
	}
	return text
}

// drawHunks makes a patch of whole lines, and then cuts off what both sides have in common, so that hunks begin and end
// anywhere.
func drawHunks(t *rapid.T, before, after map[string]string) (patch delta.Patch) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	at := 0
	var old, fresh []byte
	flush := func() {
		head, tail := 0, 0
		if rapid.Bool().Draw(t, "cut") {
			head, tail = commonEnds(old, fresh)
		}
		if len(old)+len(fresh) > head+tail {
			patch = binary.BigEndian.AppendUint32(patch, uint32(at+head))
			patch = binary.BigEndian.AppendUint32(patch, uint32(at+len(old)-tail))
			patch = binary.BigEndian.AppendUint32(patch, uint32(len(fresh)-head-tail))
			patch = append(patch, fresh[head:len(fresh)-tail]...)
		}
		at += len(old)
		old, fresh = nil, nil
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if line, ok := before[path]; ok {
			old = append(old, path+"\x00"+line+"\n"...)
		}
		if line, ok := after[path]; ok {
			fresh = append(fresh, path+"\x00"+line+"\n"...)
		}
		if rapid.Bool().Draw(t, "end") {
			flush()
		}
	}
	flush()
	return patch
}

// However a patch is cut into hunks, its edits make of one manifest the other, and say nothing of what stays.
func TestEditsOfPatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawManifest(t), drawManifest(t)
		patch := drawHunks(t, before, after)
		base, text := manifestOf(before), manifestOf(after)
		if made, err := patch.Apply(nil, base, delta.MaxText); err != nil || string(made) != string(text) {
			t.Fatalf("the test's patch makes %q, %v", made, err)
		}
		s, err := newSpool(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.file.Close()
		var w editWriter
		w.begin(s, &manifestEdits{})
		if err := w.write(&revlog.Revision{}, revlog.Null, base, text, patch); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for path, line := range after {
			if before[path] != line {
				want[path] = line
			}
		}
		for path := range before {
			if _, stays := after[path]; !stays {
				want[path] = "-"
			}
		}
		got := map[string]string{}
		for _, e := range parseEdits(w.lines) {
			line := hex.EncodeToString(e.node[:])
			switch e.flag {
			case editRemoved:
				line = "-"
			case editFile:
			default:
				line += string(e.flag)
			}
			if _, twice := got[e.path]; twice {
				t.Errorf("%q has two edits", e.path)
			}
			got[e.path] = line
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left of spools, %v", left, err)
	}
}
