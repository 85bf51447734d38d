package pack

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A cache returns what was put, keeps what is used again and again, and stays within its bound whatever the sizes.
func TestCache(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	c := newCache(64 << 10)
	text := func(n uint32) []byte {
		return bytes.Repeat([]byte{byte(n), byte(n >> 8)}, int(n*n%97)+int(n%31/30)*3000)
	}
	favourite := text(7)
	c.add(Sum(Blob, favourite), Blob, favourite)
	for n := range uint32(20000) {
		data := text(n)
		id := Sum(Blob, data)
		if chance.IntN(2) == 0 {
			c.add(id, Blob, data)
		} else {
			c.adopt(id, Blob, bytes.Clone(data))
		}
		if typ, got, ok := c.get(id); !ok || typ != Blob || !bytes.Equal(got, data) {
			t.Fatalf("text %d: %v, %v, %d bytes of %d", n, ok, typ, len(got), len(data))
		}
		if _, got, ok := c.get(Sum(Blob, favourite)); !ok || !bytes.Equal(got, favourite) {
			t.Fatalf("text %d drove out what is used all the time", n)
		}
		old := text(uint32(chance.IntN(int(n + 1))))
		if _, got, ok := c.get(Sum(Blob, old)); ok && !bytes.Equal(got, old) {
			t.Fatal("another text")
		}
		var held int64
		for _, s := range c.slabs {
			held += int64(cap(s.texts)) + int64(len(s.ids))*cachedOverhead
		}
		if held != c.used || held > c.max || len(c.byID)*cachedOverhead > int(c.max) {
			t.Fatalf("%d bytes are held, %d counted, %d allowed; %d texts", held, c.used, c.max, len(c.byID))
		}
	}
	if _, _, ok := c.get(Sum(Blob, text(8))); ok {
		t.Error("a text that nobody uses stays for ever")
	}
}

// What a caller was given stays as it is when the cache has dropped it.
func TestCacheLetsGo(t *testing.T) {
	t.Parallel()
	c := newCache(64 << 10)
	c.add(Sum(Blob, []byte("first")), Blob, []byte("first"))
	_, got, _ := c.get(Sum(Blob, []byte("first")))
	for n := range 5000 {
		data := bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 20)
		c.add(Sum(Blob, data), Blob, data)
	}
	if _, _, ok := c.get(Sum(Blob, []byte("first"))); ok || string(got) != "first" {
		t.Errorf("it is kept: %v; it became %q", ok, got)
	}
}
