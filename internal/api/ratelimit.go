package api

import (
	"net/netip"
	"sync"
	"time"

	"gantry"
)

// bucket names the allowance that an operation draws on.
type bucket uint8

const (
	core bucket = iota
	sourceImport
	free // draws on nothing, and shows core
)

func (b bucket) String() string { return [...]string{"core", "source_import", "core"}[b] }

// maxWindows bounds the limiter's memory: about 20 MB.
const maxWindows = 100_000

// counter says whose allowance is counted: a user's or, without one, an address's. Of IPv6 it is the /64, which is what
// one customer is usually given.
type counter struct {
	bucket bucket
	user   int64
	addr   netip.Addr
}

// window is the state of one allowance.
type window struct {
	bucket bucket
	limit  int
	used   int // never above limit
	reset  time.Time
}

func (w window) remaining() int { return w.limit - w.used }

// limiter counts requests in fixed windows that begin with their first request. It lives in memory: several servers
// each count their own.
type limiter struct {
	now func() time.Time

	mu      sync.Mutex
	windows map[counter]window
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, windows: map[counter]window{}}
}

// take draws n requests (0 only looks, -1 gives one back) and returns the window after it; ok is false when it was
// used up before.
func (l *limiter) take(key counter, limit int, length time.Duration, n int) (w window, ok bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	w, known := l.windows[key]
	if !known || !now.Before(w.reset) {
		w = window{bucket: key.bucket, limit: limit, reset: now.Add(length)}
		if n <= 0 {
			return w, true
		}
		if !known {
			l.makeRoom(now)
		}
	}
	if w.used+n > w.limit {
		return w, false
	}
	w.used = max(w.used+n, 0)
	l.windows[key] = w
	return w, true
}

// makeRoom drops ended windows when there are too many and then, if need be, any until a quarter is free: forgetting
// counts is better than growing without bound, and a quarter at a time keeps the cost of a flood of addresses small.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.windows) < maxWindows {
		return
	}
	for key, w := range l.windows {
		if !now.Before(w.reset) {
			delete(l.windows, key)
		}
	}
	for key := range l.windows {
		if len(l.windows) <= maxWindows-maxWindows/4 {
			return
		}
		delete(l.windows, key)
	}
}

// draw takes n from the allowance that a call has in a bucket.
func (a *API) draw(c *call, b bucket, n int) (window, bool) {
	key := counter{bucket: b, user: c.userID()}
	limit, length := a.Limits.Core, time.Hour
	if key.user == 0 {
		limit = a.Limits.Anonymous
		key.addr = callerAddr(c.r)
		if key.addr.Is6() {
			prefix, _ := key.addr.Prefix(64) // 64 bits are always within an IPv6 address
			key.addr = prefix.Addr()
		}
	}
	if b == sourceImport {
		limit, length = a.Limits.SourceImport, time.Minute
	}
	return a.limiter.take(key, limit, length, n)
}

// count draws the call on its allowance.
func (a *API) count(c *call) error {
	if c.route.bucket == free {
		c.window, _ = a.draw(c, core, 0)
		return nil
	}
	var ok bool
	if c.window, ok = a.draw(c, c.route.bucket, 1); ok {
		return nil
	}
	who := "this address; send credentials for a higher limit"
	if !c.principal.Anonymous() {
		who = c.principal.User.Login
	}
	return &gantry.Error{
		Kind: gantry.RateLimited, Op: "api", Msg: "API rate limit exceeded for " + who,
		RetryAfter: max(c.window.reset.Sub(a.Now()), time.Second),
	}
}

// uncount gives a call back that turned out to be free.
func (a *API) uncount(c *call) {
	if c.route.bucket != free {
		c.window, _ = a.draw(c, c.route.bucket, -1)
	}
}
