package main

import (
	"github.com/spf13/cobra"

	"gantry/internal/accounts"
	"gantry/internal/server"
)

func newOrgCreate(con console) *cobra.Command {
	var (
		in     accounts.NewOrganization
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "create NAME --owner USER",
		Short: "Create an organization, also while the server runs",
		Args:  exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Login = args[0]
			return withServices(cmd, con, func(services *server.Services) error {
				org, err := services.Accounts.CreateOrganization(cmd.Context(), in)
				if err != nil {
					return err
				}
				return printAccount(con, org, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&in.Owner, "owner", "", "login of the user who owns it")
	cmd.Flags().StringVar(&in.Name, "name", "", "name that people read")
	mustRequire(cmd, "owner")
	jsonFlag(cmd, &asJSON)
	databaseFlags(cmd)
	return cmd
}
