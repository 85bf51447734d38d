// Package jobs runs work in the background, enqueued in the transaction that makes it necessary. It is a facade over River
// (riverqueue.com), whose tables live in the store's database on both engines; no type of River leaves this package.
//
// A job is a hint, the row that it is about is the truth: a job may run twice, or be lost with its process, and what it may
// still change is decided by the row's generation.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"golang.org/x/sync/errgroup"

	"gantry/internal/store"
)

// Job says that something has to be done about one row.
type Job struct {
	Kind       string
	Key        int64     // id of the row
	Generation int64     // of the row, when the job was made
	RunAt      time.Time // not before then; zero: now. Not set for handlers
	Attempt    int       // counts from 1, set for handlers
}

// Options say how a kind of jobs is worked.
type Options struct {
	Workers int           // at a time in this process; 1 when 0
	Timeout time.Duration // of one attempt; none when 0
}

// Handler does a job. An error has it called again later, after pauses that grow, some twenty times at most. Its context ends when the
// queue stops: it then saves its progress and returns, and the job is done again, here or elsewhere.
type Handler func(ctx context.Context, job Job) error

// Queue is the queue of a database. It is safe for concurrent use, once Handle and Periodic have been called.
type Queue struct {
	river    backend
	insert   inserter
	log      *slog.Logger
	handlers map[string]handler
	periodic []periodic

	running  atomic.Pointer[client]
	stopping atomic.Bool
	stopOnce sync.Once
	stopped  chan struct{} // closed when Stop begins
}

type handler struct {
	Options
	do Handler
}

type periodic struct {
	name  string
	every time.Duration
	do    func(context.Context) error
}

// client is what this package needs of a River client, whatever its transactions are.
type client interface {
	Start(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
	Stopped() <-chan struct{}
}

// inserter enqueues in the transaction of a Tx.
type inserter func(ctx context.Context, tx *store.Tx, args arguments, opts *river.InsertOpts) error

// New prepares the queue of a database: it brings River's tables up to date.
func New(ctx context.Context, db *store.DB, log *slog.Logger) (*Queue, error) {
	q := &Queue{log: log, handlers: map[string]handler{}, stopped: make(chan struct{})}
	if pool := db.Postgres(); pool != nil {
		q.river = postgres{pool}
	} else {
		q.river = sqlite{db.SQLite()}
	}
	if err := db.Migrate(ctx, q.river.migrate); err != nil {
		return nil, fmt.Errorf("jobs: bring the queue's tables up to date: %w", err)
	}
	var err error
	if _, q.insert, err = q.river.client(&river.Config{Logger: quiet(log)}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return q, nil
}

// Handle says what does the jobs of a kind, a word of letters, digits, hyphens and underscores. It is called before Run.
func (q *Queue) Handle(kind string, opt Options, do Handler) {
	opt.Workers = max(opt.Workers, 1)
	q.handlers[kind] = handler{opt, do}
}

// Periodic has do called when Run begins and then at intervals, one call at a time, in each process that runs the queue:
// it must not matter when two processes do it at once. It is called before Run.
func (q *Queue) Periodic(name string, every time.Duration, do func(context.Context) error) {
	q.periodic = append(q.periodic, periodic{name, every, do})
}

// Enqueue adds a job in a transaction, so that it exists when the transaction has been committed and not otherwise. While a
// job of the same kind, key and generation is not finished it does nothing. A job whose process was killed counts as not finished:
// who takes its row over raises the generation first.
func (q *Queue) Enqueue(ctx context.Context, tx *store.Tx, job Job) error {
	opts := &river.InsertOpts{
		Queue:       job.Kind,
		ScheduledAt: job.RunAt,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
	if err := q.insert(ctx, tx, arguments{Handler: job.Kind, Key: job.Key, Generation: job.Generation}, opts); err != nil {
		return fmt.Errorf("jobs: enqueue %s %d: %w", job.Kind, job.Key, err)
	}
	return nil
}

// Run works jobs until ctx ends or Stop is called, and returns when the last handler has. It is called once.
func (q *Queue) Run(ctx context.Context) error {
	config := &river.Config{
		Logger:        quiet(q.log),
		FetchCooldown: 20 * time.Millisecond,
		JobTimeout:    -1, // each handler has its own
		Queues:        map[string]river.QueueConfig{},
		Workers:       river.NewWorkers(),
	}
	for kind, h := range q.handlers {
		config.Queues[kind] = river.QueueConfig{MaxWorkers: h.Workers}
	}
	river.AddWorker(config.Workers, &worker{queue: q})
	working, _, err := q.river.client(config)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	background, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops errgroup.Group
	for _, p := range q.periodic {
		loops.Go(func() error { q.repeat(background, p); return nil })
	}
	if err := working.Start(context.WithoutCancel(ctx)); err != nil {
		cancel()
		return errors.Join(fmt.Errorf("jobs: start: %w", err), loops.Wait())
	}
	q.running.Store(&working)
	select {
	case <-ctx.Done():
	case <-q.stopped:
	}
	cancel()
	q.stopping.Store(true)
	err = working.StopAndCancel(context.WithoutCancel(ctx))
	<-working.Stopped()
	return errors.Join(err, loops.Wait())
}

// Stop ends the contexts of running handlers and waits for them, at most until ctx ends.
func (q *Queue) Stop(ctx context.Context) error {
	q.stopOnce.Do(func() { close(q.stopped) })
	working := q.running.Load()
	if working == nil {
		return nil
	}
	select {
	case <-(*working).Stopped():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("jobs: stop: %w", ctx.Err())
	}
}

// repeat calls a periodic function until ctx ends.
func (q *Queue) repeat(ctx context.Context, p periodic) {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		if err := p.do(ctx); err != nil && ctx.Err() == nil {
			q.log.Error("periodic work failed", "work", p.name, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Snooze is the error by which a handler asks to be called again after d, without this counting as a failure.
func Snooze(d time.Duration) error { return snooze(max(d, 0)) }

type snooze time.Duration

func (s snooze) Error() string { return "again after " + time.Duration(s).String() }

// arguments are what River keeps of a job. All jobs are of one River kind; their queue tells which handler does them.
type arguments struct {
	Handler    string `json:"handler"`
	Key        int64  `json:"key"`
	Generation int64  `json:"generation"`
}

func (arguments) Kind() string { return "gantry" }

// worker hands River's jobs to handlers.
type worker struct {
	river.WorkerDefaults[arguments]
	queue *Queue
}

func (w *worker) Timeout(job *river.Job[arguments]) time.Duration {
	if d := w.queue.handlers[job.Args.Handler].Timeout; d > 0 {
		return d
	}
	return -1
}

func (w *worker) Work(ctx context.Context, job *river.Job[arguments]) error {
	h, ok := w.queue.handlers[job.Args.Handler]
	if !ok {
		return fmt.Errorf("jobs: nothing handles %q", job.Args.Handler)
	}
	err := h.do(ctx, Job{Kind: job.Args.Handler, Key: job.Args.Key, Generation: job.Args.Generation, Attempt: job.Attempt})
	var again snooze
	switch {
	case errors.As(err, &again):
		return river.JobSnooze(time.Duration(again))
	case err != nil && w.queue.stopping.Load():
		return river.JobSnooze(0) // not its failure: it was told to stop
	}
	return err
}

// quiet keeps River's own news out of the log, but not its troubles.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(troubles{log.Handler()}) }

type troubles struct{ slog.Handler }

func (h troubles) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h troubles) WithAttrs(attrs []slog.Attr) slog.Handler {
	return troubles{h.Handler.WithAttrs(attrs)}
}
func (h troubles) WithGroup(name string) slog.Handler { return troubles{h.Handler.WithGroup(name)} }
