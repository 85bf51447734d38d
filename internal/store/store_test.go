package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/stdlib"

	"gantry"
	"gantry/internal/store"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *store.DB { return storetest.Open(t, storetest.SQLite(t)) })
	})
	t.Run("postgres", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *store.DB { return storetest.Open(t, storetest.Postgres(t)) })
	})
}

// The two folders of migrations end in the same columns and indexes.
func TestSchemasAgree(t *testing.T) {
	t.Parallel()
	lite := storetest.Open(t, storetest.SQLite(t)).SQLite()
	pg := stdlib.OpenDBFromPool(storetest.Open(t, storetest.Postgres(t)).Postgres())
	defer pg.Close()
	liteColumns := strings.Join(rows(t, lite, `SELECT t.name || '.' || c.name || ' ' || lower(c.type) || CASE WHEN c."notnull" OR c.pk > 0 THEN ' not null' ELSE '' END
		FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'schema_version' ORDER BY 1`), "\n")
	for from, to := range map[string]string{" integer": " bigint", " blob": " bytea"} {
		liteColumns = strings.ReplaceAll(liteColumns, from, to)
	}
	pgColumns := strings.Join(rows(t, pg, `SELECT table_name || '.' || column_name || ' ' || data_type || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'schema_version' ORDER BY (table_name || '.' || column_name) COLLATE "C"`), "\n")
	if diff := cmp.Diff(liteColumns, pgColumns); diff != "" {
		t.Errorf("columns differ (-sqlite +postgres):\n%s", diff)
	}
	liteIndexes := rows(t, lite, `SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1`)
	pgIndexes := rows(t, pg, `SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname !~ '_(pkey|key)$' ORDER BY indexname COLLATE "C"`)
	if diff := cmp.Diff(liteIndexes, pgIndexes); diff != "" {
		t.Errorf("indexes differ (-sqlite +postgres):\n%s", diff)
	}
	if len(liteIndexes) == 0 || !strings.Contains(liteColumns, "tokens.sha256 bytea not null") {
		t.Errorf("the comparison does not see the schema: %s", liteColumns)
	}
}

func rows(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	found, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var line string
		if err := found.Scan(&line); err != nil {
			t.Fatal(err)
		}
		list = append(list, line)
	}
	return list
}

// Processes may start at once on an empty database, and again on a full one.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				db, err := store.Open(context.Background(), dsn, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(db.Ping(context.Background()), db.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	_, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "missing", "gantry.db"), log)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	_, err = store.Open(t.Context(), "postgres://gantry:hunter2@127.0.0.1:1/gantry?connect_timeout=1", log)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no server: %v", err)
	}
	path := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = store.Open(t.Context(), path, log); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("another file: %v", err)
	}
}

// A path is a path, whatever characters it has, and others on the machine cannot read the file.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%20&_pragma=x(1)é.db")
	storetest.Open(t, path)
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Another process that writes to the same file, such as the command line, waits its turn and is seen at once.
func TestSQLiteOfTwoProcesses(t *testing.T) {
	t.Parallel()
	dsn := storetest.SQLite(t)
	dbs := []*store.DB{storetest.Open(t, dsn), storetest.Open(t, dsn)}
	var wg sync.WaitGroup
	for i, db := range dbs {
		wg.Go(func() {
			for n := range 50 {
				if err := db.Write(t.Context(), func(tx *store.Tx) error { return insert(tx, fmt.Sprintf("u%d-%d", i, n)) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i, db := range dbs {
		err := db.Read(t.Context(), func(tx *store.Tx) error { _, err := tx.AccountByLogin(fmt.Sprintf("u%d-49", 1-i)); return err })
		if err != nil {
			t.Error(err)
		}
	}
}

func insert(tx *store.Tx, login string) error {
	now := time.Now()
	return tx.InsertAccount(&gantry.Account{Type: gantry.TypeUser, Login: login, CreatedAt: now, UpdatedAt: now})
}

// After Close nothing is written, and who tries is told.
func TestClosed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		db := storetest.Open(t, dsn)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error { return insert(tx, "ada") }); err == nil {
			t.Error("wrote to a closed database")
		}
		if err := db.Ping(t.Context()); err == nil {
			t.Error("a closed database answers")
		}
	})
}

// A statement that writes does not slip through Read.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, storetest.SQLite(t))
	for name, fn := range map[string]func(*store.Tx) error{
		"exec":      func(tx *store.Tx) error { return tx.DeleteRepository(1) },
		"returning": func(tx *store.Tx) error { return insert(tx, "ada") },
	} {
		if err := db.Read(t.Context(), fn); err == nil {
			t.Errorf("%s: written by Read", name)
		}
	}
}

// The statements of this package are constants: a value within one would be an injection, and fill the cache of statements.
func TestStatementsAreConstants(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	built := regexp.MustCompile("Sprintf\\(\\s*[`\"](?i:select|insert|update|delete|with) ")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if at := built.FindIndex(text); at != nil {
			t.Errorf("%s: a statement is built at byte %d", name, at[0])
		}
	}
}

func tokens(b *testing.B, db *store.DB, n int) {
	b.Helper()
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		now := time.Now()
		user := &gantry.Account{Type: gantry.TypeUser, Login: "ada", CreatedAt: now, UpdatedAt: now}
		if err := tx.InsertAccount(user); err != nil {
			return err
		}
		for i := range n {
			t := &gantry.Token{UserID: user.ID, Scopes: gantry.NewScopeSet("repo"), CreatedAt: now}
			if err := tx.InsertToken(t, hash(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func hash(i int) [32]byte { return [32]byte{byte(i * 151), byte(i >> 8), byte(i >> 16), byte(i)} }

// BenchmarkReadToken is the read that each authenticated request makes.
func BenchmarkReadToken(b *testing.B) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			db := storetest.Open(b, dsn(b))
			tokens(b, db, 20_000)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i += 7 {
					if err := db.Read(b.Context(), func(tx *store.Tx) error { _, err := tx.TokenByHash(hash(i % 20_000)); return err }); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
		})
	}
}

// BenchmarkWrite shows what sharing commits gives to writers at once.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			db := storetest.Open(b, storetest.SQLite(b))
			tokens(b, db, 1)
			b.SetParallelism(writers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := db.Write(b.Context(), func(tx *store.Tx) error { return tx.TouchToken(1, time.Now()) }); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
