package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"gantry"
	"gantry/internal/config"
	"gantry/internal/server"
)

// databaseFlags are the settings of commands that work on the database beside the server.
func databaseFlags(cmd *cobra.Command) {
	config.AddFlags(cmd.Flags(), "data", "database")
}

// withServices runs fn on the database that the settings name.
func withServices(cmd *cobra.Command, con console, fn func(*server.Services) error) error {
	cfg, err := config.Load(cmd.Flags(), config.Environment)
	if err != nil {
		return err
	}
	services, err := server.OpenServices(cmd.Context(), cfg, commandLog(con))
	if err != nil {
		return err
	}
	return errors.Join(fn(services), services.Close())
}

// commandLog is the log of a command that ends: only what somebody has to know.
func commandLog(con console) *slog.Logger {
	return slog.New(slog.NewTextHandler(con.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// mustRequire marks a flag of the command's own as required.
func mustRequire(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagRequired(flag); err != nil {
		panic(err) // the flag was not defined: seen by every test of the command
	}
}

type accountOutput struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Login     string `json:"login"`
	Name      string `json:"name"`
	Email     string `json:"email,omitempty"`
	SiteAdmin bool   `json:"site_admin"`
}

func printAccount(con console, a *gantry.Account, asJSON bool) error {
	if asJSON {
		return writeJSON(con.out, accountOutput{a.ID, string(a.Type), a.Login, a.Name, a.Email, a.SiteAdmin})
	}
	fmt.Fprintf(con.out, "created %s %s\n", a.Type, a.Login)
	return nil
}
