package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/origin"
)

// Scripts rely on the codes: each kind of failure has its own, however deep it is wrapped.
func TestExitCode(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want int
	}{
		"anything":              {t.Context(), errors.New("x"), exitFailure},
		"usage":                 {t.Context(), usagef("x"), exitUsage},
		"choose":                {t.Context(), gantry.Errorf(gantry.Invalid, "x", "%w", errChoose), exitChoose},
		"credentials asked for": {t.Context(), fmt.Errorf("svn: %w", origin.ErrAuthRequired), exitAuth},
		"credentials refused":   {t.Context(), fmt.Errorf("svn: %w", origin.ErrAuthFailed), exitAuth},
		"nothing there":         {t.Context(), fmt.Errorf("svn: %w", origin.ErrNotFound), exitNotFound},
		"checksum":              {t.Context(), fmt.Errorf("svn: %w", origin.ErrCorrupt), exitVerification},
		"interrupted":           {interrupted, fmt.Errorf("svn: %w", context.Canceled), exitInterrupted},
		"failed while stopping": {interrupted, errors.New("disk full"), exitFailure},
	} {
		if got := exitCode(test.ctx, test.err); got != test.want {
			t.Errorf("%s: code %d, want %d", name, got, test.want)
		}
	}
}

// The operator's manual lists every code as it is.
func TestExitCodesDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range exitTable {
		want := fmt.Sprintf("| %d | %s |", row.code, row.meaning)
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/operating.md has no row\n%s", want)
		}
	}
}
