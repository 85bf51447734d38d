package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"gantry"
)

// Tx is what Read and Write hand to their functions. It is bound to their context and not safe for concurrent use.
type Tx struct {
	ctx  context.Context
	run  runner
	conn *sql.Conn // on PostgreSQL, within Write: the connection under run
}

// runner is a transaction or a pool.
type runner interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// SQLite returns the transaction that Write runs in, nil on PostgreSQL. It is for package jobs.
func (tx *Tx) SQLite() *sql.Tx {
	if tx.conn != nil {
		return nil
	}
	t, _ := tx.run.(*sql.Tx)
	return t
}

// Postgres calls fn with the connection whose transaction Write runs in; fn must neither end the transaction nor keep the connection. It is for package jobs.
func (tx *Tx) Postgres(fn func(*pgx.Conn) error) error {
	return tx.conn.Raw(func(driverConn any) error { return fn(driverConn.(*stdlib.Conn).Conn()) })
}

// exec runs a statement and returns how many rows it changed.
func (tx *Tx) exec(query string, args ...any) (int64, error) {
	result, err := tx.run.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, translate(err)
	}
	return result.RowsAffected()
}

// row scans the first row of a query into one destination. It returns sql.ErrNoRows when there is none.
func (tx *Tx) row(dest any, query string, args ...any) error {
	_, err := first(tx, func(r *sql.Rows) (struct{}, error) { return struct{}{}, r.Scan(dest) }, query, args...)
	return err
}

// first returns the first row of a query. It returns sql.ErrNoRows when there is none.
func first[T any](tx *Tx, scan func(*sql.Rows) (T, error), query string, args ...any) (T, error) {
	var none T
	rows, err := tx.run.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return none, translate(err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return none, translate(err)
		}
		return none, sql.ErrNoRows
	}
	value, err := scan(rows)
	if err != nil {
		return none, err
	}
	// What a statement with RETURNING meets on its way to the end counts, too.
	if err := errors.Join(rows.Close(), rows.Err()); err != nil {
		return none, translate(err)
	}
	return value, nil
}

// one is first for a record that callers name: without a row it is NotFound, in words that name it.
func one[T any](tx *Tx, what string, scan func(*sql.Rows) (T, error), query string, args ...any) (*T, error) {
	value, err := first(tx, scan, query, args...)
	if errors.Is(err, sql.ErrNoRows) || holdsNoText(err) {
		return nil, gantry.Errorf(gantry.NotFound, "", "there is no such %s", what)
	}
	if err != nil {
		return nil, err
	}
	return &value, nil
}

// all returns every row of a query; the query bounds their number.
func all[T any](tx *Tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.run.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err)
	}
	return list, nil
}

// count returns the number that a query yields.
func (tx *Tx) count(query string, args ...any) (int, error) {
	var n int
	err := tx.row(&n, query, args...)
	return n, err
}

// micros is how a time is stored.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// stamp reads what micros stored.
type stamp struct{ *time.Time }

func (s stamp) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*s.Time = time.Time{}
	case int64:
		*s.Time = time.UnixMicro(v).UTC()
	default:
		return errors.New("store: a time is not an integer")
	}
	return nil
}
