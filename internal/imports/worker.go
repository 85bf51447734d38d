package imports

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gantry"
	"gantry/internal/jobs"
	"gantry/internal/origin"
	"gantry/internal/store"
)

// errLost ends the work of a worker whose import belongs to somebody else by now, or is gone.
var errLost = errors.New("imports: the import is no longer ours")

// work is the job that moves one import on until it is complete or needs its owner.
func (s *Service) work(ctx context.Context, job jobs.Job) error {
	row, err := s.claim(ctx, job)
	if err != nil || row == nil {
		return err
	}
	w := &worker{Service: s, id: row.ID, generation: row.Generation, row: row, leaseUntil: row.LeaseUntil}
	err = w.run(ctx)
	switch {
	case errors.Is(err, errLost):
		s.Log.Info("import given up: it was cancelled, restarted or taken over", "import", row.ID, "generation", row.Generation)
		return s.clean(context.WithoutCancel(ctx), jobs.Job{Key: row.ID})
	case ctx.Err() != nil: // this process is stopping: let another, or the next start, go on from the checkpoint
		return w.handBack(context.WithoutCancel(ctx))
	}
	return err
}

// claim takes an import for this process, nil when there is nothing to take.
func (s *Service) claim(ctx context.Context, job jobs.Job) (*store.Import, error) {
	var row *store.Import
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		if row, err = tx.Import(job.Key); err != nil {
			if gantry.KindOf(err) == gantry.NotFound {
				row, err = nil, nil
			}
			return err
		}
		if row.Generation != job.Generation || !row.Status.Live() || row.LeaseOwner != "" {
			row = nil
			return nil
		}
		held := row.Generation
		row.Generation++
		row.LeaseOwner, row.LeaseUntil = s.node.name, s.Now().Add(s.Lease)
		return tx.SaveImport(row, held)
	})
	return row, err
}

// worker is the work of this process on one import. Its row is written by this worker alone as long as the generation
// holds.
type worker struct {
	*Service
	id         int64
	generation int64

	mu  sync.Mutex // one writer of row at a time
	row *store.Import

	leaseMu    sync.Mutex
	leaseUntil time.Time
}

// save writes an edit of the row, errLost when the generation has moved on. It renews the lease as well.
func (w *worker) save(ctx context.Context, edit func(*store.Tx, *store.Import) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := *w.row
	err := w.DB.Write(ctx, func(tx *store.Tx) error {
		next = *w.row
		next.LeaseUntil = w.Now().Add(w.Lease)
		next.UpdatedAt = w.Now()
		if err := edit(tx, &next); err != nil {
			return err
		}
		return tx.SaveImport(&next, next.Generation)
	})
	if err := lost(err); err != nil {
		return err
	}
	*w.row = next
	w.leased(next.LeaseUntil)
	return nil
}

func (w *worker) leased(until time.Time) {
	w.leaseMu.Lock()
	defer w.leaseMu.Unlock()
	w.leaseUntil = until
}

// move takes the import to another state.
func (w *worker) move(ctx context.Context, to gantry.ImportStatus, edit func(*store.Tx, *store.Import) error) error {
	return w.save(ctx, func(tx *store.Tx, row *store.Import) error {
		if !gantry.MayMove(row.Status, to) {
			return fmt.Errorf("imports: a worker may not move an import from %s to %s", row.Status, to)
		}
		row.Status, row.StatusText = to, statusTexts[to]
		if edit == nil {
			return nil
		}
		return edit(tx, row)
	})
}

// say shows a text in place of the state's usual one.
func (w *worker) say(ctx context.Context, text string) error {
	return w.save(ctx, func(_ *store.Tx, row *store.Import) error {
		row.StatusText = text
		return nil
	})
}

// handBack gives the import up for the next process that asks.
func (w *worker) handBack(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.DB.Write(ctx, func(tx *store.Tx) error {
		next := *w.row
		return w.release(ctx, tx, &next)
	})
	if gantry.KindOf(err) == gantry.Conflict {
		return nil
	}
	return err
}

// keepLease watches the row while a step runs: it renews the lease, and ends the context with errLost as soon as the
// generation has moved on or the lease could not be renewed in time.
func (w *worker) keepLease(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(min(time.Second, w.Lease/5))
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
			if err := w.check(ctx); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

// check renews the lease when a third of it is gone, else it only looks whether the generation still holds. A database
// that does not answer is borne until the lease is over.
func (w *worker) check(ctx context.Context) error {
	w.leaseMu.Lock()
	left := w.leaseUntil.Sub(w.Now())
	w.leaseMu.Unlock()
	var err error
	if left < w.Lease*2/3 {
		until := w.Now().Add(w.Lease)
		err = w.DB.Write(ctx, func(tx *store.Tx) error { return tx.RenewImportLease(w.id, w.generation, until) })
		if err == nil {
			w.leased(until)
		}
	} else {
		err = w.DB.Read(ctx, func(tx *store.Tx) error { return tx.CheckImport(w.id, w.generation) })
	}
	err = lost(err)
	if err != nil && !errors.Is(err, errLost) && left > 0 {
		w.Log.Warn("import: the database does not answer; the lease still holds", "import", w.id, "error", err)
		return nil
	}
	return err
}

// lost turns the store's answer that a row's generation has moved on, or that the row is gone, into errLost.
func lost(err error) error {
	switch gantry.KindOf(err) {
	case gantry.Conflict, gantry.NotFound:
		return errLost
	}
	return err
}

// run moves the import on and turns what goes wrong into its state.
func (w *worker) run(ctx context.Context) error {
	work, stop := w.keepLease(ctx)
	err := w.steps(work)
	if cause := context.Cause(work); errors.Is(cause, errLost) {
		err = errLost
	}
	stop()
	if err == nil || errors.Is(err, errLost) || ctx.Err() != nil {
		return err
	}
	return w.fail(ctx, err)
}

// fail ends the import in the state that an error calls for.
func (w *worker) fail(ctx context.Context, err error) error {
	step := w.row.Status
	w.Log.Warn("import failed", "import", w.row.ID, "step", string(step), "error", err)
	if errors.Is(err, origin.ErrAuthRequired) || errors.Is(err, origin.ErrAuthFailed) {
		to := gantry.StatusAuthFailed
		if step == gantry.StatusDetecting && errors.Is(err, origin.ErrAuthRequired) {
			to = gantry.StatusDetectionNeedsAuth
		}
		return w.move(ctx, to, nil)
	}
	text := w.failureText(err)
	return w.move(ctx, gantry.StatusError, func(_ *store.Tx, row *store.Import) error {
		row.FailedStep, row.Message, row.StatusText = step, text, text
		return nil
	})
}

// failureText is what people are told of an error: what engines and services say of origins and content, never the text
// of a fault of ours.
func (w *worker) failureText(err error) string {
	text := gantry.Message(err)
	if text == "" {
		for _, known := range []error{origin.ErrNotFound, origin.ErrTemporary, origin.ErrCorrupt} {
			if errors.Is(err, known) {
				text = err.Error()
			}
		}
	}
	if errors.Is(err, unix.ENOSPC) {
		text = "The server has not enough room on disk; tell its administrator, and restart the import when there is some."
	}
	if text == "" {
		return fmt.Sprintf("The import stopped at a fault of the server; its log has the details under import %d. Restart the import to try again.", w.row.ID)
	}
	if credentials, err := w.credentials(w.row); err == nil && credentials.Password != "" {
		text = strings.ReplaceAll(text, credentials.Password, "[redacted]")
	}
	return text
}

// clean deletes the staging of an import that is gone.
func (s *Service) clean(ctx context.Context, job jobs.Job) error {
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		_, err := tx.Import(job.Key)
		return err
	})
	if gantry.KindOf(err) != gantry.NotFound {
		return err
	}
	return os.RemoveAll(s.staging(job.Key))
}
