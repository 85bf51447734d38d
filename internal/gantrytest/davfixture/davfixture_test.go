package davfixture

import (
	"os/exec"
	"strings"
	"testing"

	"gantry/internal/gantrytest/svnfixture"
)

// Subversion's own client reads every kind of server, so that what Gantry is tested with is what its users have.
func TestServe(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewStandardRepo(t)
	users := []svnfixture.User{{Name: "alice", Password: "open sesame"}}
	for name, c := range map[string]Config{
		"open":      {},
		"basic":     {Users: users},
		"digest":    {Users: users, Digest: true},
		"rules":     {Users: users, Authz: "[/]\nalice = r\n"},
		"TLS":       {TLS: true},
		"version 1": {Version1: true, Deflate: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := Serve(t, repo.Root, c).URL + "/repo/trunk"
			args := []string{"--non-interactive", "--no-auth-cache", "--config-dir", t.TempDir(), "--trust-server-cert-failures=unknown-ca,cn-mismatch"}
			if len(c.Users) > 0 {
				if out, err := exec.Command("svn", append(args, "info", url)...).CombinedOutput(); err == nil {
					t.Errorf("nobody reads: %s", out)
				}
				args = append(args, "--username", "alice", "--password", "open sesame")
			}
			out, err := exec.Command("svn", append(args, "info", url)...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), svnfixture.StandardUUID) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
