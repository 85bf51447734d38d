// Package gantrytest runs the real gantry command for tests: a server in a process of its own, which can be stopped,
// killed and frozen as real ones are, and a small client of its API.
package gantrytest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Main runs the tests of a package that uses Build or Start, and removes the command afterwards. Call it from TestMain
// and pass what it returns to os.Exit.
func Main(m *testing.M) int {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	return code
}

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
		return dir, errors.Join(fmt.Errorf("gantrytest: the command does not build: %w\n%s", err, out))
	}
	return dir, nil
}
