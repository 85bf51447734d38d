package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"gantry"
)

// uniques maps unique indexes to the field that a second record would repeat. All of them are on expressions,
// because SQLite names the index in its error only then.
var uniques = map[string]gantry.FieldError{
	"accounts_login":    {Resource: "User", Field: "login"},
	"accounts_email":    {Resource: "User", Field: "email"},
	"repositories_name": {Resource: "Repository", Field: "name"},
}

// PostgreSQL's names for errors that mean something to us (its manual, appendix A).
const (
	pgUniqueViolation      = "23505"
	pgSerializationFailure = "40001"
	pgDeadlock             = "40P01"
	pgNotText              = "22021"
)

// translate gives errors of both engines one meaning. What it does not know it leaves as it is, and so internal.
func translate(err error) error {
	var lite *driver.Error
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &lite):
		switch lite.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE:
			_, quoted, _ := strings.Cut(lite.Error(), "index '")
			index, _, _ := strings.Cut(quoted, "'")
			return conflict(index, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT:
			return gantry.Errorf(gantry.Unavailable, "store", "the database is held by another process; try again: %w", err)
		}
	case errors.As(err, &pg) && pg.Code == pgUniqueViolation:
		return conflict(pg.ConstraintName, err)
	}
	return fmt.Errorf("store: %w", err)
}

func conflict(index string, err error) error {
	field, ok := uniques[index]
	if !ok {
		return fmt.Errorf("store: %w", err)
	}
	field.Code = gantry.AlreadyExists
	return &gantry.Error{Kind: gantry.Conflict, Op: "store", Msg: field.Field + " is taken", Fields: []gantry.FieldError{field}, Err: err}
}

// retryable reports whether PostgreSQL gave a transaction up for the sake of another one.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == pgSerializationFailure || pg.Code == pgDeadlock)
}

// holdsNoText reports whether PostgreSQL refused a text for holding NUL or not being UTF-8. No record has such a text.
func holdsNoText(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == pgNotText
}
