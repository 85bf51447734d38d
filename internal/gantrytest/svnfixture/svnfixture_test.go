package svnfixture

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Subversion itself accepts what Standard says, and shows what it means.
func TestStandard(t *testing.T) {
	t.Parallel()
	r := NewStandardRepo(t)
	if got, want := r.Head(t), Standard().Head(); got != want {
		t.Fatalf("head is r%d, want r%d", got, want)
	}
	dir := r.Export(t, "trunk", r.Head(t))
	if got, err := os.ReadFile(filepath.Join(dir, "README")); err != nil || string(got) != "Gadget.\n" {
		t.Errorf("README: %q, %v", got, err)
	}
	if got, err := os.Readlink(filepath.Join(dir, "start")); err != nil || got != "src/app.c" {
		t.Errorf("start: %q, %v", got, err)
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	r := NewRepo(t)
	r.Commit(t, "alice", "Begin", "mkdir", "trunk")
	for _, tt := range []struct {
		name   string
		addr   string
		args   []string
		listed bool
	}{
		{"anonymous", Serve(t, r.Root), nil, true},
		{"login needed", Serve(t, r.Root, User{"alice", "secret"}), nil, false},
		{"login given", Serve(t, r.Root, User{"alice", "secret"}), []string{"--username", "alice", "--password", "secret"}, true},
		{"both allowed", ServeAuthz(t, r.Root, "[/]\n* = r\n", User{"alice", "secret"}), nil, true},
	} {
		args := append([]string{"ls", "--non-interactive", "--no-auth-cache", "--config-dir", t.TempDir(), "svn://" + tt.addr + "/repo"}, tt.args...)
		out, err := exec.Command("svn", args...).CombinedOutput()
		if listed := err == nil && string(out) == "trunk/\n"; listed != tt.listed {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
		}
	}
}
