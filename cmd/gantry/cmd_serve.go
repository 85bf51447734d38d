package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"gantry/internal/config"
	"gantry/internal/server"
)

func newServe(con console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Without any setting it keeps its data in ./gantry-data and listens on this machine only.\n" +
			"At the first start it prints the token of an administrator, once.",
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			cfg, err := config.Load(cmd.Flags(), config.Environment)
			if err != nil {
				return err
			}
			srv, err := server.New(ctx, cfg, newLog(con, cfg))
			if err != nil {
				return err
			}
			welcome(con, srv)
			return errors.Join(srv.Run(ctx), srv.Close())
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

func newLog(con console, cfg *config.Config) *slog.Logger {
	opt := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(con.err, opt))
	}
	return slog.New(slog.NewTextHandler(con.err, opt))
}

// welcome says on standard output where the server is and, the first time, how to use it. The token is nowhere else.
func welcome(con console, srv *server.Server) {
	admin := srv.Administrator()
	if admin != nil {
		fmt.Fprintf(con.out, "user: %s\ntoken: %s\n", admin.Login, admin.Token)
	}
	fmt.Fprintf(con.out, "address: %s\n", srv.URL())
	if admin != nil {
		fmt.Fprintf(con.out, "\nThe token administers the site and is shown only now. Try it:\n\n  curl -H \"Authorization: token %s\" %s/user\n", admin.Token, srv.URL())
	}
}
