package api

import (
	"bytes"
	"net/http"

	"gantry"
)

const csvType = "text/csv; charset=utf-8"

func (a *API) getAuthorsCSV(c *call) (reply, error) {
	authors, err := a.Imports.Authors(c.r.Context(), c.principal, c.view, 0)
	if err != nil {
		return reply{}, err
	}
	var table bytes.Buffer
	if err := gantry.WriteAuthors(&table, authors); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, text: table.Bytes(), contentType: csvType, fileName: "authors.csv"}, nil
}

func (a *API) putAuthorsCSV(c *call) (reply, error) {
	body, err := readBody(c)
	if err != nil {
		return reply{}, err
	}
	rows, err := gantry.ReadAuthors(bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if err := a.Imports.MapAuthors(c.r.Context(), c.principal, c.view, rows); err != nil {
		return reply{}, err
	}
	return noContent()
}
