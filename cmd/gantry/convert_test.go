package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/convert"
	"gantry/internal/gantrytest/svnfixture"
)

// An interrupted conversion leaves with 130 and no result, and the same command completes it.
func TestConvertInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dump, result := filepath.Join(dir, "project.dump"), filepath.Join(dir, "result.git")
	if err := os.WriteFile(dump, svnfixture.Standard().Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	con := console{in: strings.NewReader(""), out: &out, err: &problems}

	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(interrupted, con, []string{"convert", dump, result}); code != exitInterrupted {
		t.Errorf("interrupted: code %d, want %d; %s", code, exitInterrupted, &problems)
	}
	if !strings.Contains(problems.String(), "interrupted") {
		t.Errorf("interrupted: %q does not say so", &problems)
	}
	if _, err := os.Stat(result); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("interrupted: there is a result: %v", err)
	}
	if code := run(t.Context(), con, []string{"convert", dump, result}); code != exitOK {
		t.Errorf("again: code %d; %s", code, &problems)
	}
	if !strings.Contains(out.String(), result+" is complete") {
		t.Errorf("again: %q", &out)
	}
}

// A line says how far, how fast and how long still; what an earlier run did counts as done, but not for the rate.
func TestProgressLines(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	clock := time.Unix(0, 0)
	out := newConvertOutput(console{err: &text}, false)
	out.now = func() time.Time { return clock }
	for _, step := range []struct {
		after time.Duration
		p     convert.Progress
	}{
		{0, convert.Progress{Phase: convert.Reading, Done: 100, Total: 1000}},
		{time.Second, convert.Progress{Phase: convert.Reading, Done: 150, Total: 1000}}, // too soon
		{9 * time.Second, convert.Progress{Phase: convert.Reading, Done: 400, Total: 1000, Bytes: 3 << 20}},
		{20 * time.Second, convert.Progress{Phase: convert.Reading, Done: 1000, Total: 1000, Bytes: 4 << 20}},
		{0, convert.Progress{Phase: convert.Packing, Done: 5, Total: -1}},
	} {
		clock = clock.Add(step.after)
		out.progress(step.p)
	}
	want := `reading 100 of 1000 revisions
reading 400 of 1000 revisions, 3.0 MiB, 30/s, 20s left
reading 1000 of 1000 revisions, 4.0 MiB, 30/s
packing 5 objects
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}
