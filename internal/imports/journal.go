package imports

import (
	"context"
	"encoding/json"
	"fmt"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/store"
)

// journal keeps the checkpoints of a conversion in the import's row.
type journal struct{ *worker }

// Load implements convert.Journal.
func (j journal) Load(context.Context) (convert.State, error) { return decodeState(j.row.RawState) }

// Commit implements convert.Journal.
func (j journal) Commit(ctx context.Context, state convert.State, news convert.News) error {
	text, err := encodeState(state)
	if err != nil {
		return err
	}
	return j.save(ctx, func(tx *store.Tx, row *store.Import) error {
		row.RawState = text
		row.AuthorsCount = int64(state.Authors)
		switch {
		case state.Fetched != nil:
			row.Percent, row.CommitCount = new(100), &state.Fetched.Commits
		case row.CommitCount != nil: // the authors are those of just so much
			row.Percent = further(row.Percent, convert.Progress{Done: state.Next - 1, Total: *row.CommitCount})
		}
		row.LargeFilesCount, row.LargeFilesSize = state.LargeFiles, state.LargeFileSize
		first := state.Authors - len(news.Authors)
		for i, a := range news.Authors {
			author := &gantry.Author{ImportID: row.ID, RemoteID: a.RemoteID, RemoteName: a.RemoteName, Email: a.Default.Email, Name: a.Default.Name}
			if err := tx.AddImportAuthor(author, first+i); err != nil {
				return err
			}
		}
		return nil
	})
}

func decodeState(text string) (convert.State, error) {
	var state convert.State
	if text == "" {
		return state, nil
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return state, fmt.Errorf("imports: checkpoint: %w", err)
	}
	return state, nil
}

func encodeState(state convert.State) (string, error) {
	text, err := json.Marshal(state)
	return string(text), err
}
