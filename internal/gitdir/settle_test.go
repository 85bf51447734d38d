package gitdir

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// What a push left that was never completed is deleted, but not under the hands of a git that outlived its server.
func TestSettleWaitsForWriters(t *testing.T) {
	t.Parallel()
	git, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "r.git")
	if err := git.Init(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	quarantine := filepath.Join(dir, "objects", "tmp_objdir-incoming-abc")
	if err := os.MkdirAll(filepath.Join(quarantine, "pack"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Its child keeps the lock as well, when both the server and the git that it started are gone.
	writer := exec.Command("sh", "-c", "exec 4<&0; cat <&4 >/dev/null & exit")
	stdin, err := writer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	release, err := holdDir(writer, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	release()

	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := git.Settle(impatient, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Settle beside a writer: %v", err)
	}
	if _, err := os.Stat(quarantine); err != nil {
		t.Fatalf("the writer's objects: %v", err)
	}
	stdin.Close()
	if err := git.Settle(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(quarantine); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what the writer left: %v", err)
	}
	if err := writer.Wait(); err != nil {
		t.Error(err)
	}
}
