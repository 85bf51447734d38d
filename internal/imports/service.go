// Package imports decides everything about importing a repository: what a request may do to an import, and how a worker
// takes it from detection to a pushed result.
//
// The row of an import is the truth; a job only says that it may be worth a look. Whoever works on an import has claimed
// it: a claim gives the row a new generation and a lease. Every write of a worker names its generation, so a worker that
// was cancelled, restarted or overtaken while it slept changes nothing any more.
package imports

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/jobs"
	"gantry/internal/repos"
	"gantry/internal/secret"
	"gantry/internal/store"
)

// Options are what a Service needs. All fields are required unless said otherwise.
type Options struct {
	DB     *store.DB
	Queue  *jobs.Queue
	Sealer *secret.Sealer
	Repos  *repos.Service
	Git    *gitdir.Git
	Egress *egress.Egress
	Log    *slog.Logger
	Now    func() time.Time

	Dir string // holds one staging directory for each import

	Workers            int           // imports at work at once in this process
	Lease              time.Duration // after this long without a sign of life another process may take an import over
	Retention          time.Duration // how long raw data is kept after an import is complete
	DefaultBranch      string
	LargeFileThreshold int64 // bytes
	UploadLimit        int64 // bytes of an uploaded file
}

// Service answers requests about imports and does their work.
type Service struct {
	Options
	node *node
}

const (
	jobWork     = "import"          // move an import on
	jobClean    = "import-cleanup"  // delete the staging of an import that is gone
	jobMaintain = "import-maintain" // make a repository that was pushed to cheap to serve
)

// New makes a Service and registers its jobs with the queue. Run is to run beside the
// queue, Close is called after both have stopped.
func New(opt Options) (*Service, error) {
	node, err := newNode(opt.nodesDir())
	if err != nil {
		return nil, err
	}
	s := &Service{Options: opt, node: node}
	s.Queue.Handle(jobWork, jobs.Options{Workers: opt.Workers}, s.work)
	s.Queue.Handle(jobClean, jobs.Options{Workers: 1}, s.clean)
	s.Queue.Handle(jobMaintain, jobs.Options{Workers: 1}, func(ctx context.Context, job jobs.Job) error {
		return s.Repos.Maintain(ctx, job.Key)
	})
	return s, nil
}

// Close gives up this process's name.
func (s *Service) Close() error { return s.node.close() }

// staging is the directory of an import's raw data. Ids are never given twice, so it never belongs to another import.
func (s *Service) staging(importID int64) string {
	return filepath.Join(s.Dir, strconv.FormatInt(importID, 10))
}

// change runs a transaction on the import of a repository for a request: it loads the row, lets edit alter it, gives it
// a new generation, which takes it from whoever works on it, and enqueues work if the new state calls for it.
func (s *Service) change(ctx context.Context, repo *repos.View, edit func(*store.Tx, *store.Import) error) (*gantry.Import, error) {
	var row *store.Import
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		if row, err = tx.ImportByRepository(repo.Repository.ID); err != nil {
			return err
		}
		if err := edit(tx, row); err != nil {
			return err
		}
		return s.release(ctx, tx, row)
	})
	if err != nil {
		return nil, err
	}
	return &row.Import, nil
}

// release saves a row under a new generation without an owner and enqueues work for it.
func (s *Service) release(ctx context.Context, tx *store.Tx, row *store.Import) error {
	held := row.Generation
	row.Generation++
	row.LeaseOwner, row.LeaseUntil = "", time.Time{}
	row.UpdatedAt = s.Now()
	if err := tx.SaveImport(row, held); err != nil {
		return err
	}
	if !row.Status.Live() {
		return nil
	}
	return s.Queue.Enqueue(ctx, tx, jobs.Job{Kind: jobWork, Key: row.ID, Generation: row.Generation})
}

// restart takes a row back to a working state and forgets how it ended.
func restart(row *store.Import, to gantry.ImportStatus) {
	row.Status = to
	row.StatusText = statusTexts[to]
	row.FailedStep, row.Message = "", ""
	row.ProjectChoices = nil
	row.Percent, row.CommitCount, row.PushPercent = nil, nil, nil
	row.CompletedAt = time.Time{}
}

// statusTexts are the words shown for a state as long as nothing more precise is known.
var statusTexts = map[gantry.ImportStatus]string{
	gantry.StatusDetecting:              "Looking for a repository at the address...",
	gantry.StatusImporting:              "Importing...",
	gantry.StatusMapping:                "Mapping authors and branches...",
	gantry.StatusPushing:                "Pushing to the repository...",
	gantry.StatusComplete:               "Done",
	gantry.StatusAuthFailed:             "The origin refused the credentials. Send a user name and a password that may read it.",
	gantry.StatusDetectionNeedsAuth:     "The origin asks for credentials. Send a user name and a password that may read it.",
	gantry.StatusDetectionFoundNothing:  "No Git, Subversion, Mercurial or TFVC repository was recognised at the address. Cancel the import and start it again with the right address.",
	gantry.StatusDetectionFoundMultiple: "Several projects were found. Choose one of them.",
}
