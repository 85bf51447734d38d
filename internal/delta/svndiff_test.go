package delta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"
)

// Files in testdata were made by Subversion 1.14 (svn_txdelta_to_svndiff3) from these texts: edit.* against the source,
// fresh.* against nothing.
func subversionTexts() (source, target []byte) {
	words := strings.Fields("alpha beta gamma delta revision tree blob")
	lines := make([]string, 9000)
	for i := range lines {
		lines[i] = fmt.Sprintf("%d %s %s\n", i*7919%10007, words[i%7], words[i*i%7])
	}
	join := func(l []string) string { return strings.Join(l, "") }
	source = []byte(join(lines))
	target = []byte(join(lines[:100]) + strings.Repeat("inserted line\n", 30) + join(lines[150:3000]) + join(lines[200:260]) +
		strings.Repeat("x", 500) + "\n" + join(lines[3000:]))
	return source, target
}

func TestWhatSubversionWrites(t *testing.T) {
	t.Parallel()
	source, target := subversionTexts()
	paths, err := filepath.Glob("testdata/*.svndiff?")
	if err != nil || len(paths) != 5 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			stream, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			base := source
			if strings.Contains(path, "fresh") {
				base = nil
			}
			var streamed bytes.Buffer
			n, err := NewSVNDiff(iotest.OneByteReader(bytes.NewReader(stream))).ApplyTo(&streamed, bytes.NewReader(base))
			if err != nil || n != int64(len(target)) || !bytes.Equal(streamed.Bytes(), target) {
				t.Errorf("applied: %d bytes of %d, %v", n, len(target), err)
			}
			checkTranscoding(t, stream, base, target)
		})
	}
}

// transcode applies an svndiff in memory and rewrites it into a Git delta.
func transcode(stream, base []byte) (target, gitDelta []byte, err error) {
	d := NewSVNDiff(bytes.NewReader(stream))
	b := NewBuilder(nil, int64(len(base)))
	for {
		w, err := d.Next()
		if errors.Is(err, io.EOF) {
			return target, b.Finish(), nil
		}
		if err != nil {
			return nil, nil, err
		}
		if w.SourceOffset+int64(w.SourceLen) > int64(len(base)) {
			return nil, nil, corrupt("the view leaves the base")
		}
		start := len(target)
		target, err = w.Apply(target, base[w.SourceOffset:][:w.SourceLen])
		if err != nil {
			return nil, nil, err
		}
		w.AppendGit(b, target[start:])
	}
}

type testingT interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

func checkTranscoding(t testingT, stream, base, want []byte) {
	t.Helper()
	target, gitDelta, err := transcode(stream, base)
	if err != nil {
		t.Fatalf("transcode: %v", err)
	}
	if !bytes.Equal(target, want) {
		t.Errorf("svndiff made\n%q instead of\n%q", target, want)
	}
	if baseSize, targetSize, err := Sizes(gitDelta); err != nil || baseSize != int64(len(base)) || targetSize != int64(len(want)) {
		t.Errorf("the Git delta states %d -> %d, %v", baseSize, targetSize, err)
	}
	again, err := Apply([]byte("before"), base, gitDelta)
	if err != nil || string(again) != "before"+string(want) {
		t.Errorf("the Git delta made\n%q instead of\n%q, %v", again, want, err)
	}
}

// encoder writes svndiff the way Subversion does.
type encoder struct {
	version byte
	out     []byte
}

func appendInt(p []byte, n int64) []byte {
	digits := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		digits = append([]byte{byte(n&0x7f) | 0x80}, digits...)
	}
	return append(p, digits...)
}

func (e *encoder) section(p []byte) []byte {
	if e.version == 0 {
		return p
	}
	sized := appendInt(nil, int64(len(p)))
	var packed []byte
	if e.version == 1 {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		z.Write(p)
		z.Close()
		packed = b.Bytes()
	} else {
		packed = make([]byte, lz4.CompressBlockBound(len(p)))
		n, err := lz4.CompressBlock(p, packed, nil)
		if err != nil {
			panic(err)
		}
		packed = packed[:n]
	}
	if len(packed) == 0 || len(packed) >= len(p) {
		packed = p
	}
	return append(sized, packed...)
}

func (e *encoder) window(offset int64, view, made int, ops []windowOp, data []byte) {
	var instructions []byte
	for _, op := range ops {
		if op.n > 0 && op.n < 64 {
			instructions = append(instructions, byte(op.from)<<6|byte(op.n))
		} else {
			instructions = appendInt(append(instructions, byte(op.from)<<6), op.n)
		}
		if op.from != fromData {
			instructions = appendInt(instructions, op.off)
		}
	}
	if e.out == nil {
		e.out = []byte{'S', 'V', 'N', e.version}
	}
	instructions, data = e.section(instructions), e.section(data)
	for _, n := range []int64{offset, int64(view), int64(made), int64(len(instructions)), int64(len(data))} {
		e.out = appendInt(e.out, n)
	}
	e.out = append(append(e.out, instructions...), data...)
}

// drawSVNDiff draws any valid svndiff and computes its target the plainest way there is.
func drawSVNDiff(t *rapid.T) (stream, base, target []byte) {
	base = rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 300).Draw(t, "base")
	e := &encoder{version: rapid.ByteRange(0, 2).Draw(t, "version")}
	offset, end := 0, 0
	for range rapid.IntRange(1, 4).Draw(t, "windows") {
		offset = rapid.IntRange(offset, len(base)).Draw(t, "offset")
		end = rapid.IntRange(max(offset, end), len(base)).Draw(t, "end")
		view := base[offset:end]
		var ops []windowOp
		var data, made []byte
		for range rapid.IntRange(0, 8).Draw(t, "ops") {
			from := source(rapid.ByteRange(0, 2).Draw(t, "from"))
			n := rapid.IntRange(1, 200).Draw(t, "n")
			op := windowOp{from: from, n: int64(n)}
			switch {
			case from == fromView && len(view) > 0:
				at := rapid.IntRange(0, len(view)-1).Draw(t, "at")
				n = min(n, len(view)-at)
				op.off, op.n = int64(at), int64(n)
				made = append(made, view[at:at+n]...)
			case from == fromTarget && len(made) > 0:
				at := rapid.IntRange(0, len(made)-1).Draw(t, "at")
				op.off = int64(at)
				for i := range n { // may run into what it makes
					made = append(made, made[at+i])
				}
			default:
				op.from = fromData
				p := bytes.Repeat([]byte{byte('A' + n%26)}, n)
				data, made = append(data, p...), append(made, p...)
			}
			ops = append(ops, op)
		}
		e.window(int64(offset), len(view), len(made), ops, data)
		target = append(target, made...)
	}
	return e.out, base, target
}

func TestAnySVNDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stream, base, target := drawSVNDiff(t)
		checkTranscoding(t, stream, base, target)
		var streamed bytes.Buffer
		if _, err := NewSVNDiff(bytes.NewReader(stream)).ApplyTo(&streamed, bytes.NewReader(base)); err != nil {
			t.Fatalf("ApplyTo: %v", err)
		}
		if !bytes.Equal(streamed.Bytes(), target) {
			t.Errorf("ApplyTo made %q instead of %q", streamed.Bytes(), target)
		}
	})
}

// Every stream that ends early is refused, except between two windows.
func TestSVNDiffCutShort(t *testing.T) {
	t.Parallel()
	e := &encoder{version: 1}
	e.window(0, 4, 8, []windowOp{{fromView, 0, 4}, {fromData, 0, 4}}, []byte("data"))
	for n := range e.out {
		_, _, err := transcode(e.out[:n], []byte("base"))
		if n != 4 && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes of %d: %v", n, len(e.out), err)
		}
	}
}

func TestSVNDiffRefuses(t *testing.T) {
	t.Parallel()
	one := func(offset int64, view, made int, data string, ops ...windowOp) []byte {
		e := &encoder{}
		e.window(offset, view, made, ops, []byte(data))
		return e.out
	}
	back := &encoder{}
	back.window(4, 4, 4, []windowOp{{fromView, 0, 4}}, nil)
	back.window(2, 6, 4, []windowOp{{fromView, 0, 4}}, nil)
	zipped := &encoder{version: 1}
	zipped.window(0, 0, 100, []windowOp{{fromData, 0, 100}}, bytes.Repeat([]byte{'a'}, 100))
	wrongSum := bytes.Clone(zipped.out)
	wrongSum[len(wrongSum)-1]++

	for _, test := range []struct {
		name   string
		stream []byte
		says   string
	}{
		{"not svndiff", []byte("GIF89a"), "begins with"},
		{"version 3", []byte("SVN\x03"), "begins with"},
		{"huge window", append([]byte("SVN\x00"), appendInt(appendInt(nil, 0), maxView+1)...), "states a size"},
		{"huge section", append([]byte("SVN\x00\x00\x00\x00"), appendInt(nil, maxSection+1)...), "states a size"},
		{"endless integer", []byte("SVN\x00" + strings.Repeat("\xff", 20)), "an integer"},
		{"view beyond the base", one(4, 8, 1, "", windowOp{fromView, 0, 1}), "view"},
		{"copy beyond the view", one(0, 4, 4, "", windowOp{fromView, 1, 4}), "of a view of 4"},
		{"copy far beyond the view", one(0, 4, 4, "", windowOp{fromView, 1<<62 - 1, 4}), "of a view of 4"},
		{"copy from an empty target", one(0, 0, 4, "", windowOp{fromTarget, 0, 4}), "of a target of 0"},
		{"too much", one(0, 8, 4, "", windowOp{fromView, 0, 5}), "where 4 are left"},
		{"too little", one(0, 8, 4, "", windowOp{fromView, 0, 3}), "makes 3 bytes instead of 4"},
		{"no new data", one(0, 0, 4, "abc", windowOp{fromData, 0, 4}), "new data of 3"},
		{"new data left", one(0, 0, 2, "abc", windowOp{fromData, 0, 2}), "new data of 3"},
		{"nothing copied", one(0, 0, 2, "ab", windowOp{fromData, 0, 0}), "instruction of 0 bytes"},
		{"reserved kind", one(0, 0, 2, "", windowOp{3, 0, 2}), "reserved"},
		{"sliding back", back.out, "slides back"},
		{"wrong zlib sum", wrongSum, "zlib"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewSVNDiff(bytes.NewReader(test.stream)).ApplyTo(io.Discard, strings.NewReader("base base"))
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

// A fault of the connection stays recognisable.
func TestSVNDiffKeepsTheReadersError(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	for _, stream := range []string{"", "SVN", "SVN\x00", "SVN\x00\x00\x00"} {
		r := io.MultiReader(strings.NewReader(stream), iotest.ErrReader(fmt.Errorf("%w: %w", lost, io.EOF)))
		_, err := NewSVNDiff(r).Next()
		if !errors.Is(err, lost) {
			t.Errorf("after %q: %v", stream, err)
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("after %q: looks like the end of the stream", stream)
		}
	}
}

func TestResetBeginsAnotherStream(t *testing.T) {
	t.Parallel()
	var e encoder
	e.window(5, 2, 2, []windowOp{{fromView, 0, 2}}, nil)
	d := NewSVNDiff(strings.NewReader("SVN\x01garbage"))
	d.Next()
	for range 2 { // a view that is allowed at the beginning only
		d.Reset(bytes.NewReader(e.out))
		if w, err := d.Next(); err != nil || w.SourceOffset != 5 {
			t.Fatalf("%+v, %v", w, err)
		}
	}
}

func FuzzSVNDiff(f *testing.F) {
	source, _ := subversionTexts()
	paths, _ := filepath.Glob("testdata/*.svndiff?")
	for _, path := range paths {
		stream, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream)
	}
	for version := range byte(3) {
		e := &encoder{version: version}
		e.window(0, 9, 73, []windowOp{{fromView, 2, 7}, {fromData, 0, 2}, {fromTarget, 7, 64}}, []byte("ab"))
		f.Add(e.out)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		target, gitDelta, err := transcode(stream, source)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		again, err := Apply(nil, source, gitDelta)
		if err != nil || !bytes.Equal(again, target) {
			t.Fatalf("svndiff makes %d bytes, Git's form %d, %v", len(target), len(again), err)
		}
	})
}

func BenchmarkTranscode(b *testing.B) {
	source, target := subversionTexts()
	for version := range 3 {
		stream, err := os.ReadFile(fmt.Sprintf("testdata/edit.svndiff%d", version))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("svndiff%d", version), func(b *testing.B) {
			b.SetBytes(int64(len(target)))
			b.ReportAllocs()
			d, builder, text := NewSVNDiff(nil), NewBuilder(nil, 0), []byte(nil)
			for b.Loop() {
				d.Reset(bytes.NewReader(stream))
				builder.Reset(int64(len(source)))
				text = text[:0]
				for {
					w, err := d.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					start := len(text)
					text, _ = w.Apply(text, source[w.SourceOffset:][:w.SourceLen])
					w.AppendGit(builder, text[start:])
				}
				builder.Finish()
			}
			if !bytes.Equal(text, target) {
				b.Fatal("wrong text")
			}
		})
	}
}
