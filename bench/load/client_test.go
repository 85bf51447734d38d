package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// measureLoad asks for a path over all connections at once and returns how long each answer took, sorted. Every request
// carries one of the tokens, by chance.
func measureLoad(b *testing.B, server, path string, tokens []string, duration time.Duration) []time.Duration {
	b.Helper()
	u, err := url.Parse(server)
	if err != nil {
		b.Fatal(err)
	}
	requests := make([][]byte, len(tokens))
	for i, token := range tokens {
		requests[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\nAuthorization: token %s\r\n"+
			"Accept: application/vnd.vendor.barred-rock-preview\r\n\r\n", path, u.Host, token)
	}
	took := make([][]time.Duration, connections)
	var group errgroup.Group
	end := time.Now().Add(duration)
	for i := range connections {
		group.Go(func() (err error) {
			took[i], err = ask(u.Host, requests, end)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return all
}

// ask sends requests one after the other over one connection until a moment. It is leaner than net/http, so that the
// processors are the server's.
func ask(host string, requests [][]byte, end time.Time) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answers := bufio.NewReaderSize(conn, 16<<10)
	for begin := time.Now(); begin.Before(end); {
		if _, err := conn.Write(requests[rand.IntN(len(requests))]); err != nil {
			return nil, err
		}
		if err := readAnswer(answers); err != nil {
			return nil, err
		}
		now := time.Now()
		took = append(took, now.Sub(begin))
		begin = now
	}
	return took, nil
}

// readAnswer reads one response, which must be a 200 that tells its length.
func readAnswer(r *bufio.Reader) error {
	status, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		rest, _ := r.Peek(r.Buffered())
		return fmt.Errorf("the server answered %s%s", status, rest)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("the server does not tell the length of its answer")
	}
	_, err = io.CopyN(io.Discard, r, int64(length))
	return err
}
