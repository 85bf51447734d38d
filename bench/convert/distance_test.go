package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What passes comes whole and in order, a round trip takes as long as it is said to, and a stream is not slowed down.
func TestDistance(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err != nil {
			return
		}
		io.Copy(conn, conn)
		conn.Close()
	}()
	const roundTrip = 40 * time.Millisecond
	away, err := newDistance(echo.Addr().String(), roundTrip)
	if err != nil {
		t.Fatal(err)
	}
	defer away.close()
	conn, err := net.Dial("tcp", away.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "x")
	answer := make([]byte, 1)
	if _, err := io.ReadFull(conn, answer); err != nil { // it is connected now
		t.Fatal(err)
	}

	sent := strings.Repeat("0123456789abcde\n", 1<<16)
	begin := time.Now()
	go func() {
		io.WriteString(conn, sent)
		conn.(*net.TCPConn).CloseWrite()
	}()
	received, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if string(received) != sent {
		t.Errorf("%d bytes came back of %d, or others", len(received), len(sent))
	}
	if took := time.Since(begin); took < roundTrip || took > 10*time.Second {
		t.Errorf("1 MB made a round trip of %s in %s", roundTrip, took)
	}
}
