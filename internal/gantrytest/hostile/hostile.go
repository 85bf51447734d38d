// Package hostile is a web server that wants to harm its clients.
package hostile

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Answer answers every request with the same bytes, and says the last ones again and again until the client hangs up. It
// returns the host and port, and ends with the test.
func Answer(tb testing.TB, says, again string) (addr string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	tb.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, err = io.WriteString(conn, says)
			chunk := strings.Repeat(again, 1+4096/max(len(again), 1))
			for err == nil && again != "" {
				_, err = io.WriteString(conn, chunk)
			}
			conn.Close()
		}
	}()
	return l.Addr().String()
}
