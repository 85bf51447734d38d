package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gantry/internal/githelper"
)

// The test binary is gantry itself: scripts run it as a command, and git calls it back as its helper.
func TestMain(m *testing.M) {
	if handled, code := githelper.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){"gantry": main})
}
