package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func hunk(start, end uint32, text string) []byte {
	p := binary.BigEndian.AppendUint32(nil, start)
	p = binary.BigEndian.AppendUint32(p, end)
	p = binary.BigEndian.AppendUint32(p, uint32(len(text)))
	return append(p, text...)
}

// drawPatch makes a base, a patch of it and what that must make.
func drawPatch(t *rapid.T) (base []byte, p Patch, target []byte) {
	base = rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "base")
	last := 0
	for range rapid.IntRange(0, 5).Draw(t, "hunks") {
		start := rapid.IntRange(last, len(base)).Draw(t, "start")
		end := rapid.IntRange(start, len(base)).Draw(t, "end")
		text := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "new")
		p = append(p, hunk(uint32(start), uint32(end), string(text))...)
		target = append(append(target, base[last:start]...), text...)
		last = end
	}
	return base, p, append(target, base[last:]...)
}

// A patch makes what its hunks say, and so does the Git delta that it becomes, also where headers are cut off.
func TestPatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, p, target := drawPatch(t)
		got, err := p.Apply([]byte("before"), base, int64(len(target)))
		if err != nil || string(got) != "before"+string(target) {
			t.Fatalf("%q, %v, want %q", got, err, target)
		}
		for _, in := range []io.Reader{iotest.HalfReader(bytes.NewReader(base)), iotest.DataErrReader(bytes.NewReader(base))} {
			if err := iotest.TestReader(p.Reader(in), target); err != nil {
				t.Fatalf("as a stream: %v", err)
			}
		}
		baseCut := rapid.IntRange(0, len(base)).Draw(t, "baseCut")
		targetCut := rapid.IntRange(0, len(target)).Draw(t, "targetCut")
		checkRewritten(t, p, base, target, baseCut, targetCut)
	})
}

func checkRewritten(t testingT, p Patch, base, target []byte, baseCut, targetCut int) {
	t.Helper()
	b := NewBuilder(nil, int64(len(base)-baseCut))
	p.AppendGit(b, base, int64(baseCut), int64(targetCut))
	got, err := Apply(nil, base[baseCut:], b.Finish())
	if err != nil || !bytes.Equal(got, target[targetCut:]) {
		t.Fatalf("without %d and %d bytes Git's delta makes %q, %v, want %q", baseCut, targetCut, got, err, target[targetCut:])
	}
}

func TestFullPatch(t *testing.T) {
	t.Parallel()
	p := append(FullPatch([]byte("x"), 4), "text"...)[1:]
	if got, err := Patch(p).Apply(nil, nil, 4); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	join := func(hunks ...[]byte) []byte { return bytes.Join(hunks, nil) }
	for _, test := range []struct {
		name  string
		patch []byte
		says  string
	}{
		{"part of a hunk", hunk(0, 0, "")[:11], "cut short"},
		{"too few new bytes", hunk(0, 0, "abc")[:14], "3 new bytes where 2 are left"},
		{"new bytes beyond any memory", hunk(0, 0, "")[:8:8], "cut short"},
		{"length with the highest bit", []byte("\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"), "4294967295 new bytes"},
		{"end beyond the base", hunk(0, 11, ""), "from 0 to 11"},
		{"end before its start", hunk(5, 4, ""), "from 5 to 4"},
		{"back", join(hunk(0, 5, ""), hunk(4, 6, "")), "from 4 to 6 after 5"},
		{"too much", hunk(0, 0, "0123456789!"), "makes 21 bytes, 20 is the most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Patch(test.patch).Apply(nil, []byte("0123456789"), 20)
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte("0123456789"), append(hunk(1, 2, "new"), hunk(9, 10, "")...), uint8(3), uint8(2))
	f.Add([]byte{}, append(FullPatch(nil, 4), "text"...), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, base, patch []byte, baseCut, targetCut uint8) {
		const limit = 1 << 20
		target, err := Patch(patch).Apply(nil, base, limit)
		if err != nil {
			return
		}
		if len(target) > limit {
			t.Fatalf("%d bytes", len(target))
		}
		checkRewritten(t, patch, base, target, min(int(baseCut), len(base)), min(int(targetCut), len(target)))
	})
}
