package imports

import (
	"context"
	"fmt"
	"io"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/jobs"
	"gantry/internal/lift"
	"gantry/internal/pack"
	"gantry/internal/store"
)

// push brings the result into the repository: every ref that does not exist yet or that is where an import put it.
func (w *worker) push(ctx context.Context, l lift.Lift, result *convert.Result) error {
	dir, err := w.Repos.OpenWrite(ctx, &gantry.Repository{ID: w.row.RepositoryID})
	if err != nil {
		return err
	}
	defer dir.Close(context.WithoutCancel(ctx))
	refs, err := w.Git.Refs(ctx, dir.Dir)
	if err != nil {
		return err
	}
	put, err := w.putRefs(ctx, w.row.RepositoryID)
	if err != nil {
		return err
	}
	plan := planPush(refs, put, result.Refs)
	if len(plan.updates) > 0 {
		has, err := w.receiver(ctx, dir.Dir, refs)
		if err != nil {
			return err
		}
		err = w.Git.Push(ctx, dir.Dir, plan.updates, func(ctx context.Context, out io.Writer) error {
			fence := &fence{to: out, check: func() error { return w.check(ctx) }}
			if err := l.WritePack(ctx, fence, result, has); err != nil {
				return err
			}
			return fence.release()
		})
		if err != nil {
			return err
		}
	}
	if err := w.Git.SetHead(ctx, dir.Dir, result.Head); err != nil {
		return err
	}
	return w.move(ctx, gantry.StatusComplete, func(tx *store.Tx, row *store.Import) error {
		maintain := jobs.Job{Kind: jobMaintain, Key: row.RepositoryID, Generation: row.Generation}
		if err := w.Queue.Enqueue(ctx, tx, maintain); err != nil {
			return err
		}
		row.Username, row.Password = "", nil
		row.CompletedAt = w.Now()
		if len(plan.kept) > 0 {
			row.StatusText = fmt.Sprintf("Done; %d refs were left where somebody else has moved them: %v", len(plan.kept), plan.kept)
		}
		return tx.SetImportedRefs(row.RepositoryID, plan.put)
	})
}

// receiver tells what a repository has, so that only what is new is sent.
func (w *worker) receiver(ctx context.Context, dir string, refs []gitdir.Ref) (lift.Receiver, error) {
	var has lift.Receiver
	if len(refs) == 0 {
		return has, nil
	}
	for _, ref := range refs {
		has.Tips = append(has.Tips, ref.ID)
	}
	var err error
	has.Objects, err = w.Git.Reachable(ctx, dir)
	return has, err
}

// pushPlan is what a push does to a repository's refs.
type pushPlan struct {
	updates []gitdir.RefUpdate
	put     map[string]string // where the import's refs are afterwards
	kept    []string          // refs that somebody else has moved; they stay
}

// planPush compares the refs that a repository has, those that imports put there, and those that it should have.
func planPush(have []gitdir.Ref, put map[string]string, want []history.Ref) pushPlan {
	plan := pushPlan{put: map[string]string{}}
	at := make(map[string]pack.ID, len(have))
	for _, ref := range have {
		at[ref.Name] = ref.ID
	}
	wanted := make(map[string]bool, len(want))
	for _, ref := range want {
		wanted[ref.Name] = true
		now := at[ref.Name]
		switch {
		case now == ref.ID:
		case now.IsZero(), now.String() == put[ref.Name]:
			plan.updates = append(plan.updates, gitdir.RefUpdate{Name: ref.Name, Old: now, New: ref.ID})
		default:
			plan.kept = append(plan.kept, ref.Name)
			continue
		}
		plan.put[ref.Name] = ref.ID.String()
	}
	for _, ref := range have {
		if !wanted[ref.Name] && put[ref.Name] == ref.ID.String() {
			plan.updates = append(plan.updates, gitdir.RefUpdate{Name: ref.Name, Old: ref.ID})
		}
	}
	return plan
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

// fence holds back the end of a pack, without which the receiver moves no ref, until a check has passed: a worker that
// lost its import while it wrote must not push.
type fence struct {
	to    io.Writer
	held  []byte
	check func() error
}

// held back is the checksum that ends a pack.
const fenceSize = 20

func (f *fence) Write(p []byte) (int, error) {
	if len(p) >= fenceSize {
		if _, err := f.to.Write(f.held); err != nil {
			return 0, err
		}
		if _, err := f.to.Write(p[:len(p)-fenceSize]); err != nil {
			return 0, err
		}
		f.held = append(f.held[:0], p[len(p)-fenceSize:]...)
		return len(p), nil
	}
	f.held = append(f.held, p...)
	if over := len(f.held) - fenceSize; over > 0 {
		if _, err := f.to.Write(f.held[:over]); err != nil {
			return 0, err
		}
		f.held = append(f.held[:0], f.held[over:]...)
	}
	return len(p), nil
}

func (f *fence) release() error {
	if err := f.check(); err != nil {
		return err
	}
	_, err := f.to.Write(f.held)
	return err
}
