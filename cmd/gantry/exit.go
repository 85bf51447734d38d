package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gantry"
	"gantry/internal/origin"
)

// Exit codes, for scripts. exitTable tells them to people.
const (
	exitOK           = 0
	exitFailure      = 1
	exitUsage        = 2
	exitChoose       = 3
	exitAuth         = 4
	exitNotFound     = 5
	exitVerification = 6
	exitInterrupted  = 130
)

var exitTable = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailure, "something failed; the message says what, where and what to do"},
	{exitUsage, "the command line cannot be understood"},
	{exitChoose, "several projects were found at the origin: choose one of those listed"},
	{exitAuth, "the origin asks for credentials, or refused those given"},
	{exitNotFound, "nothing is at the origin, or no version control system was recognised there"},
	{exitVerification, "the origin's data does not match its own checksums"},
	{exitInterrupted, "interrupted; the same command goes on where it stopped"},
}

// exitCode finds the code that says the most about an error.
func exitCode(ctx context.Context, err error) int {
	switch {
	case isUsage(err):
		return exitUsage
	case errors.Is(err, errChoose):
		return exitChoose
	case errors.Is(err, origin.ErrAuthRequired), errors.Is(err, origin.ErrAuthFailed):
		return exitAuth
	case errors.Is(err, origin.ErrNotFound):
		return exitNotFound
	case errors.Is(err, origin.ErrCorrupt):
		return exitVerification
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailure
}

// describe is an error as a person reads it: the sentence that was written for people, and else everything known.
func describe(err error) string {
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Sprintf("the disk is full: make room, and give the same command again (%v)", err)
	}
	if text := gantry.Message(err); text != "" {
		return text
	}
	return err.Error()
}

func newExitCodes() *cobra.Command {
	long := "Every command ends with one of these codes:\n\n"
	for _, row := range exitTable {
		long += fmt.Sprintf("  %3d  %s\n", row.code, row.meaning)
	}
	// Without Run it is a help topic: "gantry help exit-codes".
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: long}
}
