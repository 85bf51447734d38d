package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gantry/internal/history"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// State is a checkpoint: which bytes of the staging directory count, and how far reading has come. It is JSON for
// whoever keeps it, and nobody else's business but for the fields that progress is told from.
type State struct {
	UUID string `json:"uuid,omitempty"` // of the origin; guards against reading another one, as does the path
	Path string `json:"path,omitempty"`

	HostKey string `json:"host_key,omitempty"` // that an ssh host of a path-based origin showed

	Next     int64 `json:"next"`     // the first revision that was not read; 0 at first
	Head     int64 `json:"head"`     // the origin's newest revision as last seen
	Complete bool  `json:"complete"` // the raw step has reached Head at least once

	Packs  []pack.Segment    `json:"packs,omitempty"`
	Log    []history.Segment `json:"log,omitempty"`
	Counts Counts            `json:"counts"`

	Agreed   int64    `json:"agreed,omitempty"`   // the last revision that the origin's listing agreed with
	Compared int64    `json:"compared,omitempty"` // entries of that, when it is the newest revision
	Hidden   []string `json:"hidden,omitempty"`   // paths that the origin did not show

	Authors int `json:"authors"` // size of the author table

	Texts []pack.Segment `json:"texts,omitempty"` // of a graph of changesets: the texts that patches are against
	Graph *GraphState    `json:"graph,omitempty"` // what such an origin shows; nil before all of it was read

	Standins bool     `json:"standins,omitempty"` // stand for contents of largefiles that are there
	Absent   []Absent `json:"absent,omitempty"`   // contents that were not to be had, and are asked for again

	Fetched *Fetched `json:"fetched,omitempty"` // of a Git origin, in place of all that is about revisions

	LargeFiles    int64 `json:"large_files"`
	LargeFileSize int64 `json:"large_file_size"` // bytes, of all large files together
}

// GraphState is what an origin of changesets showed when it was read last.
type GraphState struct {
	Heads     []revlog.Node          `json:"heads"`
	Bookmarks map[string]revlog.Node `json:"bookmarks,omitempty"`
}

// Fetched is the repository that a Git origin was fetched into.
type Fetched struct {
	Name    string   `json:"name"` // within the staging directory
	Head    string   `json:"head"` // the ref that HEAD names
	Commits int64    `json:"commits"`
	HostKey string   `json:"host_key,omitempty"` // that an ssh host showed
	Skipped []Rename `json:"skipped,omitempty"`
}

// News is what was found since the last commit.
type News struct {
	Authors    []history.Author // in the order of their ordinals
	LargeFiles []LargeFile
}

// LargeFile is a large file as it was first met. The ref that holds it is known after mapping: Result.LargeFiles.
type LargeFile = history.LargeFile

// Journal keeps the state of a conversion. The import service keeps it in its row, the command line in a file.
type Journal interface {
	// Load returns the state last committed, the zero State when there is none.
	Load(ctx context.Context) (State, error)

	// Commit keeps a state, durably and together with the news or not at all. Committing the same news twice must not
	// count them twice. A gantry.Conflict means that somebody else owns the work now: the conversion stops at once.
	Commit(ctx context.Context, state State, news News) error
}

// OpenFileJournal keeps the state in a file, which it replaces atomically. The news are in the raw log; it drops them.
func OpenFileJournal(name string) Journal { return &fileJournal{name: name} }

type fileJournal struct{ name string }

func (j *fileJournal) Load(context.Context) (State, error) {
	var state State
	data, err := os.ReadFile(j.name)
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		return State{}, fmt.Errorf("convert: journal %s: %w; remove its directory to start anew", j.name, err)
	}
	return state, nil
}

func (j *fileJournal) Commit(_ context.Context, state State, _ News) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if err := replaceFile(j.name, data); err != nil {
		return fmt.Errorf("convert: journal: %w", err)
	}
	return nil
}

// replaceFile gives a file other content: after a crash it has the old or the new one.
func replaceFile(name string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".new-")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
