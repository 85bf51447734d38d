// Package corpus builds the repositories that benchmarks read, and keeps them for the next run.
package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// keep returns the directory of a name below dir, and the facts that are known of what is in it. When it is not there yet,
// build makes it, whole or not at all.
func keep[F any](dir, name string, build func(dir string) (*F, error)) (string, *F, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	final := filepath.Join(dir, name)
	if facts, err := readFacts[F](final); !errors.Is(err, fs.ErrNotExist) {
		return final, facts, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	half, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(half)
	facts, err := build(half)
	if err != nil {
		return "", nil, fmt.Errorf("corpus: %w", err)
	}
	data, err := json.MarshalIndent(facts, "", "\t")
	if err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(filepath.Join(half, factsName), data, 0o644); err != nil {
		return "", nil, err
	}
	return final, facts, os.Rename(half, final)
}

const factsName = "facts.json"

func readFacts[F any](dir string) (*F, error) {
	data, err := os.ReadFile(filepath.Join(dir, factsName))
	if err != nil {
		return nil, err
	}
	facts := new(F)
	return facts, json.Unmarshal(data, facts)
}

// pipe runs a command that reads what write writes.
func pipe[F any](cmd *exec.Cmd, write func(io.Writer) (*F, error)) (*F, error) {
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	facts, writeErr := write(stdin)
	if errors.Is(writeErr, io.ErrClosedPipe) || errors.Is(writeErr, syscall.EPIPE) {
		writeErr = nil // the command has left: its own error tells why
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return facts, writeErr
}
