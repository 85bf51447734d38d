package gantrytest

import (
	"io"
	"net"
	"testing"
	"time"
)

// Slow puts a slow line before a server until the test ends: what the server sends arrives with so many bytes a second.
// It returns the address of the line's near end. It makes an import take long enough to be met while it goes on.
func Slow(t testing.TB, target string, bytesPerSecond int) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			go carry(near, target, bytesPerSecond)
		}
	}()
	return l.Addr().String()
}

func carry(near net.Conn, target string, bytesPerSecond int) {
	defer near.Close()
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		io.Copy(far, near) // ends when either side has closed
		far.Close()
	}()
	const slices = 50 // a second
	for {
		if _, err := io.CopyN(near, far, int64(max(1, bytesPerSecond/slices))); err != nil {
			return
		}
		time.Sleep(time.Second / slices)
	}
}
