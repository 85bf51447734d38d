// Package storetest is the conformance suite that the store passes on each engine, and what tests of other packages need
// to run on both: databases of their own, and a PostgreSQL server to hold them.
package storetest

import (
	"log/slog"
	"path/filepath"
	"testing"

	"gantry/internal/store"
)

// Each runs a test on an empty SQLite and on an empty PostgreSQL database, given by their addresses.
func Each(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
}

// SQLite returns the address of a SQLite database that does not exist yet.
func SQLite(t testing.TB) (dsn string) {
	return "sqlite:" + filepath.Join(t.TempDir(), "gantry.db")
}

// Open opens a database and closes it when the test ends.
func Open(t testing.TB, dsn string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
