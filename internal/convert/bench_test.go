package convert

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gantry/bench/synth"
	"gantry/bench/synth/svndump"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin/svn"
)

// The steps of an import of an invented project, from a dump with deltas.
func BenchmarkConvert(b *testing.B) {
	const revisions = 2000
	file := deltaDump(b, revisions)
	for b.Loop() {
		src, err := svn.OpenDump(b.Context(), file)
		if err != nil {
			b.Fatal(err)
		}
		staging := b.TempDir()
		c, err := Open(b.Context(), Options{Dir: staging, Writer: "a", Journal: OpenFileJournal(filepath.Join(staging, "journal"))})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		rate := func(step string) {
			b.ReportMetric(revisions/time.Since(start).Seconds(), step+"-rev/s")
			start = time.Now()
		}
		if err := c.Read(b.Context(), src); err != nil {
			b.Fatal(err)
		}
		rate("read")
		result, err := c.Map(b.Context(), MapOptions{})
		if err != nil {
			b.Fatal(err)
		}
		rate("map")
		if _, err := c.WritePack(b.Context(), io.Discard, result, nil); err != nil {
			b.Fatal(err)
		}
		rate("pack")
		src.Close()
		c.Close()
	}
}

// deltaDump writes a dump of format 3, as svnadmin makes it.
func deltaDump(b *testing.B, revisions int) string {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "dump"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if _, err := svndump.Write(file, "5d7a8f10-0000-4000-8000-000000000001", synth.Revisions(synth.Params{Seed: 1, Revisions: revisions})); err != nil {
		b.Fatal(err)
	}
	whole, err := os.ReadFile(file.Name())
	if err != nil {
		b.Fatal(err)
	}
	repo := svnfixture.NewRepo(b)
	repo.Load(b, whole)
	deltas := filepath.Join(b.TempDir(), "deltas")
	if err := os.WriteFile(deltas, repo.Dump(b, "--deltas"), 0o600); err != nil {
		b.Fatal(err)
	}
	return deltas
}
