package imports

import (
	"context"

	"gantry"
	"gantry/internal/repos"
	"gantry/internal/store"
)

// SetLFS records what is to happen to large files. An import that has some cannot be rewritten yet: that is
// gantry.Unavailable.
func (s *Service) SetLFS(ctx context.Context, p gantry.Principal, repo *repos.View, choice gantry.LFSChoice) (*gantry.Import, error) {
	const op = "imports.SetLFS"
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	if choice != gantry.LFSOptIn && choice != gantry.LFSOptOut {
		return nil, invalid(op, "use_lfs", gantry.InvalidField, "use_lfs is opt_in or opt_out")
	}
	var row *store.Import
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		if row, err = tx.ImportByRepository(repo.Repository.ID); err != nil {
			return err
		}
		if row.LargeFilesCount > 0 {
			return gantry.Errorf(gantry.Unavailable, op, largeFilesText, row.LargeFilesCount)
		}
		row.UseLFS = choice
		return tx.SetImportLFS(row.ID, choice)
	})
	if err != nil {
		return nil, err
	}
	return &row.Import, nil
}

// largeFilesText refuses a choice that would rewrite large files.
const largeFilesText = "the import has large files (%d), and moving them to Git LFS or leaving them out is not available on this server yet; they can be imported as ordinary files"

// LargeFiles returns the large files found so far.
func (s *Service) LargeFiles(ctx context.Context, p gantry.Principal, repo *repos.View) ([]gantry.LargeFile, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	var files []gantry.LargeFile
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		row, err := tx.ImportByRepository(repo.Repository.ID)
		if err != nil {
			return err
		}
		files, err = tx.ImportLargeFiles(row.ID)
		return err
	})
	return files, err
}
