package delta

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Any copies and inserts come out as they went in, however long and however they join.
func TestBuilder(t *testing.T) {
	t.Parallel()
	base := bytes.Repeat([]byte("0123456789abcdef-"), 1<<20) // more than one copy instruction can copy
	rapid.Check(t, func(t *rapid.T) {
		b := NewBuilder(make([]byte, 7), int64(len(base)))
		var want []byte
		sizes := rapid.SampledFrom([]int{0, 1, 126, 127, 128, 254, 255, 0xffff, 0x10000, 0x10001, 0xffffff, 0x1000000})
		for range rapid.IntRange(0, 5).Draw(t, "ops") {
			n := sizes.Draw(t, "n")
			if rapid.Bool().Draw(t, "copy") {
				off := rapid.IntRange(0, len(base)-n).Draw(t, "off")
				for range rapid.IntRange(1, 2).Draw(t, "pieces") {
					n = min(n, len(base)-off)
					b.Copy(int64(off), int64(n))
					want = append(want, base[off:off+n]...)
					off += n
				}
			} else {
				p := base[:min(n, 1<<12)]
				b.Insert(p)
				want = append(want, p...)
			}
		}
		got, err := Apply(nil, base, b.Finish())
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes instead of %d, %v", len(got), len(want), err)
		}
	})
}

func TestBuilderJoins(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil, 100)
	b.Copy(10, 5)
	b.Copy(15, 5)
	b.Insert([]byte("ab"))
	b.Insert([]byte("c"))
	b.Copy(0, 1)
	if got, want := b.Finish(), []byte("\x64\x0e\x91\x0a\x0a\x03abc\x90\x01"); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, delta, says string }{
		{"nothing", "", "size of the base"},
		{"no target size", "\x04", "size of the target"},
		{"endless size", strings.Repeat("\xff", 12), "size of the base"},
		{"another base", "\x05\x01\x01a", "made against 5 bytes"},
		{"reserved", "\x04\x01\x00", "reserved"},
		{"insert cut short", "\x04\x03\x03ab", "cut short"},
		{"copy cut short", "\x04\x03\x91\x00", "cut short"},
		{"copy beyond the base", "\x04\x03\x91\x02\x03", "copies 3 bytes at 2"},
		{"copy of 64 KiB", "\x04\x80\x80\x04\x80", "copies 65536 bytes at 0"},
		{"too little", "\x04\x03\x02ab", "makes 2 bytes instead of 3"},
		{"an impossible promise", "\x04\xff\xff\xff\xff\xff\xff\x7f\x01a", "makes 1 bytes instead"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Apply(nil, []byte("base"), []byte(test.delta))
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

func FuzzApply(f *testing.F) {
	base := []byte(strings.Repeat("a base to copy from, ", 50))
	b := NewBuilder(nil, int64(len(base)))
	b.Copy(300, 700)
	b.Insert([]byte("new"))
	b.Copy(0, 40)
	f.Add(b.Finish())
	f.Add([]byte("\x04\x01\x00"))
	f.Fuzz(func(t *testing.T, delta []byte) {
		_, size, _ := Sizes(delta)
		got, err := Apply(nil, base, delta)
		if err == nil && int64(len(got)) != size {
			t.Fatalf("made %d bytes, promised %d", len(got), size)
		}
	})
}
