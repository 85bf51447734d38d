package hgfixture

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"gantry/internal/gantrytest/sshfixture"
)

var boundTo = regexp.MustCompile(`bound to [^)]*:([0-9]+)\)`)

// Serve runs hg serve over the repository, with further settings, until the test ends, and returns its address.
func (r *Repo) Serve(t testing.TB, settings ...string) string {
	t.Helper()
	cmd := r.command(t, settings, "hg", "-R", r.Dir, "serve", "-a", "127.0.0.1", "-p", "0", "-v")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := boundTo.FindStringSubmatch(lines.Text()); found != nil {
			return "http://127.0.0.1:" + found[1]
		}
	}
	t.Fatal("hg serve does not start")
	return ""
}

// ServeSSH is an ssh server at which the user alice runs hg in the folder of the repository, whose address there is
// ssh://ADDRESS/repo. Noise is said before hg says anything, as login scripts do.
func (r *Repo) ServeSSH(t testing.TB, noise string, settings ...string) *sshfixture.Server {
	t.Helper()
	greeting := filepath.Join(t.TempDir(), "noise")
	if err := os.WriteFile(greeting, []byte(noise), 0o600); err != nil {
		t.Fatal(err)
	}
	return sshfixture.Serve(t, "alice", func(line string, _ []string) *exec.Cmd {
		if !strings.HasPrefix(line, "hg ") {
			return nil
		}
		return r.command(t, settings, "sh", "-c", "cat "+greeting+"; exec "+line)
	})
}
