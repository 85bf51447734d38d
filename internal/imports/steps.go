package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/history"
	"gantry/internal/lift"
	"gantry/internal/origin"
	"gantry/internal/origin/detect"
	"gantry/internal/store"
)

// steps takes the import from its state as far as it goes.
func (w *worker) steps(ctx context.Context) error {
	if w.row.Status == gantry.StatusDetecting || w.row.VCS == "" {
		if found, err := w.detect(ctx); err != nil || !found {
			return err
		}
	}
	progress := &progress{worker: w, ctx: ctx}
	l, err := w.open(ctx, progress)
	if err != nil {
		return err
	}
	defer l.Close()
	if w.row.Status == gantry.StatusImporting {
		if on, err := w.read(ctx, l); err != nil || !on {
			return err
		}
	}
	result, err := w.mapping(ctx, l)
	if err != nil {
		return err
	}
	return w.push(ctx, l, result)
}

// detect finds out what is at the address. It reports whether there is one thing to go on with.
func (w *worker) detect(ctx context.Context) (bool, error) {
	if w.row.Uploaded {
		return w.identify(ctx)
	}
	var found detect.Result
	err := w.patiently(ctx, func() error {
		credentials, err := w.credentials(w.row)
		if err != nil {
			return err
		}
		address, _, err := origin.ParseAddress(w.row.VCSURL)
		if err != nil {
			return err
		}
		found, err = detect.Detect(ctx, detect.Options{Address: address, Credentials: credentials, Hint: w.row.VCS, Egress: w.Egress, Log: w.Log})
		return err
	})
	if err != nil {
		return false, err
	}
	return w.found(ctx, found)
}

// identify finds out what was uploaded.
func (w *worker) identify(ctx context.Context) (bool, error) {
	vcs, err := lift.Identify(w.uploadedFile(w.id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, errUploadGone
	case err != nil:
		return false, err
	case vcs == "":
		return w.found(ctx, detect.Result{Outcome: detect.Nothing})
	}
	return w.found(ctx, detect.Result{Outcome: detect.Found, VCS: vcs})
}

var errUploadGone = gantry.Errorf(gantry.Invalid, "imports", "the uploaded file is no longer kept; upload it again")

// found takes down what detection came to. It reports whether there is one thing to go on with.
func (w *worker) found(ctx context.Context, found detect.Result) (bool, error) {
	to := outcomes[found.Outcome]
	now, err := w.current(ctx)
	if err != nil {
		return false, err
	}
	if err := checkShape("imports.detect", found.VCS, now.Shape); err != nil {
		return false, gantry.Errorf(gantry.Invalid, "imports.detect", "a %s repository was found, and svn_options are for Subversion: for this %s; take them back by a PATCH with other svn_options, and restart the import", found.VCS, suited(found.VCS))
	}
	edit := func(_ *store.Tx, row *store.Import) error {
		if found.VCS != "" {
			row.VCS = found.VCS
		}
		switch {
		case row.Uploaded && found.Outcome == detect.Nothing:
			row.StatusText = "The file is neither a Subversion dump nor a Mercurial or Git bundle. Upload another one."
		case found.Outcome == detect.Found && !row.Uploaded:
			row.VCSURL = found.Address.String()
		}
		row.ProjectChoices = found.Choices
		return nil
	}
	if to == w.row.Status { // a restart detects within "importing"
		return true, w.save(ctx, edit)
	}
	return to == gantry.StatusImporting, w.move(ctx, to, edit)
}

// outcomes maps what detection came to to states.
var outcomes = map[detect.Outcome]gantry.ImportStatus{
	detect.Found:      gantry.StatusImporting,
	detect.Nothing:    gantry.StatusDetectionFoundNothing,
	detect.Multiple:   gantry.StatusDetectionFoundMultiple,
	detect.NeedsAuth:  gantry.StatusDetectionNeedsAuth,
	detect.AuthFailed: gantry.StatusAuthFailed,
}

// open takes up the staging of the import.
func (w *worker) open(ctx context.Context, progress *progress) (lift.Lift, error) {
	from, err := w.origin()
	if err != nil {
		return nil, err
	}
	return lift.Open(ctx, from, lift.Options{
		Dir:    w.staging(w.row.ID),
		Writer: strconv.FormatInt(w.row.Generation, 10),
		Earlier: func(writer string) bool {
			n, err := strconv.ParseInt(writer, 10, 64)
			return err == nil && n < w.generation
		},
		Journal:   journal{w},
		Progress:  progress.report,
		Git:       w.Git,
		Egress:    w.Egress,
		LargeFile: w.LargeFileThreshold,
		Log:       w.Log.With("import", w.row.ID),
	})
}

// origin is what the import reads.
func (w *worker) origin() (lift.Origin, error) {
	from := lift.Origin{VCS: w.row.VCS}
	if w.row.Uploaded {
		from.File = w.uploadedFile(w.id)
		return from, nil
	}
	var err error
	if from.Credentials, err = w.credentials(w.row); err == nil {
		from.Address, _, err = origin.ParseAddress(w.row.VCSURL)
	}
	return from, err
}

// readOrigin reads what is new at the origin. Of a file that was uploaded nothing is new once it was read; it is not kept.
func (w *worker) readOrigin(ctx context.Context, l lift.Lift) error {
	if !w.row.Uploaded {
		return w.patiently(ctx, func() error { return l.Read(ctx) })
	}
	state, err := decodeState(w.row.RawState)
	if err != nil {
		return err
	}
	name := w.uploadedFile(w.id)
	if !state.Complete {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return errUploadGone
		}
		if err := l.Read(ctx); err != nil {
			return err
		}
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// read is the raw step. It reports whether there is one project to go on with.
func (w *worker) read(ctx context.Context, l lift.Lift) (bool, error) {
	if err := w.readOrigin(ctx, l); err != nil {
		return false, err
	}
	projects, err := l.Projects(ctx)
	if err != nil {
		return false, err
	}
	now, err := w.current(ctx)
	if err != nil {
		return false, err
	}
	if len(projects) > 1 && now.SVNRoot == "" && now.Shape.Layout == "" {
		return false, w.move(ctx, gantry.StatusDetectionFoundMultiple, func(_ *store.Tx, row *store.Import) error {
			for _, root := range projects {
				row.ProjectChoices = append(row.ProjectChoices, gantry.ProjectChoice{VCS: row.VCS, HumanName: root, SVNRoot: root})
			}
			return nil
		})
	}
	return true, w.move(ctx, gantry.StatusMapping, func(tx *store.Tx, row *store.Import) error {
		row.RawDone = true
		return nil
	})
}

// mapping turns what was read into commits and refs. After a restart in the middle of pushing it does so again: the same
// input gives the same ids.
func (w *worker) mapping(ctx context.Context, l lift.Lift) (*convert.Result, error) {
	now, authors, err := w.mapInput(ctx)
	if err != nil {
		return nil, err
	}
	if w.row.LargeFilesCount > 0 && now.UseLFS != gantry.LFSUndecided {
		return nil, gantry.Errorf(gantry.Unavailable, "imports.map", largeFilesText, w.row.LargeFilesCount)
	}
	result, err := l.Map(ctx, lift.MapOptions{Authors: authors, Root: now.SVNRoot, DefaultBranch: w.DefaultBranch, Shape: now.Shape})
	if err != nil {
		return nil, err
	}
	report, err := json.Marshal(result.Report)
	if err != nil {
		return nil, err
	}
	edit := func(tx *store.Tx, row *store.Import) error {
		row.Report = string(report)
		row.PushPercent = new(int)
		return tx.SetImportLargeFiles(row.ID, result.LargeFiles)
	}
	if w.row.Status == gantry.StatusPushing {
		return result, w.save(ctx, edit)
	}
	return result, w.move(ctx, gantry.StatusPushing, edit)
}

// current loads the row anew, with what was chosen for the import since it was claimed.
func (w *worker) current(ctx context.Context) (row *store.Import, err error) {
	err = w.DB.Read(ctx, func(tx *store.Tx) error {
		row, err = tx.Import(w.id)
		return err
	})
	return row, lost(err)
}

// mapInput loads what mapping depends on beside the raw data.
func (w *worker) mapInput(ctx context.Context) (row *store.Import, authors map[lift.Author]history.Identity, err error) {
	authors = map[lift.Author]history.Identity{}
	err = w.DB.Read(ctx, func(tx *store.Tx) error {
		known, err := tx.ImportAuthors(w.row.ID, 0)
		if err != nil {
			return err
		}
		for _, a := range known {
			authors[lift.Author{RemoteID: a.RemoteID, RemoteName: a.RemoteName}] = history.Identity{Name: a.Name, Email: a.Email}
		}
		row, err = tx.Import(w.row.ID)
		return err
	})
	return row, authors, lost(err)
}

// patiently tries a step again after a failed connection, and says so.
func (w *worker) patiently(ctx context.Context, step func() error) error {
	said := false
	say := func(next lift.Retry) error {
		said = true
		return w.say(ctx, fmt.Sprintf("The connection to the origin failed; trying again in %s (attempt %d of %d).", next.Pause, next.Attempt, next.Attempts))
	}
	return lift.Patiently(ctx, say, func() error {
		if said {
			if err := w.say(ctx, statusTexts[w.row.Status]); err != nil {
				return err
			}
		}
		return step()
	})
}
