package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gantry/internal/accounts"
	"gantry/internal/server"
)

func newUserCreate(con console) *cobra.Command {
	var (
		in            accounts.NewUser
		passwordStdin bool
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "create NAME --email ADDRESS",
		Short: "Create a user, also while the server runs",
		Args:  exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in.Login = args[0]
			password := ""
			if passwordStdin {
				if password, err = readPassword(con.in); err != nil {
					return err
				}
			}
			return withServices(cmd, con, func(services *server.Services) error {
				user, err := services.Accounts.CreateUser(cmd.Context(), in)
				if err != nil {
					return err
				}
				if passwordStdin {
					if err := services.Auth.SetPassword(cmd.Context(), user.ID, password); err != nil {
						return fmt.Errorf("user %s was created without a password: %w", user.Login, err)
					}
				}
				return printAccount(con, user, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&in.Email, "email", "", "e-mail address")
	cmd.Flags().StringVar(&in.Name, "name", "", "name that people read")
	cmd.Flags().BoolVar(&in.SiteAdmin, "site-admin", false, "make the user an administrator of the site")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read a password from standard input")
	mustRequire(cmd, "email")
	jsonFlag(cmd, &asJSON)
	databaseFlags(cmd)
	return cmd
}
