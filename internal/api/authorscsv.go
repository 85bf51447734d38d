package api

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"gantry"
	"gantry/internal/imports"
)

// authorColumns are those of the CSV of all authors (RFC 4180), in this order, named in its first row.
var authorColumns = []string{"remote_id", "remote_name", "email", "name"}

const csvType = "text/csv; charset=utf-8"

func (a *API) getAuthorsCSV(c *call) (reply, error) {
	authors, err := a.Imports.Authors(c.r.Context(), c.principal, c.view, 0)
	if err != nil {
		return reply{}, err
	}
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	_ = w.Write(authorColumns) // into memory: cannot fail
	for _, author := range authors {
		_ = w.Write([]string{author.RemoteID, author.RemoteName, author.Email, author.Name})
	}
	w.Flush()
	return reply{status: http.StatusOK, text: buf.Bytes(), contentType: csvType, fileName: "authors.csv"}, nil
}

func (a *API) putAuthorsCSV(c *call) (reply, error) {
	body, err := readBody(c)
	if err != nil {
		return reply{}, err
	}
	rows, err := parseAuthorsCSV(body)
	if err != nil {
		return reply{}, err
	}
	if err := a.Imports.MapAuthors(c.r.Context(), c.principal, c.view, rows); err != nil {
		return reply{}, err
	}
	return noContent()
}

// parseAuthorsCSV reads a whole file; a byte order mark, as spreadsheets write it, is skipped.
func parseAuthorsCSV(text []byte) ([]imports.AuthorRow, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	r.FieldsPerRecord = len(authorColumns)
	header, err := r.Read()
	if err != nil || !slices.Equal(header, authorColumns) {
		return nil, invalidField("Author", "row 1", gantry.Custom, "the first row has to be remote_id,remote_name,email,name")
	}
	var rows []imports.AuthorRow
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		rows = append(rows, imports.AuthorRow{RemoteID: record[0], RemoteName: record[1], Email: record[2], Name: record[3]})
	}
}

func csvError(err error) error {
	var at *csv.ParseError
	if !errors.As(err, &at) {
		return gantry.Errorf(gantry.Internal, "api", "read a CSV from memory: %w", err)
	}
	return invalidField("Author", fmt.Sprintf("line %d", at.Line), gantry.Custom, fmt.Sprintf("line %d: %v", at.Line, at.Err))
}
