package gantrytest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
)

// What is told of an import that is read over a slow line is true from the start: the count of revisions is known before
// the first of them is there, the percentage follows what was read and never falls, not when the server is killed
// either, and the authors that are counted can be listed.
func TestProgressIsHonest(t *testing.T) {
	t.Parallel()
	const revisions = 400
	h := svnfixture.NewHistory("0b7c1ce6-0000-4000-8000-00000000000c")
	h.Commit("ada", "Lay out", svnfixture.Mkdir("trunk"))
	for n := int64(2); n <= revisions; n++ {
		h.Commit(fmt.Sprintf("user%d", n/40), "Work", svnfixture.Put(fmt.Sprintf("trunk/f%d", n), fmt.Sprintf("%0800d", n)))
	}
	repo := svnfixture.NewRepo(t)
	repo.Load(t, h.Bytes())
	addresses := map[string]string{
		"svn":  "svn://" + gantrytest.Slow(t, svnfixture.Serve(t, repo.Root), 20_000) + "/repo",
		"http": "http://" + gantrytest.Slow(t, hostOf(t, davfixture.Serve(t, repo.Root, davfixture.Config{}).URL), 40_000) + "/svn/repo",
	}
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_RATE_USER=1000000"}})
			path := "/repos/" + server.CreateRepository("slow") + "/import"
			server.StartImport("admin/slow", address)
			var seen []int
			killed := false
			for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
				var now struct {
					Status       string `json:"status"`
					Message      string `json:"message"`
					Percent      *int   `json:"percent"`
					CommitCount  *int64 `json:"commit_count"`
					AuthorsCount int    `json:"authors_count"`
				}
				server.Call("GET", path, nil, http.StatusOK, &now)
				if now.Status == "complete" {
					break
				}
				if now.Status == "error" || time.Now().After(deadline) {
					t.Fatalf("the import is %s: %s", now.Status, now.Message)
				}
				if now.Percent == nil || now.Status != "importing" {
					continue
				}
				if now.CommitCount == nil || *now.CommitCount != revisions {
					t.Fatalf("at %d percent the count of revisions is %v", *now.Percent, now.CommitCount)
				}
				if n := len(seen); n == 0 || seen[n-1] != *now.Percent {
					seen = append(seen, *now.Percent)
				}
				if last := len(seen) - 1; seen[last] > 100 || last > 0 && seen[last] < seen[last-1] {
					t.Fatalf("the percentages are %v", seen)
				}
				var authors []struct{}
				server.Call("GET", path+"/authors", nil, http.StatusOK, &authors)
				if len(authors) < now.AuthorsCount || now.AuthorsCount > 2+*now.Percent/10+1 {
					t.Errorf("at %d percent %d authors are counted and %d listed", *now.Percent, now.AuthorsCount, len(authors))
				}
				if *now.Percent > 40 && !killed {
					killed = true
					server.Kill()
					server.Restart()
				}
			}
			if len(seen) < 4 || seen[0] > 10 || !killed {
				t.Errorf("the percentages are %v", seen)
			}
			t.Logf("the percentages are %v", seen)
		})
	}
}

// hostOf is the host and port of an address.
func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Host
}
