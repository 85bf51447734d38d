package gantrytest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/store/storetest"
)

// uploadState is what the server says of an upload.
type uploadState struct {
	Received int64 `json:"received"`
	Total    int64 `json:"total"`
}

// errCut is how the client of a test loses its connection.
var errCut = errors.New("the connection is cut")

// sendUntil uploads a file from an offset on, and loses the connection at another one. It returns the status of the answer,
// 0 for none.
func sendUntil(t *testing.T, s *gantrytest.Server, repo string, file []byte, offset, cut int64) int {
	t.Helper()
	body := io.Reader(bytes.NewReader(file[offset:cut]))
	if cut < int64(len(file)) {
		body = io.MultiReader(body, failing{})
	}
	req, err := http.NewRequest("PUT", s.URL+"/repos/"+repo+"/import/upload", body)
	must(t, err)
	req.Header.Set("Authorization", "token "+s.Token)
	req.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, len(file)-1, len(file)))
	req.ContentLength = int64(len(file)) - offset
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	must(t, resp.Body.Close())
	return resp.StatusCode
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errCut }

// An upload whose connection is cut, or whose server is killed, again and again at any byte, goes on from where it stood.
// What git clones in the end is what libsvn has.
func TestUploadSurvives(t *testing.T) {
	t.Parallel()
	s := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_RATE_USER=1000000"}})
	origin := svnfixture.NewStandardRepo(t)
	dump := origin.Dump(t)
	seed := rand.Uint64()
	t.Logf("the cuts are those of seed %d", seed)
	cuts := rand.New(rand.NewPCG(seed, 0))
	repo := s.CreateRepository("uploaded")

	var at uploadState
	var stood []int64
	var sent int64
	status := 0
	for try := 0; status != http.StatusCreated; try++ {
		if try > 200 {
			t.Fatalf("the upload does not end; it stood at %v of %d", stood, len(dump))
		}
		left := int64(len(dump)) - at.Received
		cut := at.Received + min(left, 1+cuts.Int64N(int64(len(dump))/5))
		status = sendUntil(t, s, repo, dump, at.Received, cut)
		if status == http.StatusCreated {
			break
		}
		if cuts.IntN(4) == 0 {
			s.Kill()
			s.Restart()
		}
		before := at.Received
		if err := s.TryCall("GET", "/repos/"+repo+"/import/upload", nil, http.StatusOK, &at); err != nil {
			at = uploadState{} // nothing has arrived yet; if something had, it shows below
		}
		// What was sent on a connection that is lost may still arrive, beyond what the next one sends.
		if sent = max(sent, cut); at.Received < before || at.Received > sent {
			t.Fatalf("the upload stands at %d, after %d, of %d bytes that were sent", at.Received, before, sent)
		}
		stood = append(stood, at.Received)
	}
	t.Logf("the upload stood at %v of %d", stood, len(dump))
	s.WaitForImport(repo, timeout)

	var authors []struct {
		ID         int64  `json:"id"`
		RemoteName string `json:"remote_name"`
	}
	s.Call("GET", "/repos/"+repo+"/import/authors", nil, http.StatusOK, &authors)
	for _, a := range authors {
		if a.RemoteName == "alice" {
			s.Call("PATCH", fmt.Sprintf("/repos/%s/import/authors/%d", repo, a.ID), map[string]string{"name": "Alice Example", "email": "alice@example.org"}, http.StatusOK, nil)
		}
	}
	s.WaitForImport(repo, timeout)
	checkRepository(t, s, repo)
	judgeConversion(t, origin, cloneOf(t, s, repo))

	// A complete upload that was not finished, an import that was cancelled: nothing stays.
	cancelled := s.CreateRepository("cancelled")
	sendUntil(t, s, cancelled, dump, 0, 1000)
	for _, name := range []string{cancelled, repo} {
		for deadline := time.Now().Add(timeout); s.TryCall("DELETE", "/repos/"+name+"/import", nil, http.StatusNoContent, nil) != nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the import of %s cannot be cancelled", name)
			}
		}
	}
	checkNothingLeft(t, s.DataDir)
}

// A server that is asked to leave gives its import back with all that was read, and goes on with it when it starts again.
func TestStoppedImportGoesOn(t *testing.T) { // alone: the tests of shared work depend on how fast an import is read
	addr := serveProject(t, 600)
	database := storetest.Postgres(t)
	s := gantrytest.Start(t, gantrytest.Options{Database: database})
	want := importWhole(s, "alone", "svn://"+addr+"/repo")

	repo := s.CreateRepository("stopped")
	s.StartImport(repo, "svn://"+gantrytest.Slow(t, addr, 100_000)+"/repo")
	waitForOwner(t, database) // it has reached a checkpoint
	s.Stop()
	const next = "SELECT (raw_state::json->>'next') FROM imports WHERE status = 'importing' AND lease_owner = ''"
	read := query(t, database, next)
	if len(read) != 1 || slices.Contains([]string{"", "0", "1"}, read[0]) {
		t.Fatalf("the server did not give the import back with what was read: %q", read)
	}
	s.Restart()
	s.WaitForImport(repo, timeout)
	if got := s.Refs(repo); got != want {
		t.Errorf("the refs are\n%s\nthose of an import that was left alone\n%s", got, want)
	}
	checkRepository(t, s, repo)
}
