package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"gantry"
)

// postgres is the engine for several machines. Its transactions are serializable, so that a function of Write sees the
// same world on both engines; what PostgreSQL gives up for that is run again.
type postgres struct {
	pool *pgxpool.Pool
	db   *sql.DB // over pool
}

const (
	maxConns    = 24 // unless the address says pool_max_conns; the queue and its listener share them
	maxAttempts = 12
	// migrationLock is a number for pg_advisory_lock that only this program uses: "gantry" in ASCII.
	migrationLock = 0x67616e747279
)

func openPostgres(ctx context.Context, dsn string) (*postgres, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err // pgx leaves the password out
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return &postgres{pool: pool, db: stdlib.OpenDBFromPool(pool)}, nil
}

func (e *postgres) dialect() goose.Dialect { return goose.DialectPostgres }
func (e *postgres) handle() *sql.DB        { return e.db }

func (e *postgres) close() error {
	err := e.db.Close()
	e.pool.Close()
	return err
}

func (e *postgres) exclusively(ctx context.Context, fn func() error) (err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, migrationLock)
		err = errors.Join(err, unlock)
	}()
	return fn()
}

func (e *postgres) read(ctx context.Context, fn func(*Tx) error) error {
	return fn(&Tx{ctx: ctx, run: e.db})
}

func (e *postgres) write(ctx context.Context, fn func(*Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := e.attempt(ctx, fn)
		if !retryable(err) {
			return err
		}
		if attempt == maxAttempts {
			return gantry.Errorf(gantry.Unavailable, "store", "too many writers want the same records; try again: %w", err)
		}
		pause := time.Millisecond << min(attempt, 7)
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *postgres) attempt(ctx context.Context, fn func(*Tx) error) error {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return translate(err)
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := fn(&Tx{ctx: ctx, run: tx, conn: conn}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return translate(err)
	}
	return nil
}
