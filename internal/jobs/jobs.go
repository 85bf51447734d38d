// Package jobs runs work in the background, enqueued in the transaction that makes it necessary, over River on both engines.
package jobs

import (
	"context"
	"log/slog"
	"time"

	"gantry"
	"gantry/internal/store"
)

var unimplemented = gantry.Errorf(gantry.Internal, "jobs", "unimplemented")

// Job is a hint that something has to be done about one row.
type Job struct {
	Kind       string
	Key        int64     // id of the row
	Generation int64     // of the row, when the job was made
	RunAt      time.Time // zero: now; ignored by handlers
	Attempt    int       // counts from 1; set for handlers
}

// Options says how a kind of jobs is worked.
type Options struct {
	Workers int           // at a time in this process; 1 when 0
	Timeout time.Duration // of one attempt; none when 0
}

// Handler does a job. Its context ends when the queue stops: it then saves its progress and returns.
type Handler func(ctx context.Context, job Job) error

// Queue is the queue of a database.
type Queue struct{}

// New prepares a queue in a database.
func New(db *store.DB, log *slog.Logger) (*Queue, error) { return nil, unimplemented }

// Handle says what does jobs of a kind. It is called before Run.
func (q *Queue) Handle(kind string, opt Options, h Handler) {}

// Periodic has fn called at the start and then every interval, by one of the processes that share the database. It is called before Run.
func (q *Queue) Periodic(kind string, every time.Duration, fn func(context.Context) error) {}

// Enqueue adds a job in a transaction. A job of the same kind, key and generation that is not finished makes it do nothing.
func (q *Queue) Enqueue(ctx context.Context, tx *store.Tx, job Job) error { return unimplemented }

// Run works jobs until ctx ends or Stop is called.
func (q *Queue) Run(ctx context.Context) error { return unimplemented }

// Stop ends the contexts of running jobs and waits for them, at most until ctx ends. What did not finish is done again later.
func (q *Queue) Stop(ctx context.Context) error { return nil }

// Snooze is the error by which a handler asks to be called again after d, without this counting as a failure.
func Snooze(d time.Duration) error { return unimplemented }
