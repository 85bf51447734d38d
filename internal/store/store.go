// Package store keeps the records of the service in SQL: one text, by hand, for SQLite and for PostgreSQL.
//
// An exported method of a service calls DB.Read or DB.Write once; the unexported ones, and the methods of Tx, take what
// that gives them. There is one file for each noun, with the statements and the order of columns of its table.
//
// What both engines agree on: placeholders are $1, $2; text is a constant of the program; times are microseconds since
// 1970 in UTC in a BIGINT, NULL for the zero time; a name that is compared without case has a unique index on lower(name).
package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// DB is an open database. It is safe for concurrent use.
type DB struct {
	log *slog.Logger
	engine
}

// engine is what differs between SQLite and PostgreSQL.
type engine interface {
	read(ctx context.Context, fn func(*Tx) error) error
	write(ctx context.Context, fn func(*Tx) error) error
	// exclusively runs fn while no other process that shares the database runs an fn of its own.
	exclusively(ctx context.Context, fn func() error) error
	dialect() goose.Dialect
	handle() *sql.DB // that may write
	close() error
}

// Open connects to a database and brings its schema up to date. The dsn is "sqlite:PATH", a bare path, or a "postgres://"
// address with pgx's parameters. The directory of a SQLite database must exist.
func Open(ctx context.Context, dsn string, log *slog.Logger) (*DB, error) {
	db := &DB{log: log}
	var err error
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		db.engine, err = openPostgres(ctx, dsn)
	} else {
		db.engine, err = openSQLite(ctx, strings.TrimPrefix(dsn, "sqlite:"))
	}
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	if err := db.Migrate(ctx, db.migrate); err != nil {
		_ = db.close()
		return nil, fmt.Errorf("store: bring the schema up to date: %w", err)
	}
	return db, nil
}

// Close ends what is running and releases the database.
func (db *DB) Close() error { return db.close() }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	return db.Read(ctx, func(tx *Tx) error {
		var one int
		return tx.row(&one, `SELECT 1`)
	})
}

// Read runs fn for reading. There is no transaction around it, so that reading one row costs one round trip: each
// statement sees the newest committed state. What must belong together is asked for in one statement, or in Write.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error { return db.read(ctx, fn) }

// Write runs fn in a transaction, alone as far as it can tell, that is durable when Write returns nil. An error of fn undoes
// what fn did and is returned.
//
// On PostgreSQL fn may run several times: it must have no effect but through tx and on variables that each run sets
// anew. On SQLite functions that wait share a commit. fn must not call Read or Write.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error { return db.write(ctx, fn) }

// Migrate runs fn, which changes the schema, while no other process that shares the database does so.
func (db *DB) Migrate(ctx context.Context, fn func(context.Context) error) error {
	return db.exclusively(ctx, func() error { return fn(ctx) })
}

func (db *DB) migrate(ctx context.Context) error {
	dialect := db.dialect()
	folder, err := fs.Sub(migrations, "migrations/"+map[goose.Dialect]string{goose.DialectSQLite3: "sqlite", goose.DialectPostgres: "postgres"}[dialect])
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, db.handle(), folder, goose.WithTableName("schema_version"))
	if err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		db.log.Info("schema migrated", "version", r.Source.Version, "duration", r.Duration)
	}
	return err
}

// SQLite returns the pool with the one connection that writes, nil on PostgreSQL. It is for package jobs, whose queue lives in the same database.
func (db *DB) SQLite() *sql.DB {
	if e, ok := db.engine.(*sqlite); ok {
		return e.writer
	}
	return nil
}

// Postgres returns the pool of connections, nil on SQLite. It is for package jobs, whose queue lives in the same database.
func (db *DB) Postgres() *pgxpool.Pool {
	if e, ok := db.engine.(*postgres); ok {
		return e.pool
	}
	return nil
}
