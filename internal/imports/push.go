package imports

import (
	"context"
	"fmt"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/jobs"
	"gantry/internal/lift"
	"gantry/internal/store"
)

// push brings the result into the repository: every ref that does not exist yet or that is where an import put it.
func (w *worker) push(ctx context.Context, l lift.Lift, result *convert.Result) error {
	dir, err := w.Repos.OpenWrite(ctx, &gantry.Repository{ID: w.row.RepositoryID})
	if err != nil {
		return err
	}
	defer dir.Close(context.WithoutCancel(ctx))
	put, err := w.putRefs(ctx, w.row.RepositoryID)
	if err != nil {
		return err
	}
	pushed, err := lift.Push(ctx, l, result, lift.Target{Git: w.Git, Dir: dir.Dir, Put: put, Check: func() error { return w.check(ctx) }})
	if err != nil {
		return err
	}
	return w.move(ctx, gantry.StatusComplete, func(tx *store.Tx, row *store.Import) error {
		maintain := jobs.Job{Kind: jobMaintain, Key: row.RepositoryID, Generation: row.Generation}
		if err := w.Queue.Enqueue(ctx, tx, maintain); err != nil {
			return err
		}
		row.Username, row.Password = "", nil
		row.CompletedAt = w.Now()
		if len(pushed.Kept) > 0 {
			row.StatusText = fmt.Sprintf("Done; %d refs were left where somebody else has moved them: %v", len(pushed.Kept), pushed.Kept)
		}
		return tx.SetImportedRefs(row.RepositoryID, pushed.Put)
	})
}

// putRefs returns where imports last put the refs of a repository.
func (s *Service) putRefs(ctx context.Context, repositoryID int64) (map[string]string, error) {
	var put map[string]string
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		var err error
		put, err = tx.ImportedRefs(repositoryID)
		return err
	})
	return put, err
}
