package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/pack"
)

// subrepos says what Mercurial's subrepositories are in Git, by their sources.
type subrepos map[string]subrepoInGit

type subrepoInGit struct {
	url     string
	commits map[string]pack.ID // by changeset
}

// find is what lift.MapOptions.Submodule asks.
func (s subrepos) find(source, revision string) (history.Submodule, bool) {
	known := s[source]
	commit, ok := known.commits[revision]
	return history.Submodule{URL: known.url, Commit: commit}, ok
}

var subrepoColumns = []string{"source", "url", "map"}

// readSubrepos reads the file of --subrepos; no name: no subrepositories.
func readSubrepos(name string) (subrepos, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := csv.NewReader(file)
	lines.FieldsPerRecord = len(subrepoColumns)
	found := subrepos{}
	for first := true; ; first = false {
		row, err := lines.Read()
		if errors.Is(err, io.EOF) && !first {
			return found, nil
		}
		if err == nil && first && !slices.Equal(row, subrepoColumns) {
			err = fmt.Errorf("the first row has to be %s", strings.Join(subrepoColumns, ","))
		}
		if err != nil {
			return nil, gantry.Errorf(gantry.Invalid, "subrepos", "%s: %w", name, err)
		}
		if first {
			continue
		}
		commits, err := readMap(row[2])
		if err != nil {
			return nil, err
		}
		found[row[0]] = subrepoInGit{url: row[1], commits: commits}
	}
}

// readMap reads what --map wrote: the commit of each revision.
func readMap(name string) (map[string]pack.ID, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	commits := map[string]pack.ID{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		id, rest, _ := strings.Cut(lines.Text(), "\t")
		commit, err := pack.ParseID(id)
		last := strings.LastIndexByte(rest, '\t')
		if err != nil || last < 0 {
			return nil, gantry.Errorf(gantry.Invalid, "subrepos", "%s is not a file that --map wrote: %q", name, lines.Text())
		}
		commits[rest[last+1:]] = commit
	}
	return commits, nil
}
