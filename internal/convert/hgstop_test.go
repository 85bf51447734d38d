package convert

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// Reading a graph that is stopped anywhere, any number of times, by its context, by the origin or by the death of the
// process, gives the same ids and the same report, however much the origin had at each time.
func TestStopsOfGraphsDoNotShow(t *testing.T) {
	t.Parallel()
	repo := hgfixture.NewStandard(t)
	var bundles []string // of what there was at times
	for _, end := range []int{20, 100, 150} {
		bundles = append(bundles, repo.Part(t, end).Bundle(t, "none-v2"))
	}
	bundles = append(bundles, repo.Bundle(t, "none-v1"))
	last := bundles[len(bundles)-1]
	whole := convertHg(t, openHgBundle(t, last))
	base := t.TempDir()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		staging := filepath.Join(base, fmt.Sprint(run))
		defer os.RemoveAll(staging)
		var news News
		open := func(owner int) *Conversion {
			c, err := Open(t.Context(), Options{
				Dir: staging, Writer: fmt.Sprintf("w%d", owner),
				Journal: keeping{OpenFileJournal(filepath.Join(staging, "journal")), &news},
			})
			if err != nil {
				rt.Fatal(err)
			}
			return c
		}
		grown := 0
		owners := rapid.IntRange(1, 4).Draw(rt, "owners")
		for owner := range owners {
			c := open(owner)
			ctx, cancel := context.WithCancel(t.Context())
			grown = rapid.IntRange(grown, len(bundles)-1).Draw(rt, "grown")
			stop := &stoppingGraph{GraphSource: openHgBundle(t, bundles[grown]), after: rapid.IntRange(1, 900).Draw(rt, "after")}
			switch rapid.SampledFrom([]string{"fault", "context", "death"}).Draw(rt, "how") {
			case "context":
				stop.cancel = cancel
			case "death":
				c.opt.Journal = deadGraph{c.opt.Journal, stop}
			}
			err := c.ReadGraph(ctx, stop)
			if stop.reached && !errors.Is(err, origin.ErrTemporary) && !errors.Is(err, context.Canceled) {
				rt.Fatalf("owner %d: %v", owner, err)
			}
			if err == nil {
				if _, err := c.MapGraph(t.Context(), MapOptions{}); err != nil {
					rt.Fatal(err)
				}
			}
			cancel()
			c.Close()
		}
		c := open(owners)
		defer c.Close()
		if err := c.ReadGraph(t.Context(), openHgBundle(t, last)); err != nil {
			rt.Fatal(err)
		}
		again := mappedHg(t, c)
		if !slices.Equal(again.result.Refs, whole.result.Refs) || !slices.Equal(again.nodes(), whole.nodes()) {
			rt.Error("other commits than without stops")
		}
		// How often a name is met that Git cannot have depends on what manifests are told as changes of.
		again.result.Report.RenamedPaths = whole.result.Report.RenamedPaths
		if got, want := fmt.Sprint(again.result.Report), fmt.Sprint(whole.result.Report); got != want {
			rt.Errorf("report:\n%s\nwant:\n%s", got, want)
		}
		if !slices.Equal(news.Authors, whole.Authors()) {
			rt.Errorf("the journal was told of %v", news.Authors)
		}
	})
}

// stoppingGraph is an origin that fails, or takes the context away, after some calls of its sink.
type stoppingGraph struct {
	origin.GraphSource
	after   int
	cancel  func() // instead of failing
	reached bool
	sink    revlog.Sink
}

func (s *stoppingGraph) Pull(ctx context.Context, known []revlog.Node, sink revlog.Sink) (origin.GraphHeads, error) {
	s.sink = sink
	return s.GraphSource.Pull(ctx, known, s)
}

func (s *stoppingGraph) call(next func() error) error {
	if s.after--; s.after < 0 {
		s.reached = true
		if s.cancel == nil {
			return fmt.Errorf("the line is dead: %w", origin.ErrTemporary)
		}
		s.cancel()
	}
	return next()
}

func (s *stoppingGraph) Changeset(r *revlog.Revision) error {
	return s.call(func() error { return s.sink.Changeset(r) })
}

func (s *stoppingGraph) Manifest(dir string, r *revlog.Revision) error {
	return s.call(func() error { return s.sink.Manifest(dir, r) })
}

func (s *stoppingGraph) File(path string, r *revlog.Revision) error {
	return s.call(func() error { return s.sink.File(path, r) })
}

// deadGraph keeps nothing once its owner has stopped.
type deadGraph struct {
	Journal
	owner *stoppingGraph
}

func (d deadGraph) Commit(ctx context.Context, state State, news News) error {
	if d.owner.reached {
		return errors.New("the process is dead")
	}
	return d.Journal.Commit(ctx, state, news)
}

// An older bundle that the server recommends, and what came since, are what hg says together.
func TestCloneBundleAndMore(t *testing.T) {
	t.Parallel()
	repo := hgfixture.NewStandard(t, "extensions.clonebundles=")
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(repo.Part(t, 130).Bundle(t, "zstd-v2")))))
	t.Cleanup(files.Close)
	manifest := files.URL + "/bundle.hg BUNDLESPEC=zstd-v2\n"
	if err := os.WriteFile(filepath.Join(repo.Dir, ".hg", "clonebundles.manifest"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := convertHg(t, dialHg(t, repo.Serve(t)))
	whole.judgeHg(t, repo)
	whole.sameHg(t, "without the bundle", convertHg(t, dialHg(t, repo.Serve(t, "extensions.clonebundles=!"))))
}
