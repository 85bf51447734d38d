package imports

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gantry"
	"gantry/internal/jobs"
	"gantry/internal/store"
)

// Run looks after the imports of all processes until ctx ends. It begins with every live import that has no living owner
// and every staging directory that has no import, so that neither a lost job nor a killed process leaves anything behind.
func (s *Service) Run(ctx context.Context) error {
	if err := s.reclaim(ctx, 0); err != nil {
		return err
	}
	if err := s.removeStrays(ctx); err != nil {
		return err
	}
	reclaim, expire := time.NewTicker(s.Lease/2), time.NewTicker(time.Hour)
	defer reclaim.Stop()
	defer expire.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-reclaim.C:
			err = s.reclaim(ctx, patience*s.Lease)
		case <-expire.C:
			err = errors.Join(s.expire(ctx), s.expireUploads(), s.removeStrays(ctx))
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("looking after imports", "error", err)
		}
	}
}

// patience is how many leases an import may wait in the queue before its job is taken for lost.
const patience = 10

// reclaim releases live imports whose owner is dead or whose lease is over, and those that have waited unowned for
// longer than a patience.
func (s *Service) reclaim(ctx context.Context, patience time.Duration) error {
	var live []store.Import
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		var err error
		live, err = tx.LiveImports()
		return err
	})
	if err != nil {
		return err
	}
	holders := map[string]bool{}
	for i := range live {
		row := &live[i]
		switch {
		case row.LeaseOwner == "" && s.Now().Sub(row.UpdatedAt) < patience:
			continue
		case row.LeaseOwner != "" && s.Now().Before(row.LeaseUntil) && !s.node.dead(row.LeaseOwner):
			holders[row.LeaseOwner] = true
			continue
		}
		owner := row.LeaseOwner
		err := s.DB.Write(ctx, func(tx *store.Tx) error {
			next := *row
			return s.release(ctx, tx, &next)
		})
		switch {
		case gantry.KindOf(err) == gantry.Conflict: // its owner, or another sweep, was faster
			holders[owner] = true
		case err != nil:
			return err
		case owner != "":
			s.Log.Info("import taken from an owner that is gone", "import", row.ID, "owner", owner)
		}
	}
	return s.node.forget(holders)
}

// removeStrays deletes staging directories whose import is gone.
func (s *Service) removeStrays(ctx context.Context) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		id, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil {
			continue
		}
		if err := s.clean(ctx, jobs.Job{Key: id}); err != nil {
			return err
		}
	}
	return nil
}

// expire deletes what was kept of imports that ended long ago: raw data, and credentials of those that failed.
func (s *Service) expire(ctx context.Context) error {
	var old []store.Import
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		var err error
		old, err = tx.EndedImports(s.Now().Add(-s.Retention))
		return err
	})
	if err != nil {
		return err
	}
	for i := range old {
		row := &old[i]
		err := s.DB.Write(ctx, func(tx *store.Tx) error {
			next := *row
			next.Generation++
			next.Username, next.Password = "", nil
			next.RawState, next.RawKept = "", false
			return tx.SaveImport(&next, row.Generation)
		})
		switch {
		case gantry.KindOf(err) == gantry.Conflict: // set to work again in the meantime
			continue
		case err != nil:
			return err
		}
		if err := os.RemoveAll(s.staging(row.ID)); err != nil {
			return err
		}
	}
	return nil
}

// nodesDir holds the lock files of the processes that share the imports' directory.
func (o Options) nodesDir() string { return filepath.Join(o.Dir, "nodes") }
