package gantry

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
)

// AuthorRow is one row of the table by which many authors are mapped at once.
type AuthorRow struct {
	RemoteID   string
	RemoteName string
	Email      string
	Name       string

	Line int // of the file it was read from
}

// authorColumns are named in the first row of the table.
var authorColumns = []string{"remote_id", "remote_name", "email", "name"}

// byteOrderMark is what spreadsheets begin a file with.
const byteOrderMark = "\xef\xbb\xbf"

// ReadAuthors reads the table of authors as CSV (RFC 4180) whose first row names the columns remote_id, remote_name,
// email, name. What is wrong with it is Invalid and names the line.
func ReadAuthors(r io.Reader) ([]AuthorRow, error) {
	text := bufio.NewReader(r)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it was peeked at
	}
	lines := csv.NewReader(text)
	lines.FieldsPerRecord = len(authorColumns)
	var rows []AuthorRow
	seen := map[AuthorRow]bool{}
	for first := true; ; first = false {
		record, err := lines.Read()
		var malformed *csv.ParseError
		switch {
		case errors.Is(err, io.EOF) && first:
			return nil, badAuthorLine(1, "the table is empty; its first row has to be remote_id,remote_name,email,name")
		case errors.Is(err, io.EOF):
			return rows, nil
		case errors.Is(err, csv.ErrFieldCount) && first:
			return nil, badAuthorLine(1, "the first row has to be remote_id,remote_name,email,name")
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := lines.FieldPos(0)
			return nil, badAuthorLine(line, "a row has remote_id,remote_name,email,name")
		case errors.As(err, &malformed):
			return nil, badAuthorLine(malformed.Line, malformed.Err.Error())
		case err != nil:
			return nil, err
		}
		line, _ := lines.FieldPos(0)
		if first {
			if !slices.Equal(record, authorColumns) {
				return nil, badAuthorLine(line, "the first row has to be remote_id,remote_name,email,name")
			}
			continue
		}
		author := AuthorRow{RemoteID: record[0], RemoteName: record[1]}
		switch {
		case seen[author]:
			return nil, badAuthorLine(line, record[0]+" is there twice")
		case record[2] == "" || record[3] == "":
			return nil, badAuthorLine(line, record[0]+" needs an email and a name")
		}
		seen[author] = true
		rows = append(rows, AuthorRow{RemoteID: record[0], RemoteName: record[1], Email: record[2], Name: record[3], Line: line})
	}
}

func badAuthorLine(line int, why string) error {
	return &Error{Kind: Invalid, Op: "gantry.ReadAuthors", Fields: []FieldError{AuthorFault(line, why)}}
}

// AuthorFault says what is wrong with one line of the table of authors.
func AuthorFault(line int, why string) FieldError {
	return FieldError{Resource: "Author", Field: fmt.Sprintf("line %d", line), Code: Custom, Message: fmt.Sprintf("line %d: %s", line, why)}
}

// WriteAuthors writes the table that ReadAuthors reads.
func WriteAuthors(w io.Writer, authors []Author) error {
	lines := csv.NewWriter(w)
	rows := [][]string{authorColumns}
	for _, a := range authors {
		rows = append(rows, []string{a.RemoteID, a.RemoteName, a.Email, a.Name})
	}
	return lines.WriteAll(rows)
}
