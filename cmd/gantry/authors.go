package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/lift"
)

// authorMap gives authors at the origin their Git identities.
type authorMap = map[lift.Author]history.Identity

// byteOrderMark is what spreadsheets begin a file with.
const byteOrderMark = "\xef\xbb\xbf"

var authorColumns = []string{"remote_id", "remote_name", "email", "name"}

// readAuthors reads a CSV file of authors (RFC 4180), with a first row that names the columns; no name: no authors.
func readAuthors(name string) (authorMap, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseAuthors(name, file)
}

func parseAuthors(name string, r io.Reader) (authorMap, error) {
	refuse := func(line int, format string, args ...any) error {
		return gantry.Errorf(gantry.Invalid, "authors", "%s: line %d: %s", name, line, fmt.Sprintf(format, args...))
	}
	text := bufio.NewReader(r)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it was peeked at
	}
	authors := authorMap{}
	rows := csv.NewReader(text)
	rows.FieldsPerRecord = len(authorColumns)
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			if first {
				return nil, refuse(1, "the file is empty")
			}
			return authors, nil
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, refuse(bad.Line, "%v; the columns are %v", bad.Err, authorColumns)
		}
		if err != nil {
			return nil, err
		}
		line, _ := rows.FieldPos(0)
		author := lift.Author{RemoteID: row[0], RemoteName: row[1]}
		switch _, twice := authors[author]; {
		case first:
			if !slices.Equal(row, authorColumns) {
				return nil, refuse(line, "the first row has to name the columns %v", authorColumns)
			}
			continue
		case row[2] == "" || row[3] == "":
			return nil, refuse(line, "%s needs an email and a name", row[0])
		case twice:
			return nil, refuse(line, "%s is there twice", row[0])
		}
		authors[author] = history.Identity{Email: row[2], Name: row[3]}
	}
}
