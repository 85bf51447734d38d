package svn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// many is a history of the standard one and of many small revisions after it.
func many(revisions int) *svnfixture.History {
	h := svnfixture.Standard()
	for i := range revisions {
		h.Commit("alice", "Edit", svnfixture.Put(fmt.Sprintf("trunk/src/n%d.c", i), fmt.Sprint(i)), svnfixture.Edit("trunk/README", fmt.Sprint(i)))
	}
	return h
}

// leaving is a check that what ran ahead has ended.
func leaving(t *testing.T) func() {
	before := runtime.NumGoroutine()
	return func() {
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		buf := make([]byte, 64<<10)
		t.Errorf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
	}
}

// cutting is a dialer whose connections are cut after so many bytes, as long as some are left to cut.
type cutting struct {
	cuts  atomic.Int64
	after func() int64
	dials atomic.Int64
}

func (c *cutting) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := dialTCP(ctx, network, addr)
	if err != nil || c.dials.Add(1) == 1 || c.cuts.Add(-1) < 0 {
		return conn, err
	}
	return &cutConn{Conn: conn, left: c.after()}, nil
}

type cutConn struct {
	net.Conn
	left int64
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// Any number of connections, any size of spans and any cuts of connections tell the same history.
func TestAhead(t *testing.T) {
	r := svnfixture.NewRepo(t)
	r.Load(t, many(150).Bytes())
	addr := svnfixture.Serve(t, r.Root)
	whole := replay(t, dial(t, options(t, addr, "/repo")))
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer leaving(t)()
			random := rand.New(rand.NewPCG(seed, 1))
			cuts := &cutting{after: func() int64 { return 500 + rand.Int64N(40000) }}
			cuts.cuts.Store(random.Int64N(12))
			opt := options(t, addr, "/repo")
			opt.Dial = cuts.dial
			s := openSource(t, opt)
			m := newModel()
			a := &ahead{connect: s.open, retire: s.retire, tempDir: opt.TempDir, log: s.log, pace: spanTime / time.Duration(1+random.IntN(40))}
			if err := a.run(t.Context(), 1, s.Info().Head, 1+random.IntN(6), m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.told, m.told); diff != "" {
				t.Error(diff)
			}
			if a.held != (usage{}) {
				t.Errorf("%+v is still held", a.held)
			}
			s.Close()
		})
	}
}

func openSource(t *testing.T, opt Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A server that takes one connection only is read on that one, and is not asked for more and more.
func TestAheadOneConnectionOnly(t *testing.T) {
	r := svnfixture.NewRepo(t)
	r.Load(t, many(150).Bytes())
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	var dials int
	opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; dials > 1 {
			return nil, errors.New("connection refused")
		}
		return dialTCP(ctx, network, addr)
	}
	defer leaving(t)()
	s := openSource(t, opt)
	m := replay(t, s)
	if diff := cmp.Diff(subversionTree(t, r, "", m.rev), m.tree); diff != "" || m.rev != r.Head(t) {
		t.Errorf("r%d differs (-svn +read):\n%s", m.rev, diff)
	}
	if dials != 2 {
		t.Errorf("%d connections were asked for", dials)
	}
	lists, err := s.List(t.Context(), 3, directories("trunk", "branches"))
	want := [][]origin.Entry{{{Name: "README", Size: 14, Changed: 2}, {Name: "config", Size: 11, Changed: 2}, {Name: "run.sh", Size: 24, Changed: 3}, {Name: "src", Dir: true, Size: -1, Changed: 2}, {Name: "start", Size: 11, Changed: 3}}, {}}
	if diff := cmp.Diff(want, lists); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	s.Close()
}

// An origin that breaks every connection is given up in the end, with all that came before.
func TestAheadGivesUp(t *testing.T) {
	r := svnfixture.NewStandardRepo(t)
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	cuts := &cutting{after: func() int64 { return 8 << 10 }} // r5 takes more
	cuts.cuts.Store(1000)
	cuts.dials.Store(1)
	opt.Dial = cuts.dial
	defer leaving(t)()
	s := openSource(t, opt)
	m := newModel()
	if err := s.Replay(t.Context(), 1, s.Info().Head, m); !errors.Is(err, origin.ErrTemporary) {
		t.Errorf("got %v", err)
	}
	if len(m.trees) == 0 {
		t.Error("nothing came")
	}
	s.Close()
}

// A sink's error and the end of a context end all workers; the error comes back as it is.
func TestAheadStops(t *testing.T) {
	r := svnfixture.NewRepo(t)
	r.Load(t, many(150).Bytes())
	opt := options(t, svnfixture.Serve(t, r.Root), "/repo")
	defer leaving(t)()
	s := openSource(t, opt)
	stop := errors.New("stop")
	if err := s.Replay(t.Context(), 1, 100, failingSink{stop}); err == nil || err.Error() != stop.Error() {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := s.Replay(ctx, 1, 100, &cancelling{model: newModel(), cancel: func() { cancel(stop) }}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	s.Close()
}

type cancelling struct {
	*model
	cancel func()
}

func (c *cancelling) EndRevision() error {
	if c.rev == 20 {
		c.cancel()
	}
	return c.model.EndRevision()
}

// fakeText is a long text.
type fakeText struct{ content string }

func (t fakeText) Delta() bool     { return false }
func (t fakeText) BaseMD5() []byte { return nil }
func (t fakeText) Open() (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(t.content)), nil
}

// What is held keeps to its bounds, whatever comes; texts beyond them are in files, or wait where they are.
func TestHeldIsBounded(t *testing.T) {
	t.Parallel()
	a := &ahead{tempDir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
	a.changed.L = &a.mu
	oldest, later := &span{next: 1, last: 1}, &span{next: 2, last: 2}
	a.spans, a.next, a.last = []*span{oldest, later}, 3, 2
	long := strings.Repeat("x", 3<<20) + "end"
	sink := &spanSink{a: a, span: later}
	for _, length := range []int{100, 3<<20 + 3, 1 << 20, 0} {
		if err := sink.Change(&origin.Change{Path: "a", Text: fakeText{long[len(long)-length:]}}); err != nil {
			t.Fatal(err)
		}
	}
	if a.held.texts > 100 || a.held.spilled != 4<<20+3 {
		t.Errorf("held %+v", a.held)
	}
	for _, it := range later.items {
		in, err := it.change.Text.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if err != nil || !strings.HasSuffix(long, string(got)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	// With all room taken the later span waits, and the oldest one comes forward.
	a.held.edits, a.held.texts, a.held.spilled = maxHeldEdits, maxHeldTexts, maxSpilled
	waits := make(chan error)
	go func() { waits <- sink.Change(&origin.Change{Path: "b", Text: fakeText{"b"}}) }()
	passes := make(chan error)
	go func() {
		passes <- (&spanSink{a: a, span: oldest}).Change(&origin.Change{Path: "c", Text: fakeText{long}})
	}()
	batch, err := a.take()
	if err != nil || len(batch) != 1 || batch[0].change.Path != "c" {
		t.Fatalf("%v, %v", batch, err)
	}
	in, err := batch[0].change.Text.Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(in); err != nil || string(got) != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	batch[0].finish()
	if err := <-passes; err != nil {
		t.Error(err)
	}
	select {
	case err := <-waits:
		t.Errorf("the later span went on: %v", err)
	default:
	}
	a.mu.Lock()
	oldest.state = waiting
	a.changed.Broadcast()
	a.mu.Unlock()
	if err := <-waits; !errors.Is(err, errYield) {
		t.Errorf("got %v", err)
	}
}
