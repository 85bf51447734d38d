package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// maxPassword bounds a line on standard input that is taken for a password.
const maxPassword = 4096

// readPassword takes the first line of standard input.
func readPassword(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxPassword+1)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	password := strings.TrimRight(line, "\r\n")
	switch {
	case password == "":
		return "", usagef("--password-stdin: no password came on standard input")
	case len(password) > maxPassword:
		return "", usagef("--password-stdin: the password is longer than %d bytes", maxPassword)
	}
	return password, nil
}
