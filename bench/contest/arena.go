// Package contest measures programs that do the same, one after the other, and tells how they compare.
package contest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// Arena is where contestants run, and what was measured there.
type Arena struct {
	Dir  string         // their working directory
	Only *regexp.Regexp // those that do not match, name and input, are left out
	File string         // where the report is saved after each
	Report

	failed []error
}

// Run measures a contestant, if it is installed.
func (a *Arena) Run(ctx context.Context, c Contestant) {
	if what, missing := c.missing(); missing {
		fmt.Fprintf(os.Stderr, "%s: %s is not installed\n", c.Name, what)
		return
	}
	a.Measure(ctx, c.Key, func() (Row, error) { return c.run(ctx, a.Dir) })
}

// Measure takes in the row that run makes. A failure does not keep others from running.
func (a *Arena) Measure(ctx context.Context, k Key, run func() (Row, error)) {
	if !a.Only.MatchString(k.Name+" "+k.Input) || ctx.Err() != nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s, %s ...\n", k.Name, k.Input)
	row, err := run()
	if err == nil {
		a.Rows = append(a.Rows, row)
		err = a.save()
	}
	if err != nil {
		a.failed = append(a.failed, err)
	}
}

func (a *Arena) save() error {
	data, err := json.MarshalIndent(a.Report, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(a.File, data, 0o644)
}

// Err is what failed, also when nothing was measured at all.
func (a *Arena) Err() error {
	if len(a.Rows) == 0 {
		return errors.Join(append(a.failed, errors.New("nothing was measured"))...)
	}
	return errors.Join(a.failed...)
}

// BuildGantry builds the gantry command of this source into a directory, and returns its path.
func BuildGantry(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "gantry")
	if text, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "gantry/cmd/gantry").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building gantry: %w\n%s", err, text)
	}
	return path, nil
}
