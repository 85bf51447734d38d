package gantrytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Import is what the tests look at of an import.
type Import struct {
	Status       string `json:"status"`
	FailedStep   string `json:"failed_step"`
	ErrorMessage string `json:"error_message"`
}

// Call makes an API request as the administrator, decodes the answer into result unless that is nil, and fails the test
// on any other status than want.
func (s *Server) Call(method, path string, body any, want int, result any) {
	s.t.Helper()
	if err := s.TryCall(method, path, body, want, result); err != nil {
		s.t.Fatal(err)
	}
}

// TryCall is Call that returns an error.
func (s *Server) TryCall(method, path string, body any, want int, result any) error {
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(method, s.URL+path, &payload)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "token "+s.Token)
	req.Header.Set("Accept", "application/vnd.vendor.barred-rock-preview+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: %s, want %d\n%s", method, path, resp.Status, want, answer)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

// CreateRepository creates a private repository of the administrator and returns its full name.
func (s *Server) CreateRepository(name string) string {
	s.t.Helper()
	var repo struct {
		FullName string `json:"full_name"`
	}
	s.Call("POST", "/user/repos", map[string]any{"name": name, "private": true}, http.StatusCreated, &repo)
	return repo.FullName
}

// StartImport begins an import of a Subversion repository.
func (s *Server) StartImport(repo, address string) {
	s.t.Helper()
	s.Call("PUT", "/repos/"+repo+"/import", map[string]any{"vcs": "subversion", "vcs_url": address}, http.StatusCreated, nil)
}

// Import tells how an import stands.
func (s *Server) Import(repo string) Import {
	s.t.Helper()
	var i Import
	s.Call("GET", "/repos/"+repo+"/import", nil, http.StatusOK, &i)
	return i
}

// WaitForImport waits until an import is complete. It fails the test when it ends in an error, or not at all.
func (s *Server) WaitForImport(repo string, timeout time.Duration) {
	s.t.Helper()
	deadline := time.Now().Add(timeout)
	for {
		switch i := s.Import(repo); {
		case i.Status == "complete":
			return
		case i.Status == "error":
			s.t.Fatalf("import of %s: error while %s: %s", repo, i.FailedStep, i.ErrorMessage)
		case time.Now().After(deadline):
			s.t.Fatalf("import of %s: still %s after %s", repo, i.Status, timeout)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Refs lists all refs of a hosted repository and what they point at, as git sees them over HTTP.
func (s *Server) Refs(repo string) string {
	s.t.Helper()
	cmd := exec.Command("git", "ls-remote", s.GitURL(repo))
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git ls-remote of %s: %v\n%s", repo, err, out)
	}
	return string(out)
}

// Ref is what a ref of a hosted repository points at, "" when there is none.
func (s *Server) Ref(repo, name string) string {
	s.t.Helper()
	for line := range strings.Lines(s.Refs(repo)) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), "\t"+name); ok {
			return id
		}
	}
	return ""
}

// GitURL is the address from which git clones a hosted repository, with the administrator's token in it.
func (s *Server) GitURL(repo string) string {
	return strings.Replace(s.URL, "://", "://admin:"+s.Token+"@", 1) + "/" + repo + ".git"
}
