package pack

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"gantry/internal/delta"
)

// benchProject is a history of a size that shows what matters.
func benchProject(b *testing.B, commits int) (*Store, *project) {
	s := openStore(b, b.TempDir(), "a", nil)
	p := newProject(s, 40)
	for range commits {
		p.commit(b)
	}
	return s, p
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{200, 8 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := openStore(b, b.TempDir(), "a", nil)
			p := newProject(s, 1)
			var text strings.Builder
			for text.Len() < size {
				text.WriteString(p.line())
			}
			data := []byte(text.String()[:size])
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				copy(data, fmt.Sprintf("%010d", i))
				if _, err := s.Put(Blob, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPutDelta(b *testing.B) {
	for _, size := range []int{1 << 10, 20 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := openStore(b, b.TempDir(), "a", nil)
			p := newProject(s, 1)
			var text strings.Builder
			for text.Len() < size {
				text.WriteString(p.line())
			}
			// Versions that go round: more than the chain is long, so that ids are new and bases are right.
			text0 := []byte(text.String()[:size])
			versions := make([][]byte, 1+4*maxDepth)
			for i := range versions {
				versions[i] = bytes.Clone(text0)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			builder := delta.NewBuilder(nil, 0)
			id, base := must[ID](b)(s.Put(Blob, text0)), 0
			for i := 0; b.Loop(); i++ {
				next := (base + 1) % len(versions)
				line := fmt.Appendf(nil, "%040d", i)
				copy(versions[next][size/2:], line)
				builder.Reset(int64(size))
				builder.Copy(0, int64(size/2))
				builder.Insert(line)
				builder.Copy(int64(size/2+len(line)), int64(size/2-len(line)))
				var err error
				if id, err = s.PutDelta(Blob, id, builder.Finish(), versions[next]); err != nil {
					b.Fatal(err)
				}
				base = next
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s, p := benchProject(b, 2000)
	ids := []ID{}
	m := newMarker(s, nil)
	if err := m.markAll(b.Context(), []ID{p.head}); err != nil {
		b.Fatal(err)
	}
	var bytesTotal int64
	for _, at := range m.blobs {
		_, r, _ := m.recordAt(at)
		ids = append(ids, r.id())
		bytesTotal += r.size()
	}
	run := func(b *testing.B, cacheBytes int64) {
		s.cache = newCache(cacheBytes)
		b.SetBytes(bytesTotal / int64(len(ids)))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, _, err := s.Get(ids[i*7919%len(ids)]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("cached", func(b *testing.B) { run(b, 1<<30) })
	b.Run("rebuilt", func(b *testing.B) { run(b, 0) })
}

func BenchmarkCopy(b *testing.B) {
	s, p := benchProject(b, 5000)
	b.ReportAllocs()
	var result CopyResult
	for b.Loop() {
		var err error
		if result, err = Copy(b.Context(), io.Discard, s, []ID{p.head}, CopyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(result.Size)
	b.ReportMetric(float64(result.Objects)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
}

// BenchmarkDeflate compares levels on source-like texts and on deltas: it decides the constants in entry.go.
func BenchmarkDeflate(b *testing.B) {
	p := newProject(nil, 1)
	for _, size := range []int{20, 40, 80, 400, 4 << 10, 32 << 10, 512 << 10} {
		var text strings.Builder
		for text.Len() < size {
			text.WriteString(p.line())
		}
		data := []byte(text.String()[:size])
		for _, level := range []int{0, 1, 3, 4, 5, 6, 7, 9} {
			b.Run(fmt.Sprintf("%d/level%d", size, level), func(b *testing.B) {
				out := appender{make([]byte, 0, 2*size+100)}
				z, _ := zlib.NewWriterLevel(&out, level)
				b.SetBytes(int64(size))
				for b.Loop() {
					if out.p = out.p[:0]; level == 0 {
						out.p = appendStored(out.p, data)
						continue
					}
					z.Reset(&out)
					z.Write(data)
					z.Close()
				}
				b.ReportMetric(float64(len(out.p)), "out-bytes")
			})
		}
	}
}
