package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// DialProxy connects to "host:port" through a Proxy of the process that started this one.
func DialProxy(ctx context.Context, proxy *url.URL, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", proxy.Host)
	if err != nil {
		return nil, err
	}
	password, _ := proxy.User.Password()
	secret := base64.StdEncoding.EncodeToString([]byte(proxy.User.Username() + ":" + password))
	request := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: address},
		Host:   address,
		Header: http.Header{"Proxy-Authorization": {"Basic " + secret}},
	}
	_ = conn.SetDeadline(time.Now().Add(maxAddresses * dialTimeout))
	if err := request.Write(conn); err != nil {
		conn.Close()
		return nil, err
	}
	// The far side may speak first, but not before the proxy's answer has been read to its end: it has no body.
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		conn.Close()
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		conn.Close()
		return nil, fmt.Errorf("egress: connect to %s: the proxy answers %s", address, response.Status)
	}
	_ = conn.SetDeadline(time.Time{})
	return &bufferedConn{conn, reader}, nil
}

// bufferedConn gives what was read ahead first.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// CloseWrite ends what this side sends.
func (c *bufferedConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }
