package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/pressly/goose/v3"
	"golang.org/x/sys/unix"

	"gantry"
)

// sqlite is the engine for one machine: a write-ahead log, many readers, and one writer whose waiting transactions share a
// commit, because each commit waits for the disk.
type sqlite struct {
	path       string
	readers    *sql.DB
	writer     *sql.DB  // one connection; its transactions are immediate
	statements sync.Map // query text -> *sql.Stmt, prepared on readers

	queue   chan *turn
	closing chan struct{} // closed by close: no write begins any more
	closed  sync.Once
	done    chan struct{} // closed when the writer has ended
}

// maxBatch bounds how many functions share a commit, and so how long the first of them waits.
const maxBatch = 128

const sqlitePragmas = "_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_pragma=cache_size(-8000)"

func openSQLite(ctx context.Context, path string) (*sqlite, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	e := &sqlite{path: path, queue: make(chan *turn), closing: make(chan struct{}), done: make(chan struct{})}
	address := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + sqlitePragmas
	// The file is made here, because SQLite would let the umask decide who can read it.
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	if e.writer, err = sql.Open("sqlite", address+"&_pragma=journal_mode(WAL)&_txlock=immediate"); err != nil {
		return nil, err
	}
	e.writer.SetMaxOpenConns(1)
	if err := e.writer.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), e.writer.Close())
	}
	if e.readers, err = sql.Open("sqlite", address+"&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, e.writer.Close())
	}
	readers := max(4, 2*runtime.GOMAXPROCS(0))
	e.readers.SetMaxOpenConns(readers)
	e.readers.SetMaxIdleConns(readers)
	go e.writeBatches()
	return e, nil
}

func (e *sqlite) dialect() goose.Dialect { return goose.DialectSQLite3 }
func (e *sqlite) handle() *sql.DB        { return e.writer }

func (e *sqlite) close() error {
	var err error
	e.closed.Do(func() {
		close(e.closing)
		<-e.done
		err = errors.Join(e.readers.Close(), e.writer.Close())
	})
	return err
}

// exclusively holds a lock on a file beside the database. SQLite's own locks do not span the several transactions of a migration.
func (e *sqlite) exclusively(_ context.Context, fn func() error) (err error) {
	f, err := os.OpenFile(e.path+".migrate", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // which also unlocks
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return fn()
}

func (e *sqlite) read(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Statements are short. A context that can end costs a goroutine for each of them, more than most statements themselves.
	return fn(&Tx{ctx: context.WithoutCancel(ctx), run: (*prepared)(e)})
}

// prepared runs statements on the readers, each prepared once on each connection.
type prepared sqlite

func (p *prepared) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := p.statements.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := p.readers.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if earlier, loaded := p.statements.LoadOrStore(query, s); loaded {
		return earlier.(*sql.Stmt), s.Close()
	}
	return s, nil
}

func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := p.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (p *prepared) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errors.New("a statement that writes needs DB.Write")
}

// turn is one call of Write: it is given the transaction, runs its function, hands the transaction back and learns how the commit went.
type turn struct {
	ctx      context.Context
	begin    chan *sql.Tx
	end      chan error // what the function, or undoing it, did to the whole transaction: nil for no harm
	kept     bool       // the function succeeded; its changes are in the transaction
	finished chan error
}

func (e *sqlite) write(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &turn{ctx: ctx, begin: make(chan *sql.Tx), end: make(chan error), finished: make(chan error, 1)}
	select {
	case e.queue <- t:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closing:
		return gantry.Errorf(gantry.Unavailable, "store", "the database is closing")
	}
	select {
	case tx := <-t.begin:
		if err := t.run(tx, fn); err != nil {
			return err
		}
		return <-t.finished
	case err := <-t.finished: // before its turn came
		return err
	}
}

// run calls fn within a savepoint, in the goroutine of Write's caller, where a panic belongs. Statements do not see the caller's
// context end: SQLite answers an interrupt by rolling back the whole transaction, with what others did in it.
func (t *turn) run(tx *sql.Tx, fn func(*Tx) error) (err error) {
	ctx := context.WithoutCancel(t.ctx)
	if _, err := tx.ExecContext(ctx, "SAVEPOINT turn"); err != nil {
		t.end <- err
		return translate(err)
	}
	defer func() { // also when fn panics
		if t.kept {
			_, err = tx.ExecContext(ctx, "RELEASE turn")
			t.kept = err == nil
			t.end <- err
			return
		}
		_, undo := tx.ExecContext(ctx, "ROLLBACK TO turn")
		if undo == nil {
			_, undo = tx.ExecContext(ctx, "RELEASE turn")
		}
		t.end <- undo
	}()
	err = fn(&Tx{ctx: ctx, run: tx})
	t.kept = err == nil
	return err
}

// writeBatches is the one writer. It ends when the engine closes.
func (e *sqlite) writeBatches() {
	defer close(e.done)
	for {
		select {
		case t := <-e.queue:
			e.writeBatch(t)
		case <-e.closing:
			return
		}
	}
}

// writeBatch runs one turn, and those that wait by then, in one transaction.
func (e *sqlite) writeBatch(t *turn) {
	var kept []*turn
	tx, err := e.writer.BeginTx(context.Background(), nil)
	for n := 1; t != nil; n++ {
		if err == nil {
			err = t.take(tx)
		}
		if t.kept {
			kept = append(kept, t)
		} else if err != nil {
			t.finished <- translate(err)
		}
		t = nil
		if n < maxBatch && err == nil {
			select {
			case t = <-e.queue:
			default:
			}
		}
	}
	switch {
	case tx == nil:
	case err != nil: // the transaction is broken, by a full disk for example
		_ = tx.Rollback()
	default:
		err = tx.Commit()
	}
	if err != nil {
		err = translate(err)
	}
	for _, t := range kept {
		t.finished <- err
	}
}

// take gives the transaction to a turn and waits until it comes back. It returns an error when the transaction is broken.
func (t *turn) take(tx *sql.Tx) error {
	select {
	case t.begin <- tx:
		return <-t.end
	case <-t.ctx.Done():
		t.finished <- t.ctx.Err()
		return nil
	}
}
