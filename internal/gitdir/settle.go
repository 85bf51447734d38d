package gitdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// holdDir gives a command that writes to a repository a shared lock (flock(2)) on the directory, which lasts until the
// command and its children have ended, even if we are killed before. Call release when the command was started or not.
func holdDir(cmd *exec.Cmd, dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("gitdir: %w", err)
	}
	if err := flock(f, unix.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("gitdir: lock %s: %w", dir, err), f.Close())
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	return func() { f.Close() }, nil
}

// Settle waits until every git that writes to the repository at dir has ended, also one that has outlived the process which
// started it, and deletes the objects of pushes that were never completed. While it runs no Push and no Serve may begin.
func (g *Git) Settle(ctx context.Context, dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("gitdir: %w", err)
	}
	defer f.Close()
	for {
		err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return removeQuarantines(filepath.Join(dir, "objects"))
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("gitdir: lock %s: %w", dir, err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("gitdir: wait for a git that still writes to %s: %w", dir, context.Cause(ctx))
		}
	}
}

// removeQuarantines deletes the directories in which receive-pack keeps objects until they are checked. Git itself would
// keep what it left there for two weeks.
func removeQuarantines(objects string) error {
	entries, err := os.ReadDir(objects)
	if err != nil {
		return fmt.Errorf("gitdir: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "tmp_objdir-") {
			if err := os.RemoveAll(filepath.Join(objects, e.Name())); err != nil {
				return fmt.Errorf("gitdir: %w", err)
			}
		}
	}
	return nil
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
