package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/lift"
	"gantry/internal/origin"
	"gantry/internal/origin/detect"
	"gantry/internal/pack"
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
	to := outcomes[found.Outcome]
	edit := func(_ *store.Tx, row *store.Import) error {
		if found.VCS != "" {
			row.VCS = found.VCS
		}
		if found.Outcome == detect.Found {
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
	credentials, err := w.credentials(w.row)
	if err != nil {
		return nil, err
	}
	address, _, err := origin.ParseAddress(w.row.VCSURL)
	if err != nil {
		return nil, err
	}
	from := lift.Origin{VCS: w.row.VCS, Address: address, Credentials: credentials}
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

// read is the raw step. It reports whether there is one project to go on with.
func (w *worker) read(ctx context.Context, l lift.Lift) (bool, error) {
	if err := w.patiently(ctx, func() error { return l.Read(ctx) }); err != nil {
		return false, err
	}
	projects, err := l.Projects(ctx)
	if err != nil {
		return false, err
	}
	if len(projects) > 1 && w.row.SVNRoot == "" {
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
	authors, choice, err := w.mapInput(ctx)
	if err != nil {
		return nil, err
	}
	if w.row.LargeFilesCount > 0 && choice != gantry.LFSUndecided {
		return nil, gantry.Errorf(gantry.Unavailable, "imports.map", largeFilesText, w.row.LargeFilesCount)
	}
	result, err := l.Map(ctx, lift.MapOptions{Authors: authors, Root: w.row.SVNRoot, DefaultBranch: w.DefaultBranch})
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

// mapInput loads what mapping depends on beside the raw data.
func (w *worker) mapInput(ctx context.Context) (map[lift.Author]history.Identity, gantry.LFSChoice, error) {
	authors := map[lift.Author]history.Identity{}
	var choice gantry.LFSChoice
	err := w.DB.Read(ctx, func(tx *store.Tx) error {
		known, err := tx.ImportAuthors(w.row.ID, 0)
		if err != nil {
			return err
		}
		for _, a := range known {
			authors[lift.Author{RemoteID: a.RemoteID, RemoteName: a.RemoteName}] = history.Identity{Name: a.Name, Email: a.Email}
		}
		row, err := tx.Import(w.row.ID)
		if err == nil {
			choice = row.UseLFS
		}
		return err
	})
	return authors, choice, err
}

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
		has := make(map[pack.ID]bool, len(refs))
		for _, ref := range refs {
			has[ref.ID] = true
		}
		err := w.Git.Push(ctx, dir.Dir, plan.updates, func(ctx context.Context, out io.Writer) error {
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
		row.Username, row.Password = "", nil
		row.CompletedAt = w.Now()
		if len(plan.kept) > 0 {
			row.StatusText = fmt.Sprintf("Done; %d refs were left where somebody else has moved them: %v", len(plan.kept), plan.kept)
		}
		return tx.SetImportedRefs(row.RepositoryID, plan.put)
	})
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

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// progress brings a lift's progress into the row, at most once a second.
type progress struct {
	*worker
	ctx  context.Context
	last time.Time
}

func (p *progress) report(now convert.Progress) {
	if p.Now().Sub(p.last) < time.Second {
		return
	}
	p.last = p.Now()
	err := p.save(p.ctx, func(_ *store.Tx, row *store.Import) error {
		switch now.Phase {
		case convert.Reading:
			row.Percent = percent(now)
			if now.Total >= 0 {
				row.CommitCount = &now.Total
			}
		case convert.Packing:
			row.PushPercent = percent(now)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errLost) && p.ctx.Err() == nil {
		p.Log.Warn("import: progress not written", "import", p.row.ID, "error", err)
	}
}

// percent is nil while the total is not known.
func percent(p convert.Progress) *int {
	switch {
	case p.Total < 0:
		return nil
	case p.Total == 0:
		return new(100)
	}
	return new(int(min(100, p.Done*100/p.Total)))
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
