package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gantry"
	"gantry/internal/server"
)

func newTokenCreate(con console) *cobra.Command {
	var (
		scopes, note string
		expires      time.Duration
		asJSON       bool
	)
	cmd := &cobra.Command{
		Use:   "create USER --scopes A,B --note TEXT",
		Short: "Create a personal access token and print it, also while the server runs",
		Long:  "Create a personal access token. The token alone is printed on standard output, and cannot be shown again.",
		Args:  exactArgs("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := parseScopes(scopes)
			if err != nil {
				return err
			}
			return withServices(cmd, con, func(services *server.Services) error {
				user, err := services.Accounts.ByLogin(cmd.Context(), args[0])
				if gantry.KindOf(err) == gantry.NotFound || err == nil && user.Type != gantry.TypeUser {
					return gantry.Errorf(gantry.NotFound, "token create", "there is no user %s", args[0])
				}
				if err != nil {
					return err
				}
				var until time.Time
				if expires > 0 {
					until = time.Now().Add(expires)
				}
				text, token, err := services.Auth.CreateToken(cmd.Context(), user.ID, set, note, until)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(con.out, newTokenOutput(text, token, user))
				}
				fmt.Fprintln(con.out, text)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&scopes, "scopes", "", "scopes that the token has, separated by commas")
	cmd.Flags().StringVar(&note, "note", "", "what the token is for")
	cmd.Flags().DurationVar(&expires, "expires", 0, "time after which it expires; never when 0")
	jsonFlag(cmd, &asJSON)
	databaseFlags(cmd)
	return cmd
}

// parseScopes reads scopes separated by commas or spaces; an unknown one is a slip of the pen, not a wish.
func parseScopes(text string) (gantry.ScopeSet, error) {
	var scopes []gantry.Scope
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		scope, ok := gantry.ParseScope(word)
		if !ok {
			return nil, usagef("--scopes: %q is not a scope", word)
		}
		scopes = append(scopes, scope)
	}
	return gantry.NewScopeSet(scopes...), nil
}

type tokenOutput struct {
	ID     int64          `json:"id"`
	User   string         `json:"user"`
	Token  string         `json:"token"`
	Scopes []gantry.Scope `json:"scopes"`
	Note   string         `json:"note"`
}

func newTokenOutput(text string, token *gantry.Token, user *gantry.Account) tokenOutput {
	return tokenOutput{ID: token.ID, User: user.Login, Token: text, Scopes: append([]gantry.Scope{}, token.Scopes...), Note: token.Note}
}
