package api

import (
	"net/netip"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(func() time.Time { return now })
	key := counter{bucket: core, user: 1}
	take := func(n int) (window, bool) { return l.take(key, 3, time.Hour, n) }

	if w, ok := take(0); !ok || w.used != 0 || w.remaining() != 3 {
		t.Fatalf("looking at a fresh allowance gives %+v, %v", w, ok)
	}
	for i := 1; i <= 3; i++ {
		if w, ok := take(1); !ok || w.used != i {
			t.Fatalf("request %d gives %+v, %v", i, w, ok)
		}
	}
	if w, ok := take(1); ok || w.used != 3 || w.remaining() != 0 {
		t.Fatalf("the request over the limit gives %+v, %v", w, ok)
	}
	if _, ok := l.take(counter{bucket: core, user: 2}, 3, time.Hour, 1); !ok {
		t.Error("one user's requests count for another")
	}
	if _, ok := l.take(counter{bucket: sourceImport, user: 1}, 3, time.Minute, 1); !ok {
		t.Error("one bucket's requests count for another")
	}
	if w, ok := take(-1); !ok || w.used != 2 {
		t.Errorf("giving one back leaves %+v, %v", w, ok)
	}
	now = now.Add(time.Hour)
	if w, ok := take(1); !ok || w.used != 1 || !w.reset.Equal(now.Add(time.Hour)) {
		t.Errorf("the next window begins as %+v, %v", w, ok)
	}
}

// A flood of addresses must not grow the memory, nor take ever longer.
func TestLimiterIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(func() time.Time { return now })
	address := netip.MustParseAddr("10.0.0.0")
	flood := func() {
		for range maxWindows {
			address = address.Next()
			l.take(counter{addr: address}, 1, time.Minute, 1)
		}
	}
	flood()
	now = now.Add(time.Minute)
	kept := counter{user: 1}
	l.take(kept, 1, time.Hour, 1) // makes room: every other window has ended
	for range maxWindows / 2 {
		address = address.Next()
		l.take(counter{addr: address}, 1, time.Minute, 1)
	}
	if _, ok := l.take(kept, 1, time.Hour, 1); ok {
		t.Error("a live window was dropped while there was room")
	}
	flood()
	flood()
	if n := len(l.windows); n > maxWindows {
		t.Errorf("%d windows are kept, at most %d may be", n, maxWindows)
	}
}
