package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"gantry/internal/jobs"
	"gantry/internal/store"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bundle is a queue on a database of its own.
type bundle struct {
	*testing.T
	db    *store.DB
	queue *jobs.Queue
}

func each(t *testing.T, test func(b *bundle)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		db := storetest.Open(t, dsn)
		test(&bundle{t, db, queue(t, db)})
	})
}

func queue(t *testing.T, db *store.DB) *jobs.Queue {
	t.Helper()
	q, err := jobs.New(t.Context(), db, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// run works the queue until the test, or the returned function, stops it.
func run(t *testing.T, q *jobs.Queue) (stop func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- q.Run(context.Background()) }()
	var stopped atomic.Bool
	stop = func() {
		if stopped.Swap(true) {
			return
		}
		if err := q.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (b *bundle) enqueue(job jobs.Job) {
	b.Helper()
	if err := b.db.Write(b.Context(), func(tx *store.Tx) error { return b.queue.Enqueue(b.Context(), tx, job) }); err != nil {
		b.Fatal(err)
	}
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came within 20 s")
		panic("unreachable")
	}
}

func silent[T any](t *testing.T, c <-chan T, d time.Duration) {
	t.Helper()
	select {
	case v := <-c:
		t.Fatalf("%v came, but should not have", v)
	case <-time.After(d):
	}
}

// A job exists exactly when the transaction that enqueued it has been committed, together with what else that wrote.
func TestEnqueueIsTransactional(t *testing.T) {
	each(t, func(b *bundle) {
		ran := make(chan jobs.Job, 10)
		b.queue.Handle("import", jobs.Options{}, func(_ context.Context, job jobs.Job) error { ran <- job; return nil })
		run(b.T, b.queue)
		undone := errors.New("undone")
		err := b.db.Write(b.Context(), func(tx *store.Tx) error {
			if err := b.queue.Enqueue(b.Context(), tx, jobs.Job{Kind: "import", Key: 1}); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			b.Fatal(err)
		}
		b.enqueue(jobs.Job{Kind: "import", Key: 2, Generation: 5})
		if job := receive(b.T, ran); job.Key != 2 || job.Generation != 5 || job.Attempt != 1 || job.Kind != "import" {
			b.Errorf("ran %+v", job)
		}
		silent(b.T, ran, 300*time.Millisecond)
	})
}

// Functions that share a commit on SQLite keep their own jobs, and only their own.
func TestEnqueueInSharedCommits(t *testing.T) {
	each(t, func(b *bundle) {
		ran := make(chan int64, 100)
		b.queue.Handle("import", jobs.Options{Workers: 4}, func(_ context.Context, job jobs.Job) error { ran <- job.Key; return nil })
		done := make(chan error, 40)
		for key := range int64(40) {
			go func() {
				done <- b.db.Write(b.Context(), func(tx *store.Tx) error {
					if err := b.queue.Enqueue(b.Context(), tx, jobs.Job{Kind: "import", Key: key}); err != nil {
						return err
					}
					if key%2 == 1 {
						return errors.New("undone")
					}
					return nil
				})
			}()
		}
		for range 40 {
			<-done
		}
		run(b.T, b.queue)
		seen := map[int64]bool{}
		for range 20 {
			seen[receive(b.T, ran)] = true
		}
		silent(b.T, ran, 300*time.Millisecond)
		for key := range int64(40) {
			if seen[key] != (key%2 == 0) {
				b.Errorf("job %d ran: %v", key, seen[key])
			}
		}
	})
}

func TestUnfinishedJobsAreUnique(t *testing.T) {
	each(t, func(b *bundle) {
		ran, release := make(chan jobs.Job, 10), make(chan struct{})
		b.queue.Handle("import", jobs.Options{Workers: 4}, func(_ context.Context, job jobs.Job) error {
			ran <- job
			<-release
			return nil
		})
		b.enqueue(jobs.Job{Kind: "import", Key: 1, Generation: 1})
		b.enqueue(jobs.Job{Kind: "import", Key: 1, Generation: 1})
		run(b.T, b.queue)
		receive(b.T, ran)
		b.enqueue(jobs.Job{Kind: "import", Key: 1, Generation: 1}) // while it runs
		silent(b.T, ran, 300*time.Millisecond)
		b.enqueue(jobs.Job{Kind: "import", Key: 1, Generation: 2})
		if job := receive(b.T, ran); job.Generation != 2 {
			b.Errorf("ran %+v", job)
		}
		close(release)
		for again := false; !again; { // once it has finished, it can be enqueued again
			b.enqueue(jobs.Job{Kind: "import", Key: 1, Generation: 1})
			select {
			case <-ran:
				again = true
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

func TestRetryAndSnooze(t *testing.T) {
	each(t, func(b *bundle) {
		attempts := make(chan int, 10)
		b.queue.Handle("fails", jobs.Options{}, func(_ context.Context, job jobs.Job) error {
			attempts <- job.Attempt
			if job.Attempt == 1 {
				return errors.New("the network is down")
			}
			return nil
		})
		naps := make(chan time.Time, 10)
		var napped atomic.Bool
		b.queue.Handle("naps", jobs.Options{}, func(_ context.Context, job jobs.Job) error {
			naps <- time.Now()
			if !napped.Swap(true) {
				return jobs.Snooze(200 * time.Millisecond)
			}
			return nil
		})
		run(b.T, b.queue)
		b.enqueue(jobs.Job{Kind: "fails", Key: 1})
		b.enqueue(jobs.Job{Kind: "naps", Key: 1})
		if first, second := receive(b.T, naps), receive(b.T, naps); second.Sub(first) < 200*time.Millisecond {
			b.Errorf("again after %v", second.Sub(first))
		}
		if first, second := receive(b.T, attempts), receive(b.T, attempts); first != 1 || second != 2 {
			b.Errorf("attempts %d, %d", first, second)
		}
	})
}

// Stop ends the contexts of handlers, waits for them, and what they left is done by the next queue at once.
func TestStop(t *testing.T) {
	each(t, func(b *bundle) {
		started, saved := make(chan struct{}), atomic.Bool{}
		b.queue.Handle("import", jobs.Options{}, func(ctx context.Context, _ jobs.Job) error {
			close(started)
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			saved.Store(true)
			return ctx.Err()
		})
		stop := run(b.T, b.queue)
		b.enqueue(jobs.Job{Kind: "import", Key: 1})
		receive(b.T, started)
		stop()
		if !saved.Load() {
			b.Fatal("Stop did not wait for the handler")
		}
		next, ran := queue(b.T, b.db), make(chan int, 1)
		next.Handle("import", jobs.Options{}, func(_ context.Context, job jobs.Job) error { ran <- job.Attempt; return nil })
		begin := time.Now()
		run(b.T, next)
		receive(b.T, ran)
		if took := time.Since(begin); took > 2*time.Second {
			b.Errorf("the job went on after %v", took)
		}
	})
}

func TestTimeout(t *testing.T) {
	each(t, func(b *bundle) {
		ended := make(chan error, 10)
		b.queue.Handle("slow", jobs.Options{Timeout: 50 * time.Millisecond}, func(ctx context.Context, job jobs.Job) error {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil
		})
		run(b.T, b.queue)
		b.enqueue(jobs.Job{Kind: "slow", Key: 1})
		if err := receive(b.T, ended); !errors.Is(err, context.DeadlineExceeded) {
			b.Error(err)
		}
	})
}

func TestRunAtAndPeriodic(t *testing.T) {
	each(t, func(b *bundle) {
		ran, ticks := make(chan time.Time, 1), make(chan struct{})
		b.queue.Handle("later", jobs.Options{}, func(context.Context, jobs.Job) error { ran <- time.Now(); return nil })
		b.queue.Periodic("sweep", 20*time.Millisecond, func(ctx context.Context) error {
			select {
			case ticks <- struct{}{}:
			case <-ctx.Done():
			}
			return nil
		})
		run(b.T, b.queue)
		at := time.Now().Add(400 * time.Millisecond)
		b.enqueue(jobs.Job{Kind: "later", Key: 1, RunAt: at})
		for range 3 {
			receive(b.T, ticks)
		}
		if when := receive(b.T, ran); when.Before(at.Add(-10 * time.Millisecond)) {
			b.Errorf("ran %v early", at.Sub(when))
		}
	})
}

// Work begins soon after its commit: people watch.
func TestLatency(t *testing.T) {
	each(t, func(b *bundle) {
		ran := make(chan struct{}, 1)
		b.queue.Handle("import", jobs.Options{}, func(context.Context, jobs.Job) error { ran <- struct{}{}; return nil })
		run(b.T, b.queue)
		b.enqueue(jobs.Job{Kind: "import", Key: 0})
		receive(b.T, ran) // by now the queue has started
		var fastest, slowest time.Duration = time.Hour, 0
		for key := range int64(10) {
			begin := time.Now()
			b.enqueue(jobs.Job{Kind: "import", Key: key + 1})
			receive(b.T, ran)
			took := time.Since(begin)
			fastest, slowest = min(fastest, took), max(slowest, took)
		}
		b.Logf("from enqueue to start: %v to %v", fastest, slowest)
		if fastest > 500*time.Millisecond {
			b.Errorf("the fastest of ten jobs started after %v", fastest)
		}
	})
}
