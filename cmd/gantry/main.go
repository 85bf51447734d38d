// Command gantry imports repositories from any version control system into Git: as a server with an HTTP API
// ("gantry serve"), or by itself ("gantry convert"). Each command is in a file of its own, cmd_<verb>.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gantry/internal/githelper"
)

func main() {
	if handled, code := githelper.Main(os.Args[1:]); handled {
		os.Exit(code) // git calls back while it fetches
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, console{&input{ctx: ctx, file: os.Stdin}, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// gcPercent makes the garbage collector run twice as often as by itself. Most of the heap of an import are texts, in which it
// has nothing to look for: that takes a quarter of the memory away and costs less than can be measured.
const gcPercent = 50

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, con console, args []string) int {
	root := newRoot(con)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitCode(ctx, err)
	if code != exitInterrupted {
		fmt.Fprintf(con.err, "gantry: %s\n", describe(err))
	}
	if code == exitUsage {
		fmt.Fprintln(con.err, "Try \"gantry help\".")
	}
	return code
}

func newRoot(con console) *cobra.Command {
	root := &cobra.Command{
		Use:           "gantry",
		Short:         "Import repositories from any version control system into Git",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(con.in)
	root.SetOut(con.out)
	root.SetErr(con.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newServe(con), newConvert(con),
		group("user", "Manage users", newUserCreate(con)),
		group("org", "Manage organizations", newOrgCreate(con)),
		group("token", "Manage personal access tokens", newTokenCreate(con)),
		group("config", "Look at the settings", newConfigPrint(con)),
		newVersion(con), newExitCodes(),
	)
	return root
}

// group is a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s %s: there is no such command", cmd.CommandPath(), args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// exactArgs wants one argument for each name, and names those that are missing.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s: %s is missing", cmd.CommandPath(), strings.Join(names[len(args):], " and "))
		case len(args) > len(names):
			return usagef("%s: %q is one argument too many", cmd.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command ") || strings.HasPrefix(err.Error(), "required flag(s) ")
}
