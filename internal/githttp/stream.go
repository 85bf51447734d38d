package githttp

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gantry"
)

const (
	// idleTimeout ends a request whose client neither sends nor takes a byte.
	idleTimeout = 5 * time.Minute
	// gateTimeout is how long a request waits until fewer git processes work on its repository.
	gateTimeout = 30 * time.Second
	// recordTimeout bounds what is done after a push.
	recordTimeout = 30 * time.Second
	// maxNegotiation bounds what a fetch sends: about a million refs and commits that it wants and has.
	maxNegotiation = 64 << 20
)

// body is a request's body: inflated, bounded, and not to stall.
type body struct {
	r     io.Reader
	conn  *http.ResponseController
	left  int64
	bound bool
	over  atomic.Bool // more came than was allowed; git's input and output are copied by goroutines of their own
}

var errTooLarge = errors.New("the request is too large")

func newBody(w http.ResponseWriter, r *http.Request, limit int64) (*body, error) {
	b := &body{r: r.Body, conn: http.NewResponseController(w), left: limit, bound: limit > 0}
	// git may answer while it still reads. Without this the server would drain the request at the first byte of an answer.
	if err := b.conn.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		b.extend()
		inflated, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, gantry.Errorf(gantry.Invalid, "githttp", "The request is not compressed as its Content-Encoding says.")
		}
		b.r = inflated
	default:
		return nil, gantry.Errorf(gantry.Invalid, "githttp", "The Content-Encoding %q is not known here; use gzip.", encoding)
	}
	return b, nil
}

func (b *body) extend() { _ = b.conn.SetReadDeadline(time.Now().Add(idleTimeout)) } // unsupported only in tests

func (b *body) Read(p []byte) (int, error) {
	if b.bound && b.left < int64(len(p)) {
		p = p[:b.left+1] // one byte more tells a body that ends at the limit from one that goes on
	}
	b.extend()
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.bound && b.left < 0 {
		b.left = 0
		b.over.Store(true)
		return 0, errTooLarge
	}
	if err != nil {
		// The server goes on reading to learn that the client has left. A deadline would look like that.
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// reply is an answer that is sent on as it comes: progress is worth nothing when it is late.
type reply struct {
	w     http.ResponseWriter
	conn  *http.ResponseController
	body  *body // nil without one
	begun bool
}

// newReply also lifts the server's bound on reading a whole request, which a clone may take longer than.
func newReply(w http.ResponseWriter, b *body) *reply {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{})
	return &reply{w: w, conn: conn, body: b}
}

func (out *reply) Write(p []byte) (int, error) {
	if !out.begun && out.body != nil && out.body.over.Load() {
		return 0, errTooLarge // git is about to say that its input ended early, which is not the reason
	}
	out.begun = true
	_ = out.conn.SetWriteDeadline(time.Now().Add(idleTimeout))
	n, err := out.w.Write(p)
	if err == nil {
		err = out.conn.Flush()
	}
	return n, err
}

// gates bound how many git processes work on one repository.
type gates struct {
	limit int

	mu   sync.Mutex
	open map[int64]*gate
}

type gate struct {
	slots chan struct{}
	users int // inside or waiting; the gate is dropped with the last one
}

// enter waits until there is room. Call leave afterwards.
func (g *gates) enter(ctx context.Context, id int64) (leave func(), err error) {
	at := g.use(id)
	timeout := time.NewTimer(gateTimeout)
	defer timeout.Stop()
	select {
	case at.slots <- struct{}{}:
		return func() { <-at.slots; g.drop(id, at) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		busy := gantry.Errorf(gantry.Unavailable, "githttp", "Too many clients use this repository at the moment; please try again later.")
		busy.RetryAfter = gateTimeout
		err = busy
	}
	g.drop(id, at)
	return nil, err
}

func (g *gates) use(id int64) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[int64]*gate{}
	}
	at := g.open[id]
	if at == nil {
		at = &gate{slots: make(chan struct{}, g.limit)}
		g.open[id] = at
	}
	at.users++
	return at
}

func (g *gates) drop(id int64, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.open, id)
	}
}
