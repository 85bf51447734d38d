// Package gantrytest runs the real gantry command for tests: a server in a process of its own, which can be stopped,
// killed and frozen as real ones are, and a small client of its API.
package gantrytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the command of this test process, made when it is first needed.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// Build returns the path of the gantry command. It is built once for all tests of a process, with the race detector
// when they have it.
func Build(t testing.TB) string {
	t.Helper()
	built.once.Do(func() { built.dir, built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "gantry")
}

// Clean removes the command. It belongs at the end of TestMain in every package that uses Build or Start.
func Clean() {
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
}

func build() (dir string, err error) {
	dir, err = os.MkdirTemp("", "gantrytest-")
	if err != nil {
		return "", err
	}
	args := []string{"build", "-o", dir}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "gantry/cmd/gantry")...).CombinedOutput(); err != nil {
		return dir, fmt.Errorf("gantrytest: the command does not build: %w\n%s", err, out)
	}
	return dir, nil
}
