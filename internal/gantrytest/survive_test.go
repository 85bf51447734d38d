package gantrytest_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"gantry/bench/synth"
	"gantry/bench/synth/svndump"
	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, gantrytest.Clean) }

// timeout is for an import that takes seconds on a quiet machine; the race detector and its neighbours make it slow.
const timeout = 3 * time.Minute

// serveProject serves an invented project by svnserve and returns the server's host and port; the repository is /repo.
func serveProject(t *testing.T, revisions int) (addr string) {
	t.Helper()
	var dump bytes.Buffer
	if _, err := svndump.Write(&dump, "0b7c1ce6-0000-4000-8000-000000000002", synth.Revisions(synth.Params{Seed: 3, Revisions: revisions})); err != nil {
		t.Fatal(err)
	}
	repo := svnfixture.NewRepo(t)
	repo.Load(t, dump.Bytes())
	return svnfixture.Serve(t, repo.Root)
}

// kills is how often TestKilledImportsGoOn kills a server: GANTRY_TEST_KILLS, or a number for every day.
func kills(t *testing.T) int {
	text, set := os.LookupEnv("GANTRY_TEST_KILLS")
	if !set {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("GANTRY_TEST_KILLS: %v", err)
	}
	return n
}

// A server that is killed at any moment of an import goes on with it when it is started again, and arrives at the same
// commits as one that was left alone. Nothing is left behind.
func TestKilledImportsGoOn(t *testing.T) {
	t.Parallel()
	origin := "svn://" + serveProject(t, 600) + "/repo"
	for _, engine := range []struct {
		name     string
		database func(testing.TB) string
	}{
		{"SQLite", func(testing.TB) string { return "" }},
		{"PostgreSQL", storetest.Postgres},
	} {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			s := gantrytest.Start(t, gantrytest.Options{Database: engine.database(t)})
			begin := time.Now()
			want := importWhole(s, "alone", origin)
			usual := time.Since(begin)

			seed := rand.Uint64()
			t.Logf("an import takes %s; the moments are those of seed %d", usual, seed)
			moments := rand.New(rand.NewPCG(seed, 0))
			killed := 0
			for n := 1; killed < kills(t); n++ {
				repo := s.CreateRepository(fmt.Sprintf("killed-%d", n))
				s.StartImport(repo, origin)
				for killed < kills(t) {
					time.Sleep(time.Duration(moments.Int64N(int64(usual))))
					if s.Import(repo).Status == "complete" {
						break
					}
					s.Kill()
					killed++
					s.Restart()
				}
				s.WaitForImport(repo, timeout)
				if got := s.Refs(repo); got != want {
					t.Fatalf("after %d kills the refs of %s are\n%s\nthose of an import that was left alone\n%s", killed, repo, got, want)
				}
				checkRepository(t, s, repo)
				s.Call("DELETE", "/repos/"+repo+"/import", nil, http.StatusNoContent, nil)
			}
			s.Call("DELETE", "/repos/admin/alone/import", nil, http.StatusNoContent, nil)
			checkNothingLeft(t, s.DataDir)
		})
	}
}

// importWhole imports an origin into a new repository and returns the refs.
func importWhole(s *gantrytest.Server, name, origin string) (refs string) {
	repo := s.CreateRepository(name)
	s.StartImport(repo, origin)
	s.WaitForImport(repo, timeout)
	return s.Refs(repo)
}

// checkRepository clones a repository and lets git look through it.
func checkRepository(t *testing.T, s *gantrytest.Server, repo string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone.git")
	for _, args := range [][]string{
		{"clone", "--quiet", "--mirror", s.GitURL(repo), dir},
		{"-C", dir, "fsck", "--strict", "--no-dangling"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil || args[0] == "-C" && len(out) > 0 {
			t.Errorf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// checkNothingLeft looks, after all imports were deleted, for staging directories and for what git leaves in a
// repository when it is interrupted. Staging is deleted by a job, so it has some seconds.
func checkNothingLeft(t *testing.T, dataDir string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		left = nil
		staging, err := filepath.Glob(filepath.Join(dataDir, "imports", "[0-9]*"))
		if err != nil {
			t.Fatal(err)
		}
		if left = append(left, staging...); len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	err := filepath.WalkDir(dataDir, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if strings.Contains(path, ".git/") && (strings.Contains(name, "tmp") || strings.HasPrefix(name, "incoming") || strings.HasSuffix(name, ".lock")) {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// Two servers share one database and one data directory. Both take imports; when one of them sleeps for longer than its
// lease, the other takes its import over, and the sleeper changes nothing when it wakes.
func TestTwoServersShareTheWork(t *testing.T) {
	t.Parallel()
	addr := serveProject(t, 600)
	origin := "svn://" + addr + "/repo"
	slowOrigin := "svn://" + gantrytest.Slow(t, addr, 2_000_000) + "/repo"
	database := storetest.Postgres(t)
	env := []string{"GANTRY_IMPORT_LEASE=3s", "GANTRY_IMPORT_WORKERS=1"}

	one := gantrytest.Start(t, gantrytest.Options{Database: database, Env: env})
	want := importWhole(one, "alone", origin)

	// The import is begun while there is one server only, so that we know whose it is.
	overtaken := one.CreateRepository("overtaken")
	one.StartImport(overtaken, slowOrigin)
	owner := waitForOwner(t, database)
	one.Freeze()

	two := gantrytest.Start(t, gantrytest.Options{DataDir: one.DataDir, Database: database, Token: one.Token, Env: env})
	two.WaitForImport(overtaken, timeout)
	if got := two.Refs(overtaken); got != want {
		t.Errorf("the refs of the import that was taken over are\n%s\nthose of an import that was left alone\n%s", got, want)
	}

	before := importRow(t, database, overtaken)
	one.Thaw()
	waitForLog(t, one, "import given up")
	if after := importRow(t, database, overtaken); after != before {
		t.Errorf("the sleeper changed the import from\n%s\nto\n%s", before, after)
	}
	if got := two.Refs(overtaken); got != want {
		t.Errorf("the sleeper changed the refs to\n%s", got)
	}
	checkRepository(t, two, overtaken)

	owners := map[string]bool{}
	var repos []string
	for n := range 4 { // enough for a server that has just woken to get its share
		repo := two.CreateRepository(fmt.Sprintf("shared-%d", n))
		two.StartImport(repo, slowOrigin)
		repos = append(repos, repo)
	}
	for deadline := time.Now().Add(timeout); len(owners) < 2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, o := range leaseOwners(t, database) {
			owners[o] = true
		}
		if len(owners) > 0 && !slices.ContainsFunc(repos, func(repo string) bool { return two.Import(repo).Status != "complete" }) {
			break
		}
	}
	if len(owners) != 2 || !owners[owner] {
		t.Errorf("the imports were worked on by %v, not by both servers", owners)
	}
	for _, repo := range repos {
		two.WaitForImport(repo, timeout)
		if got := one.Refs(repo); got != want {
			t.Errorf("the refs of %s are\n%s", repo, got)
		}
	}
}

// waitForOwner waits until an import is being read and returns the name of the server that does.
func waitForOwner(t *testing.T, database string) string {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if owners := leaseOwners(t, database); len(owners) > 0 {
			return owners[0]
		}
	}
	t.Fatal("no server has begun with the import")
	return ""
}

// leaseOwners are the servers that hold an import whose raw step has reached a checkpoint.
func leaseOwners(t *testing.T, database string) []string {
	t.Helper()
	return query(t, database, "SELECT lease_owner FROM imports WHERE lease_owner <> '' AND status = 'importing' AND raw_state <> ''")
}

// importRow is all that the database knows of the import of a repository.
func importRow(t *testing.T, database, repo string) string {
	t.Helper()
	rows := query(t, database, "SELECT imports::text FROM imports JOIN repositories r ON r.id = repository_id WHERE 'admin/' || r.name = '"+repo+"'")
	if len(rows) != 1 {
		t.Fatalf("%s has %d imports", repo, len(rows))
	}
	return rows[0]
}

func query(t *testing.T, database, statement string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func waitForLog(t *testing.T, s *gantrytest.Server, text string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !strings.Contains(s.Log(), text); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server does not log %q", text)
		}
	}
}
