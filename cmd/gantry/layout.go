package main

import (
	"io"
	"os"

	"gantry"
	"gantry/internal/history"
)

// maxLayout bounds a file of rules.
const maxLayout = 1 << 20

// readLayout reads the file of --layout; no name: no rules.
func readLayout(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxLayout+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxLayout {
		return "", gantry.Errorf(gantry.Invalid, "layout", "%s is larger than %d bytes: it cannot be a file of rules", name, maxLayout)
	}
	if _, err := history.ParseRules(string(text)); err != nil {
		return "", gantry.Errorf(gantry.Invalid, "layout", "%s: %s", name, describe(err))
	}
	return string(text), nil
}
