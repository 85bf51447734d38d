package svn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gantry/internal/origin"
)

const (
	firstSpan   = 16          // revisions of a span, before it is known what they take
	maxSpan     = 4096        // revisions
	spanTime    = time.Second // that reading a span shall take
	maxAttempts = 5           // to read what does not come forward
	firstPause  = 200 * time.Millisecond
)

// ahead reads a history on several connections. It is cut into spans of revisions that follow each other; each worker has
// a connection and reads one span at a time into what is held of it (held.go); the caller of run delivers what is held in
// order. The oldest span never waits for room, so that there is always one that comes forward.
type ahead struct {
	connect func(context.Context) (connection, error)
	retire  func(connection) // takes a connection that is in order and not needed any more
	tempDir string
	log     *slog.Logger

	mu      sync.Mutex
	changed sync.Cond // of everything below
	spans   []*span   // that are read or held, in order; the first one is being delivered
	next    int64     // first revision that is in no span yet
	last    int64
	pace    time.Duration // that a revision takes on one connection; 0: not known
	workers int
	limit   int // of workers
	held    usage
	stopped bool
	fault   error // why no worker is left
}

// span is a run of revisions.
type span struct {
	next, last int64 // what was not read yet
	state      spanState
	err        error // instead of what is left
	failures   int   // since it last came forward
	waited     time.Duration
	items      []item // read and not delivered
	spill      spill
}

type spanState uint8

const (
	running spanState = iota
	waiting           // its worker has gone, another one shall go on
	over              // read, or failed for good
)

var (
	errYield   = errors.New("svn: an older span needs a connection")
	errStopped = errors.New("svn: reading was stopped")
)

// run reads revisions on up to limit connections and sends them to a sink.
func (a *ahead) run(ctx context.Context, first, last int64, limit int, sink origin.Sink) error {
	a.changed.L = &a.mu
	a.next, a.last, a.limit, a.workers = first, last, max(limit, 1), 1
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, a.stop)()
	var group sync.WaitGroup
	group.Go(func() { a.work(ctx, &group) })
	err := a.deliver(ctx, sink)
	a.stop()
	a.dismiss()
	cancel()
	group.Wait()
	for _, sp := range a.spans {
		sp.spill.close()
	}
	return err
}

func (a *ahead) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.changed.Broadcast()
}

// dismiss lets workers go that wait for the delivery of a text.
func (a *ahead) dismiss() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, sp := range a.spans {
		for i := range sp.items {
			sp.items[i].finish()
		}
		sp.items = nil
	}
}

// work reads span after span.
func (a *ahead) work(ctx context.Context, group *sync.WaitGroup) {
	var conn connection
	for {
		if conn == nil {
			if conn = a.open(ctx); conn == nil {
				return
			}
		}
		sp, more := a.assign()
		if sp == nil {
			a.retire(conn)
			return
		}
		if more {
			group.Go(func() { a.work(ctx, group) })
		}
		began := time.Now()
		from := sp.next
		err := conn.Replay(ctx, sp.next, sp.last, &spanSink{a: a, span: sp})
		pause, leave := a.settle(sp, from, time.Since(began), err)
		if err != nil {
			if closeErr := conn.Close(); closeErr != nil {
				a.log.Debug("svn: a broken connection was closed", "error", closeErr)
			}
			if conn = nil; leave {
				return
			}
			rest(ctx, pause)
		}
	}
}

// rest waits for a time or the end of a context.
func rest(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// open gives a worker its connection, or nil when it is not needed: a server that refuses it has others open already, and
// is not asked for that many again. Only the last worker tries again.
func (a *ahead) open(ctx context.Context) connection {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		conn, err := a.connect(ctx)
		if err == nil {
			return conn
		}
		if a.leave(ctx, err, attempt) {
			return nil
		}
		rest(ctx, pause)
		pause *= 2
	}
}

// leave lets a worker without a connection go, unless it is the last one and may hope for another attempt.
func (a *ahead) leave(ctx context.Context, err error, attempt int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	others := a.workers > 1
	if !others && !a.stopped && errors.Is(err, origin.ErrTemporary) && attempt < maxAttempts {
		return false
	}
	a.workers--
	if others && ctx.Err() == nil {
		a.limit = a.workers
		a.log.Info("the server does not take another connection", "connections", a.limit, "error", err)
	}
	if !others {
		a.fault = err
	}
	a.changed.Broadcast()
	return true
}

// assign gives a worker the oldest span that nobody reads, or a new one; none when all is read. More tells that another
// worker shall begin, who is counted already.
func (a *ahead) assign() (sp *span, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.stopped {
		for _, sp := range a.spans {
			if sp.state == waiting {
				sp.state = running
				return sp, false
			}
		}
		if a.next <= a.last && len(a.spans) <= 2*a.limit {
			sp := &span{next: a.next, last: min(a.last, a.next+a.spanSize()-1)}
			a.next = sp.last + 1
			a.spans = append(a.spans, sp)
			if more = a.next <= a.last && a.workers < a.limit; more {
				a.workers++
			}
			a.changed.Broadcast()
			return sp, more
		}
		if a.next > a.last && !a.unread() {
			break
		}
		a.changed.Wait()
	}
	a.workers--
	return nil, false
}

// unread reports whether a span may yet need another worker.
func (a *ahead) unread() bool {
	for _, sp := range a.spans {
		if sp.state != over {
			return true
		}
	}
	return false
}

func (a *ahead) spanSize() int64 {
	if a.pace == 0 {
		return firstSpan
	}
	return min(max(int64(spanTime/a.pace), 1), maxSpan)
}

// settle notes what became of reading a span, and tells how long to wait before another attempt. A worker whose
// connection was good for nothing leaves it to the others: the server takes less of them than were tried.
func (a *ahead) settle(sp *span, from int64, took time.Duration, err error) (pause time.Duration, leave bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if read := sp.next - from; read > 0 {
		sp.failures = 0
		pace := max((took-sp.waited)/time.Duration(read), time.Microsecond)
		if a.pace == 0 {
			a.pace = max(pace, spanTime/(2*firstSpan))
		}
		a.pace = (a.pace + pace) / 2
	}
	sp.waited = 0
	switch {
	case sp.next > sp.last:
		sp.state = over
	case err == nil:
		sp.state, sp.err = over, malformedf("it did not send r%d", sp.next)
	case errors.Is(err, errYield), errors.Is(err, errStopped):
		sp.state = waiting
	case errors.Is(err, origin.ErrTemporary) && sp.next == from && a.workers > 1 && !a.stopped:
		a.workers--
		a.limit, leave = a.workers, true
		sp.state = waiting
		a.log.Info("a connection brought nothing, the others go on", "connections", a.limit, "error", err)
	case errors.Is(err, origin.ErrTemporary) && sp.failures < maxAttempts:
		if sp.failures > 0 { // it has not come forward since
			pause = firstPause << sp.failures
		}
		sp.failures++
		sp.state = waiting
		a.log.Info("a connection failed, its revisions are asked for again", "revision", sp.next, "attempt", sp.failures, "error", err)
	default:
		sp.state, sp.err = over, err
		a.last = min(a.last, a.next-1) // what follows is of no use
	}
	if sp.state == waiting {
		sp.forgetPart(&a.held)
	}
	a.changed.Broadcast()
	return pause, leave
}

// forgetPart drops what is held of a revision that did not come to its end.
func (sp *span) forgetPart(held *usage) {
	for n := len(sp.items); n > 0 && !sp.items[n-1].ends(); n-- {
		held.release(&sp.items[n-1])
		sp.items = sp.items[:n-1]
	}
}

// yields reports whether a worker must leave its span for an older one that has none.
func (a *ahead) yields(own *span) bool {
	for _, sp := range a.spans {
		if sp == own {
			return false
		}
		if sp.state == waiting {
			return true
		}
	}
	return false
}

// deliver sends what the workers read.
func (a *ahead) deliver(ctx context.Context, sink origin.Sink) error {
	for {
		batch, err := a.take()
		if errors.Is(err, errStopped) && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || batch == nil {
			return err
		}
		for i := range batch {
			if err == nil {
				err = batch[i].send(sink)
			}
			batch[i].finish()
		}
		a.release(batch)
		if err != nil {
			return err
		}
	}
}

const batchSize = 256

// take returns what comes next, none at the end.
func (a *ahead) take() ([]item, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.stopped {
		if len(a.spans) == 0 && a.next > a.last {
			return nil, nil
		}
		if len(a.spans) > 0 {
			sp := a.spans[0]
			if n := min(len(sp.items), batchSize); n > 0 {
				batch := sp.items[:n:n]
				sp.items = sp.items[n:]
				a.changed.Broadcast()
				return batch, nil
			}
			if sp.state == over {
				if sp.err != nil {
					return nil, sp.err
				}
				a.held.spilled -= sp.spill.size
				sp.spill.close()
				a.spans = a.spans[1:]
				a.changed.Broadcast()
				continue
			}
		}
		if a.fault != nil {
			return nil, fmt.Errorf("svn: no connection is left: %w", a.fault)
		}
		a.changed.Wait()
	}
	return nil, errStopped
}

func (a *ahead) release(batch []item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range batch {
		a.held.release(&batch[i])
	}
	clear(batch)
	a.changed.Broadcast()
}
