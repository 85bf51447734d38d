package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gantry"
	"gantry/internal/repos"
	"gantry/internal/store"
)

const (
	// uploadPatience is how long an upload that is not complete is kept after its last byte.
	uploadPatience = 7 * 24 * time.Hour
	// keptFree is what an upload must leave free on disk, in bytes.
	keptFree = 1 << 30
)

// Unknown is a number that a caller does not tell.
const Unknown = -1

// Part is what one request brings of a file, and how that is to be imported.
type Part struct {
	Whole  bool  // it is all of the file, in place of what is there
	Offset int64 // of its first byte; Unknown: where the upload stands, for a part without content
	Length int64 // Unknown with a whole file only
	Total  int64 // size of the file; Unknown with an unknown Length only

	SVNRoot string       // this and Shape count with the part that completes the file
	Shape   gantry.Shape // as in Start
}

// Upload is how far an upload has come. Total is Unknown as long as nobody told.
type Upload struct{ Received, Total int64 }

// OffsetError is in the chain of the error about a part that does not begin where the upload stands.
type OffsetError struct{ Received int64 }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("the upload has come to byte %d: go on from there, or send the whole file", e.Received)
}

// Receive takes a part of a file that is to be imported: a Subversion dump or a Git bundle. It needs push access, and a
// repository that an import may be started into. The last part starts the import, which is returned; before, it is nil.
// What was received of a part that ended early is kept and counts. A part at another place than where the upload stands is
// an OffsetError, another request at work on the same upload a gantry.Conflict, a file beyond the limit gantry.TooLarge.
func (s *Service) Receive(ctx context.Context, p gantry.Principal, repo *repos.View, part Part, body io.Reader) (Upload, *gantry.Import, error) {
	if err := s.mayUpload(ctx, repo, part); err != nil {
		return Upload{}, nil, err
	}
	u, err := s.openUpload(repo.Repository.ID)
	if err != nil {
		return Upload{}, nil, err
	}
	defer u.close()
	if err := u.begin(part); err != nil {
		return Upload{}, nil, err
	}
	if err := s.checkRoom(part.Total - u.received); err != nil {
		return Upload{}, nil, err
	}
	if err := u.receive(part, body, s.UploadLimit); err != nil {
		return Upload{}, nil, err
	}
	state := Upload{Received: u.received, Total: u.total}
	if u.received < u.total {
		return state, nil, nil
	}
	imp, err := s.startUploaded(ctx, repo, u, part)
	return state, imp, err
}

// Uploaded tells how far the upload into a repository has come; NotFound when there is none.
func (s *Service) Uploaded(ctx context.Context, p gantry.Principal, repo *repos.View) (Upload, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return Upload{}, err
	}
	name, total, err := findUpload(s.uploadDir(repo.Repository.ID))
	if err != nil {
		return Upload{}, err
	}
	if name == "" {
		return Upload{}, gantry.Errorf(gantry.NotFound, "imports.Uploaded", "nothing is being uploaded")
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Upload{}, gantry.Errorf(gantry.NotFound, "imports.Uploaded", "nothing is being uploaded")
	}
	if err != nil {
		return Upload{}, err
	}
	return Upload{Received: info.Size(), Total: total}, nil
}

// mayUpload refuses what would be refused when the file is complete, before it is sent.
func (s *Service) mayUpload(ctx context.Context, repo *repos.View, part Part) error {
	const op = "imports.Receive"
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return err
	}
	if part.Total > s.UploadLimit {
		return tooLarge(s.UploadLimit)
	}
	if err := checkShape(op, "", part.Shape); err != nil {
		return err
	}
	if err := s.checkOwn(ctx, op, repo); err != nil {
		return err
	}
	return s.DB.Read(ctx, func(tx *store.Tx) error {
		row, err := tx.ImportByRepository(repo.Repository.ID)
		if gantry.KindOf(err) == gantry.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		return checkEnded(op, row)
	})
}

func tooLarge(limit int64) error {
	return gantry.Errorf(gantry.TooLarge, "imports.Receive", "The file is larger than the %d bytes that this server accepts.", limit)
}

// checkRoom refuses what the disk cannot hold. An unknown size is bounded while it comes.
func (s *Service) checkRoom(more int64) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(s.Dir, &stat); err != nil {
		return err
	}
	if free := int64(stat.Bavail) * stat.Bsize; free-max(more, 0) < keptFree {
		return noRoom(nil)
	}
	return nil
}

func noRoom(cause error) error {
	return &gantry.Error{Kind: gantry.Unavailable, Op: "imports.Receive", Msg: "The server has not enough room on disk for this file; tell its administrator.", Err: cause}
}

// startUploaded makes an import of a complete upload. The file gets a second name in the staging directory before the
// import's row exists, and loses its first one afterwards, so that it is not lost at any moment.
func (s *Service) startUploaded(ctx context.Context, repo *repos.View, u *upload, last Part) (*gantry.Import, error) {
	now := s.Now()
	fresh := &store.Import{Import: gantry.Import{
		RepositoryID: repo.Repository.ID, Uploaded: true, SVNRoot: last.SVNRoot, Shape: last.Shape,
		UseLFS: gantry.LFSUndecided, CreatedAt: now, UpdatedAt: now,
	}, RawKept: true}
	restart(fresh, gantry.StatusDetecting)
	imp, err := s.begin(ctx, repo, fresh, func(row *store.Import) error {
		if err := os.MkdirAll(s.staging(row.ID), 0o700); err != nil {
			return err
		}
		err := os.Link(u.name, s.uploadedFile(row.ID))
		if errors.Is(err, fs.ErrNotExist) {
			return gantry.Errorf(gantry.Conflict, "imports.Receive", "the upload was cancelled")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return imp, os.RemoveAll(u.dir.Name())
}

// uploadedFile is the origin of an import that was uploaded.
func (s *Service) uploadedFile(importID int64) string {
	return filepath.Join(s.staging(importID), "upload")
}

// uploadDir holds the file that is uploaded into a repository; its name is its size.
func (s *Service) uploadDir(repositoryID int64) string {
	return filepath.Join(s.uploadsDir(), strconv.FormatInt(repositoryID, 10))
}

func (o Options) uploadsDir() string { return filepath.Join(o.Dir, "uploads") }

// expireUploads deletes uploads that nobody goes on with.
func (s *Service) expireUploads() error {
	entries, err := os.ReadDir(s.uploadsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		repositoryID, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil {
			continue
		}
		if err := s.expireUpload(repositoryID); err != nil && gantry.KindOf(err) != gantry.Conflict {
			return err
		}
	}
	return nil
}

func (s *Service) expireUpload(repositoryID int64) error {
	u, err := s.openUpload(repositoryID)
	if err != nil {
		return err
	}
	defer u.close()
	last, err := u.dir.Stat()
	if u.file != nil {
		last, err = u.file.Stat()
	}
	if err != nil || s.Now().Sub(last.ModTime()) < uploadPatience {
		return err
	}
	return os.RemoveAll(u.dir.Name())
}
