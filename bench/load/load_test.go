// Package load measures how many authenticated requests a server answers. It is a Go benchmark:
//
//	go test -run '^$' -bench . ./bench/load
package load

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gantry"
	"gantry/bench/measure"
	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/secret"
	"gantry/internal/store"
)

const (
	tokenRows   = 100_000
	usedTokens  = 1_000 // of the administrator; all others belong to other users
	connections = 32
	duration    = 10 * time.Second
)

func TestMain(m *testing.M) {
	code := m.Run()
	gantrytest.Clean()
	os.Exit(code)
}

// BenchmarkGetImport asks for the progress of an import over connections that stay open, on SQLite with many tokens. It
// measures once, for some seconds, whatever -benchtime says.
func BenchmarkGetImport(b *testing.B) {
	s := gantrytest.Start(b, gantrytest.Options{Env: []string{"GANTRY_RATE_USER=1000000000", "GANTRY_LOG_LEVEL=warn"}})
	repo := s.CreateRepository("busy")
	s.StartImport(repo, "svn://"+svnfixture.Serve(b, svnfixture.NewStandardRepo(b).Root)+"/repo")
	s.WaitForImport(repo, time.Minute)
	s.Stop()
	tokens := seed(b, filepath.Join(s.DataDir, "gantry.db"))
	s.Restart()

	for _, users := range []struct {
		name   string
		tokens []string
	}{
		{"OneToken", tokens[:1]},
		{"ManyTokens", tokens},
	} {
		b.Run(users.name, func(b *testing.B) {
			path := "/repos/" + repo + "/import"
			measureLoad(b, s.URL, path, users.tokens, time.Second) // warms up
			before := measure.CPU(s.Pid())
			took := measureLoad(b, s.URL, path, users.tokens, duration)
			after := measure.CPU(s.Pid())
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(took))/duration.Seconds(), "req/s")
			b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
			b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
			b.ReportMetric(float64((after-before).Microseconds())/float64(len(took)), "server-cpu-µs/req")
		})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// seed fills the token table of a server that does not run, and returns the administrator's new tokens.
func seed(b *testing.B, database string) (tokens []string) {
	b.Helper()
	ctx := b.Context()
	db, err := store.Open(ctx, "sqlite:"+database, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	const batch = 10_000
	for done := 0; done < tokenRows; done += batch {
		var made []string // of the administrator in this batch; the transaction may run twice
		err := db.Write(ctx, func(tx *store.Tx) error {
			made = nil
			admin, err := tx.AccountByLogin("admin")
			if err != nil {
				return err
			}
			login := fmt.Sprintf("user-%d", done/batch)
			user := &gantry.Account{Type: gantry.TypeUser, Login: login, Name: login, Email: login + "@example.org", CreatedAt: now, UpdatedAt: now}
			if err := tx.InsertAccount(user); err != nil {
				return err
			}
			for n := range batch {
				token := secret.NewToken("gtp_")
				record := &gantry.Token{UserID: user.ID, LastEight: token[len(token)-8:], Note: "load", Scopes: gantry.ScopeSet{"repo"}, CreatedAt: now}
				if n%(tokenRows/usedTokens) == 0 {
					record.UserID = admin.ID
					made = append(made, token)
				}
				if err := tx.InsertToken(record, secret.HashToken(token)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		tokens = append(tokens, made...)
	}
	rand.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	return tokens
}
