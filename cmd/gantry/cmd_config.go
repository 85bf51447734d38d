package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gantry/internal/config"
)

func newConfigPrint(con console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the settings in force, where each comes from, and no secrets",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(cmd.Flags(), config.Environment)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(con.out, cfg.Settings())
			}
			table := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
			for _, s := range cfg.Settings() {
				fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Value, s.Source)
			}
			return table.Flush()
		},
	}
	config.AddFlags(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	return cmd
}
