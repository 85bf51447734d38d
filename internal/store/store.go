// Package store keeps the records of the service in SQL, the same text on SQLite and on PostgreSQL.
package store

import (
	"context"
	"log/slog"

	"gantry"
)

// DB is an open database, safe for concurrent use.
type DB struct{}

// Open connects to a database and brings its schema up to date. The dsn is "sqlite:PATH", a bare path, or a "postgres://" address.
func Open(ctx context.Context, dsn string, log *slog.Logger) (*DB, error) {
	return nil, unimplemented
}

var unimplemented = gantry.Errorf(gantry.Internal, "store", "unimplemented")

// Close ends what is running and releases the database.
func (db *DB) Close() error { return nil }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return unimplemented }

// Read runs fn for reading. There is no transaction around it: each statement sees the newest committed state.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error { return unimplemented }

// Write runs fn in a transaction that is durable when Write returns nil. On PostgreSQL fn may run several times; it must
// have no effect except through tx. It must not call Read or Write.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error { return unimplemented }

// Tx is what Read and Write hand to their functions. It is bound to their context and not safe for concurrent use.
type Tx struct{}
