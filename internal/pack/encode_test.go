package pack

import (
	"fmt"
	"sync"
	"testing"

	"gantry/internal/delta"
)

// Encoders at work beside each other put what one alone would: each object once, with all chains whole.
func TestEncodersBesideEachOther(t *testing.T) {
	t.Parallel()
	s, err := OpenStore(t.TempDir(), "w", nil, Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := func(n int) []byte { return fmt.Appendf(nil, "%0200d\n%d\n", 0, n) }
	const texts = 2000
	var wg sync.WaitGroup
	for range 4 { // the same texts: they meet
		wg.Go(func() {
			e := s.Encoder()
			base := Zero
			for n := range texts {
				var err error
				if full := text(n); n == 0 {
					base, err = e.Put(Blob, full)
				} else {
					last := text(n - 1)
					b := delta.NewBuilder(nil, int64(len(last)))
					b.Copy(0, 201)
					b.Insert(full[201:])
					base, err = e.PutDelta(Blob, base, b.Finish(), full)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	segments, err := s.Sync()
	if err != nil {
		t.Fatal(err)
	}
	if len(segments) != 1 || segments[0].IndexLength != texts*recordSize {
		t.Errorf("%+v instead of %d objects in one segment", segments, texts)
	}
	again, err := OpenStore(s.dir, "reader", segments, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for n := range texts {
		full := text(n)
		if _, data, err := again.Get(Sum(Blob, full)); err != nil || string(data) != string(full) {
			t.Fatalf("text %d is %q, %v", n, data, err)
		}
	}
}
