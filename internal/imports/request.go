package imports

import (
	"context"
	"os"
	"strconv"

	"gantry"
	"gantry/internal/jobs"
	"gantry/internal/origin"
	"gantry/internal/repos"
	"gantry/internal/store"
)

// Start is what a caller asks for. VCSURL is required.
type Start struct {
	VCS         string // empty: find out
	VCSURL      string
	Username    string
	Password    string
	TFVCProject string
	SVNRoot     string
	Shape       gantry.Shape
}

// Update is a change to an import; see Service.Update.
type Update struct {
	Username *string
	Password *string
	Choice   *gantry.ProjectChoice
	SVNRoot  *string
	Shape    *gantry.Shape
}

func invalid(op, field string, code gantry.FieldCode, message string) error {
	return &gantry.Error{Kind: gantry.Invalid, Op: op, Fields: []gantry.FieldError{{Resource: "Import", Field: field, Code: code, Message: message}}}
}

// Start begins an import into a repository. It needs push access; an import that is still live, or a repository that
// holds somebody's commits, is gantry.Invalid.
func (s *Service) Start(ctx context.Context, p gantry.Principal, repo *repos.View, in Start) (*gantry.Import, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	fresh, err := s.newImport(repo, in)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, repo, fresh, func(row *store.Import) (err error) {
		if in.Password != "" {
			row.Password, err = s.seal(row.ID, in.Password)
		}
		return err
	})
}

// begin adds an import in place of an earlier one that has ended, and sets it to work. complete is called with the row
// that has an id now, before it is set to work; it may be called more than once, each time with another id.
func (s *Service) begin(ctx context.Context, repo *repos.View, fresh *store.Import, complete func(*store.Import) error) (*gantry.Import, error) {
	const op = "imports.Start"
	if err := s.checkOwn(ctx, op, repo); err != nil {
		return nil, err
	}
	var row store.Import
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		row = *fresh
		old, err := tx.ImportByRepository(repo.Repository.ID)
		switch {
		case err == nil:
			if err := checkEnded(op, old); err != nil {
				return err
			}
			if err := s.remove(ctx, tx, old); err != nil {
				return err
			}
		case gantry.KindOf(err) != gantry.NotFound:
			return err
		}
		if err := tx.InsertImport(&row); err != nil {
			return err
		}
		if err := complete(&row); err != nil {
			return err
		}
		return s.release(ctx, tx, &row)
	})
	if err != nil {
		return nil, err
	}
	return &row.Import, nil
}

// checkOwn refuses a repository that holds somebody's commits.
func (s *Service) checkOwn(ctx context.Context, op string, repo *repos.View) error {
	foreign, err := s.foreignRef(ctx, repo)
	if err == nil && foreign != "" {
		err = invalid(op, "repository", gantry.InvalidField, "the repository has commits of its own ("+foreign+"); import into an empty repository")
	}
	return err
}

// checkEnded refuses to replace an import that somebody works on.
func checkEnded(op string, row *store.Import) error {
	if row.Status.Live() {
		return invalid(op, "repository", gantry.AlreadyExists, "an import of this repository is under way; cancel it first")
	}
	return nil
}

func (s *Service) newImport(repo *repos.View, in Start) (*store.Import, error) {
	const op = "imports.Start"
	if in.VCSURL == "" {
		return nil, invalid(op, "vcs_url", gantry.MissingField, "")
	}
	address, credentials, err := origin.ParseAddress(in.VCSURL)
	if err != nil {
		return nil, invalid(op, "vcs_url", gantry.InvalidField, gantry.Message(err))
	}
	if err := s.Egress.Precheck(address.HostPort()); err != nil {
		return nil, invalid(op, "vcs_url", gantry.InvalidField, gantry.Message(err))
	}
	if in.Username == "" && in.Password == "" {
		in.Username, in.Password = credentials.Username, credentials.Password
	}
	status := gantry.StatusDetecting
	var vcs gantry.VCS
	if in.VCS != "" {
		var ok bool
		if vcs, ok = gantry.ParseVCS(in.VCS); !ok {
			return nil, invalid(op, "vcs", gantry.InvalidField, "vcs is one of git, subversion, mercurial, tfvc")
		}
		status = gantry.StatusImporting
	}
	if err := checkShape(op, vcs, in.Shape); err != nil {
		return nil, err
	}
	now := s.Now()
	row := &store.Import{Import: gantry.Import{
		RepositoryID: repo.Repository.ID,
		VCS:          vcs,
		VCSURL:       address.String(),
		TFVCProject:  in.TFVCProject,
		SVNRoot:      in.SVNRoot,
		Shape:        in.Shape,
		UseLFS:       gantry.LFSUndecided,
		CreatedAt:    now,
		UpdatedAt:    now,
	}, Username: in.Username, RawKept: true}
	restart(row, status)
	return row, nil
}

// foreignRef returns the name of a ref of the repository that no import put where it is, "" when there is none.
func (s *Service) foreignRef(ctx context.Context, repo *repos.View) (string, error) {
	dir, release, err := s.Repos.OpenRead(ctx, &repo.Repository)
	if err != nil {
		return "", err
	}
	defer release()
	refs, err := s.Git.Refs(ctx, dir)
	if err != nil {
		return "", err
	}
	if len(refs) == 0 {
		return "", nil
	}
	put, err := s.putRefs(ctx, repo.Repository.ID)
	if err != nil {
		return "", err
	}
	for _, ref := range refs {
		if put[ref.Name] != ref.ID.String() {
			return ref.Name, nil
		}
	}
	return "", nil
}

// Get returns the import of a repository; needs push access, as all operations on imports do.
func (s *Service) Get(ctx context.Context, p gantry.Principal, repo *repos.View) (*gantry.Import, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	var row *store.Import
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		var err error
		if row, err = tx.ImportByRepository(repo.Repository.ID); err != nil {
			return err
		}
		if row.Status.Live() && row.LeaseOwner == "" {
			ahead, err := tx.ImportsAhead(row)
			if err != nil {
				return err
			}
			if ahead > 0 {
				row.StatusText = "Waiting in the queue, imports ahead: " + strconv.Itoa(ahead)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &row.Import, nil
}

// Update changes an import and sets it to work again: with both credentials they replace the stored ones; with a choice
// it goes on with that project; with nothing at all it is restarted, from its last checkpoint where there is one. A
// restarted complete import brings in what is new at the origin. A root or shape alone is as an author that is mapped: from
// mapping on the import is mapped and pushed again.
func (s *Service) Update(ctx context.Context, p gantry.Principal, repo *repos.View, in Update) (*gantry.Import, error) {
	const op = "imports.Update"
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	switch {
	case in.Username != nil && in.Password == nil:
		return nil, invalid(op, "vcs_password", gantry.MissingField, "vcs_username and vcs_password go together")
	case in.Password != nil && in.Username == nil:
		return nil, invalid(op, "vcs_username", gantry.MissingField, "vcs_username and vcs_password go together")
	}
	if in.Username == nil && in.Choice == nil && (in.SVNRoot != nil || in.Shape != nil) {
		return s.reshape(ctx, repo, in)
	}
	return s.change(ctx, repo, func(tx *store.Tx, row *store.Import) error {
		if _, err := setShape(tx, row, in); err != nil {
			return err
		}
		switch {
		case in.Username != nil:
			return s.setCredentials(row, origin.Credentials{Username: *in.Username, Password: *in.Password})
		case in.Choice != nil:
			return choose(tx, row, *in.Choice)
		}
		restart(row, gantry.StatusImporting)
		return nil
	})
}

func (s *Service) setCredentials(row *store.Import, c origin.Credentials) error {
	sealed, err := s.seal(row.ID, c.Password)
	if err != nil {
		return err
	}
	row.Username, row.Password = c.Username, sealed
	switch row.Status {
	case gantry.StatusAuthFailed, gantry.StatusDetectionNeedsAuth:
		restart(row, gantry.StatusDetecting)
	default:
		restart(row, gantry.StatusImporting)
	}
	return nil
}

func choose(tx *store.Tx, row *store.Import, choice gantry.ProjectChoice) error {
	const op = "imports.Update"
	if row.Status != gantry.StatusDetectionFoundMultiple {
		return invalid(op, "vcs", gantry.InvalidField, "there is no project to choose while the import is "+string(row.Status))
	}
	for _, offered := range row.ProjectChoices {
		if !offered.Same(choice) {
			continue
		}
		row.VCS, row.TFVCProject, row.SVNRoot = offered.VCS, offered.TFVCProject, offered.SVNRoot
		if offered.VCSURL != "" {
			row.VCSURL = offered.VCSURL
		}
		restart(row, gantry.StatusImporting)
		return tx.SetImportShape(row.ID, row.SVNRoot, row.Shape)
	}
	return invalid(op, "vcs", gantry.InvalidField, "this project is not one of project_choices; send one of them whole")
}

// Cancel stops an import and deletes it with its staging and credentials, or an upload that is not complete. The
// repository stays as it is.
func (s *Service) Cancel(ctx context.Context, p gantry.Principal, repo *repos.View) error {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return err
	}
	_, uploading := s.Uploaded(ctx, p, repo)
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.ImportByRepository(repo.Repository.ID)
		if err != nil {
			return err
		}
		return s.remove(ctx, tx, row)
	})
	if gantry.KindOf(err) == gantry.NotFound && uploading == nil {
		err = nil
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(s.uploadDir(repo.Repository.ID))
}

func (s *Service) remove(ctx context.Context, tx *store.Tx, row *store.Import) error {
	if err := tx.DeleteImport(row.ID); err != nil {
		return err
	}
	return s.Queue.Enqueue(ctx, tx, jobs.Job{Kind: jobClean, Key: row.ID})
}

// Report returns how the import was verified, as JSON; NotFound until it was mapped.
func (s *Service) Report(ctx context.Context, p gantry.Principal, repo *repos.View) ([]byte, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	var report string
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		row, err := tx.ImportByRepository(repo.Repository.ID)
		if err != nil {
			return err
		}
		report = row.Report
		return nil
	})
	if err != nil {
		return nil, err
	}
	if report == "" {
		return nil, gantry.Errorf(gantry.NotFound, "imports.Report", "there is no report before the import was mapped")
	}
	return []byte(report), nil
}

func (s *Service) seal(importID int64, password string) ([]byte, error) {
	return s.Sealer.Seal("imports", strconv.FormatInt(importID, 10), "password", []byte(password))
}

func (s *Service) credentials(row *store.Import) (origin.Credentials, error) {
	if row.Password == nil {
		return origin.Credentials{Username: row.Username}, nil
	}
	plain, err := s.Sealer.Open("imports", strconv.FormatInt(row.ID, 10), "password", row.Password)
	if err != nil {
		return origin.Credentials{}, err
	}
	return origin.Credentials{Username: row.Username, Password: string(plain)}, nil
}
