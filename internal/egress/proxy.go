package egress

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// tunnelIdle ends a tunnel over which nothing went for so long; git keeps a connection alive every five seconds.
const tunnelIdle = 10 * time.Minute

// Proxy is an HTTP proxy on the loopback interface for one child process: CONNECT, and plain http in absolute form.
// It dials through its Egress and serves only those who know its secret.
type Proxy struct {
	egress   *Egress
	url      *url.URL
	auth     []byte // the one accepted value of Proxy-Authorization
	listener net.Listener
	server   *http.Server
	plain    *httputil.ReverseProxy
	cancel   context.CancelFunc
	running  sync.WaitGroup // the server and the tunnels

	mu      sync.Mutex
	closed  bool
	refusal error
}

// StartProxy starts a proxy. It ends, and closes all its connections, when ctx does or Close is called.
func (e *Egress) StartProxy(ctx context.Context) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	secret := rand.Text()
	ctx, cancel := context.WithCancel(ctx)
	transport := e.transport()
	transport.DisableCompression = true
	p := &Proxy{
		egress:   e,
		url:      &url.URL{Scheme: "http", User: url.UserPassword("gantry", secret), Host: listener.Addr().String()},
		auth:     []byte("Basic " + base64.StdEncoding.EncodeToString([]byte("gantry:"+secret))),
		listener: listener,
		cancel:   cancel,
	}
	p.plain = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // the address is complete, and nothing is added to it
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { p.fail(w, r, err) },
	}
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		_ = p.server.Serve(listener) // returns when Close closes it
	}()
	context.AfterFunc(ctx, func() {
		_ = p.server.Close()
		transport.CloseIdleConnections()
	})
	return p, nil
}

// URL is the proxy's address with user and secret.
func (p *Proxy) URL() *url.URL { return p.url }

// Refusal returns the first error by which the policy refused a connection, nil when there was none. Programs behind
// a proxy report it in their own words only.
func (p *Proxy) Refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refusal
}

// Close ends the proxy and waits until its connections are closed.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	err := p.server.Close()
	p.running.Wait()
	return err
}

// enter counts a tunnel in, and reports false when the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), p.auth) != 1 {
		w.Header().Set("Proxy-Authenticate", `Basic realm="gantry"`)
		http.Error(w, "this proxy serves one process only", http.StatusProxyAuthRequired)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		r.Header.Del("Proxy-Authorization")
		p.plain.ServeHTTP(w, r)
	default:
		http.Error(w, "CONNECT or an absolute http address is expected", http.StatusBadRequest)
	}
}

func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrRefused) {
		p.mu.Lock()
		if p.refusal == nil {
			p.refusal = err
		}
		p.mu.Unlock()
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	p.egress.log.DebugContext(r.Context(), "proxied connection failed", "host", r.Host, "error", err)
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		return
	}
	defer p.running.Done()
	ctx := r.Context()
	far, err := p.egress.DialContext(ctx, "tcp", r.Host)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer near.Close()
	// The server no longer knows a hijacked connection: it is closed here when the proxy ends.
	stop := context.AfterFunc(ctx, func() { near.Close(); far.Close() })
	defer stop()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	// Only what was read ahead comes from the server's reader: at the end of input that cancels ctx, and git, which ends
	// its side when it has asked for everything, would get no answer.
	ahead, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pump(far, near, io.MultiReader(bytes.NewReader(ahead), near))
	}()
	pump(near, far, far)
	near.Close() // git closes nothing before it has read to the end
	<-done
}

// pump copies one direction of a tunnel until its source ends or nothing comes for tunnelIdle, then half-closes dst.
func pump(dst, src net.Conn, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		_ = src.SetReadDeadline(time.Now().Add(tunnelIdle))
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
