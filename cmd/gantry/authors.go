package main

import (
	"errors"
	"maps"
	"os"
	"slices"

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

// strangers returns those of the given authors, by id and in order, that an origin does not have.
func strangers(given map[lift.Author]history.Identity, known []history.Author) []string {
	unknown := map[string]bool{}
	for author := range given {
		unknown[author.RemoteID] = true
	}
	for _, author := range known {
		delete(unknown, author.RemoteID)
	}
	return slices.Sorted(maps.Keys(unknown))
}
