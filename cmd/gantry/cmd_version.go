package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(con console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				return writeJSON(con.out, v)
			}
			fmt.Fprintf(con.out, "gantry %s", v.Version)
			if v.Commit != "" {
				fmt.Fprintf(con.out, " (%s)", v.Commit)
			}
			fmt.Fprintf(con.out, " %s %s\n", v.Go, v.Platform)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildVersion is what the Go tool wrote into the binary.
func buildVersion() version {
	v := version{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
