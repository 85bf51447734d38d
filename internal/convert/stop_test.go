package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gantry"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// An import that is stopped anywhere, any number of times, by its context, by the origin or by the death of the process,
// gives the same ids and the same report.
func TestStopsDoNotShow(t *testing.T) {
	t.Parallel()
	dump := traps().Bytes()
	whole := convertDump(t, dump)
	src := openDumpBytes(t, dump)
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
		owners := rapid.IntRange(1, 5).Draw(rt, "owners")
		for owner := range owners {
			c := open(owner)
			ctx, cancel := context.WithCancel(t.Context())
			stop := &stopping{PathSource: src, after: rapid.IntRange(1, 120).Draw(rt, "after")}
			switch rapid.SampledFrom([]string{"fault", "context", "death"}).Draw(rt, "how") {
			case "context":
				stop.cancel = cancel
			case "death":
				c.opt.Journal = dead{c.opt.Journal, stop}
			}
			err := c.Read(ctx, stop)
			if stop.reached && !errors.Is(err, origin.ErrTemporary) && !errors.Is(err, context.Canceled) {
				rt.Fatalf("owner %d: %v", owner, err)
			}
			cancel()
			c.Close()
		}
		c := open(owners)
		defer c.Close()
		if err := c.Read(t.Context(), src); err != nil {
			rt.Fatal(err)
		}
		again := mapped(t, c, MapOptions{})
		if !slices.Equal(again.result.Refs, whole.result.Refs) || !slices.Equal(again.commits, whole.commits) {
			rt.Error("other commits than without stops")
		}
		if got, want := fmt.Sprint(again.result.Report), fmt.Sprint(whole.result.Report); got != want {
			rt.Errorf("report:\n%s\nwant:\n%s", got, want)
		}
		if !slices.Equal(news.Authors, whole.Authors()) {
			rt.Errorf("the journal was told of %v", news.Authors)
		}
	})
}

// stopping is an origin that fails, or takes the context away, after some calls of its sink.
type stopping struct {
	origin.PathSource
	after   int
	cancel  func() // instead of failing
	reached bool
	sink    origin.Sink
}

func (s *stopping) Replay(ctx context.Context, first, last int64, sink origin.Sink) error {
	s.sink = sink
	return s.PathSource.Replay(ctx, first, last, s)
}

func (s *stopping) call(next func() error) error {
	if s.after--; s.after < 0 {
		s.reached = true
		if s.cancel == nil {
			return fmt.Errorf("the line is dead: %w", origin.ErrTemporary)
		}
		s.cancel()
	}
	return next()
}

func (s *stopping) BeginRevision(r *origin.Revision) error {
	return s.call(func() error { return s.sink.BeginRevision(r) })
}

func (s *stopping) Change(c *origin.Change) error {
	return s.call(func() error { return s.sink.Change(c) })
}

func (s *stopping) EndRevision() error { return s.call(s.sink.EndRevision) }

// keeping collects the news that were committed.
type keeping struct {
	Journal
	news *News
}

func (k keeping) Commit(ctx context.Context, state State, news News) error {
	err := k.Journal.Commit(ctx, state, news)
	if err == nil {
		k.news.Authors = append(k.news.Authors, news.Authors...)
		k.news.LargeFiles = append(k.news.LargeFiles, news.LargeFiles...)
	}
	return err
}

// dead keeps nothing once its owner has stopped.
type dead struct {
	Journal
	owner *stopping
}

func (d dead) Commit(ctx context.Context, state State, news News) error {
	if d.owner.reached {
		return errors.New("the process is dead")
	}
	return d.Journal.Commit(ctx, state, news)
}

// After a fault of the connection the same conversion goes on.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	dump := svnfixture.Standard().Bytes()
	want := convertDump(t, dump)
	staging := t.TempDir()
	c, err := Open(t.Context(), Options{Dir: staging, Writer: "a", Journal: OpenFileJournal(filepath.Join(staging, "journal"))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for after := 10; ; after += 10 {
		err := c.Read(t.Context(), &stopping{PathSource: openDumpBytes(t, dump), after: after})
		if err == nil {
			break
		}
		if !errors.Is(err, origin.ErrTemporary) {
			t.Fatal(err)
		}
		if c.State().Complete {
			t.Error("complete after a fault")
		}
	}
	if got := mapped(t, c, MapOptions{}); !slices.Equal(got.result.Refs, want.result.Refs) {
		t.Error("other refs than without faults")
	}
}

// What is new at the origin is added; the result is as if it had all been there from the start.
func TestReadMore(t *testing.T) {
	t.Parallel()
	h := svnfixture.Standard()
	before := h.Bytes()
	h.Commit("zoe", "News", svnfixture.Edit("trunk/README", "new\n"), svnfixture.CopyDir("branches/feature", 20, "branches/more"))
	want := convertDump(t, h.Bytes())
	c := convertDump(t, before)
	if err := c.Read(t.Context(), openDumpBytes(t, h.Bytes())); err != nil {
		t.Fatal(err)
	}
	if got := mapped(t, c.Conversion, MapOptions{}); !slices.Equal(got.result.Refs, want.result.Refs) {
		t.Error("other refs than at once")
	}
	if err := c.Read(t.Context(), openDumpBytes(t, h.Bytes())); err != nil {
		t.Errorf("nothing new: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dump := string(svnfixture.Standard().Bytes())
	read := func(t *testing.T, dump string, journal func(Journal) Journal) (*Conversion, error) {
		staging := t.TempDir()
		c, err := Open(t.Context(), Options{Dir: staging, Writer: "a", Journal: journal(OpenFileJournal(filepath.Join(staging, "journal")))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c, c.Read(t.Context(), openDumpBytes(t, []byte(dump)))
	}
	same := func(j Journal) Journal { return j }

	t.Run("a text that does not match", func(t *testing.T) {
		t.Parallel()
		repo := svnfixture.NewRepo(t)
		repo.Load(t, []byte(dump))
		broken := strings.Replace(string(repo.Dump(t)), "color=blue", "color=blub", 1)
		c, err := read(t, broken, same)
		if !errors.Is(err, origin.ErrCorrupt) || !strings.Contains(err.Error(), `r2: "trunk/config"`) {
			t.Errorf("error is %v", err)
		}
		if c.State().Next != 2 {
			t.Errorf("next is r%d: what came before the fault is to be kept, no more", c.State().Next)
		}
	})
	t.Run("another repository", func(t *testing.T) {
		t.Parallel()
		c, err := read(t, dump, same)
		if err != nil {
			t.Fatal(err)
		}
		other := strings.Replace(dump, svnfixture.StandardUUID, "00000000-2bd2-4c1f-9d3e-0a7b86e4d211", 1)
		if err := c.Read(t.Context(), openDumpBytes(t, []byte(other))); gantry.KindOf(err) != gantry.Conflict {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("an owner that has lost its right", func(t *testing.T) {
		t.Parallel()
		if _, err := read(t, dump, func(j Journal) Journal { return taken{j} }); gantry.KindOf(err) != gantry.Conflict {
			t.Errorf("error is %v", err)
		}
	})
}

// taken is the journal of somebody else.
type taken struct{ Journal }

func (taken) Commit(context.Context, State, News) error {
	return gantry.Errorf(gantry.Conflict, "test", "somebody else owns it")
}
