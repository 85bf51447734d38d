package jobs

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"gantry/internal/store"
)

// backend is River over one of the store's engines.
type backend interface {
	migrate(ctx context.Context) error
	client(config *river.Config) (client, inserter, error)
}

// sqlite shares the store's one writing connection, so that River never finds the database locked.
type sqlite struct{ db *sql.DB }

func (s sqlite) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riversqlite.New(s.db), nil)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func (s sqlite) client(config *river.Config) (client, inserter, error) {
	c, err := river.NewClient(riversqlite.New(s.db), config)
	return c, func(ctx context.Context, tx *store.Tx, args arguments, opts *river.InsertOpts) error {
		// A statement that is interrupted would take the writes of others with it: see the store's group commit.
		_, err := c.InsertTx(context.WithoutCancel(ctx), tx.SQLite(), args, opts)
		return err
	}, err
}

type postgres struct{ pool *pgxpool.Pool }

func (p postgres) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(p.pool), nil)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func (p postgres) client(config *river.Config) (client, inserter, error) {
	c, err := river.NewClient(riverpgxv5.New(p.pool), config)
	return c, func(ctx context.Context, tx *store.Tx, args arguments, opts *river.InsertOpts) error {
		return tx.Postgres(func(conn *pgx.Conn) error {
			_, err := c.InsertTx(ctx, joined{connection: conn}, args, opts)
			return err
		})
	}, err
}

// joined is a transaction that database/sql began, as pgx knows transactions. Ending it is left to who began it; what is begun
// within it is a savepoint.
type joined struct {
	*connection
	depth int
}

type connection = pgx.Conn // under a name that leaves Conn to the method

func (j joined) savepoint() string { return fmt.Sprintf("joined_%d", j.depth) }

func (j joined) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := joined{j.connection, j.depth + 1}
	_, err := j.Exec(ctx, "SAVEPOINT "+inner.savepoint())
	return inner, err
}

func (j joined) Commit(ctx context.Context) error {
	if j.depth == 0 {
		return nil
	}
	_, err := j.Exec(ctx, "RELEASE "+j.savepoint())
	return err
}

func (j joined) Rollback(ctx context.Context) error {
	if j.depth == 0 {
		return nil
	}
	_, err := j.Exec(ctx, "ROLLBACK TO "+j.savepoint())
	return err
}

func (j joined) LargeObjects() pgx.LargeObjects { panic("jobs: the queue has no large objects") }

func (j joined) Conn() *pgx.Conn { return j.connection }
