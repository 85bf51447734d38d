package main

import (
	"errors"
	"os"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/lift"
)

// readAuthors reads the CSV file of --authors; no name: no authors.
func readAuthors(name string) (map[lift.Author]history.Identity, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := gantry.ReadAuthors(file)
	var invalid *gantry.Error
	if errors.As(err, &invalid) && len(invalid.Fields) > 0 {
		return nil, gantry.Errorf(gantry.Invalid, "authors", "%s: %s", name, invalid.Fields[0].Message)
	}
	if err != nil {
		return nil, err
	}
	authors := make(map[lift.Author]history.Identity, len(rows))
	for _, r := range rows {
		authors[lift.Author{RemoteID: r.RemoteID, RemoteName: r.RemoteName}] = history.Identity{Email: r.Email, Name: r.Name}
	}
	return authors, nil
}
