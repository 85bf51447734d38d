package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/store"
)

// OpenRead returns the bare repository of a record, for reading its objects and refs until release is called. It does not
// keep writers out: git's own files are replaced whole.
func (s *Service) OpenRead(ctx context.Context, r *gantry.Repository) (dir string, release func(), err error) {
	dir = s.dir(r.ID)
	if exists(dir) {
		return dir, func() {}, nil
	}
	w, err := s.OpenWrite(ctx, r) // which makes it
	if err != nil {
		return "", nil, err
	}
	w.lock.release()
	return dir, func() {}, nil
}

func exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// IsEmpty reports whether a repository has no refs.
func (s *Service) IsEmpty(ctx context.Context, r *gantry.Repository) (bool, error) {
	dir := s.dir(r.ID)
	if !exists(dir) {
		return true, nil
	}
	refs, err := s.git.Refs(ctx, dir)
	return len(refs) == 0, err
}

// Write is a repository that is open for moving its refs. No other is open on the same repository.
type Write struct {
	Dir string

	service    *Service
	repository gantry.Repository
	lock       *lock
	before     []gitdir.Ref
	head       string
}

// OpenWrite opens a repository for moving its refs and changing its HEAD, and waits until nobody else has it open so, in this
// or in another process. Close it. A repository that was deleted meanwhile is NotFound.
func (s *Service) OpenWrite(ctx context.Context, r *gantry.Repository) (*Write, error) {
	l, err := s.lock(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	w, err := s.open(ctx, r.ID, l)
	if err == nil {
		return w, nil
	}
	if gantry.KindOf(err) == gantry.NotFound {
		// Who waited for Delete has made the lock's file again.
		if left := l.removeAll(); left != nil {
			err = left
		}
	}
	l.release()
	return nil, err
}

// open reads what Close compares with. The directory is made when a repository is used for the first time.
func (s *Service) open(ctx context.Context, id int64, l *lock) (*Write, error) {
	w := &Write{Dir: l.dir, service: s, lock: l}
	err := s.db.Read(ctx, func(tx *store.Tx) error {
		a, err := tx.Repository(0, id)
		if err == nil {
			w.repository = a.Repository
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !exists(l.dir) {
		if err := s.make(ctx, l.dir, w.repository.DefaultBranch); err != nil {
			return nil, err
		}
	}
	if err := s.git.Settle(ctx, l.dir); err != nil {
		return nil, err
	}
	if w.before, err = s.git.Refs(ctx, l.dir); err != nil {
		return nil, err
	}
	w.head, err = s.git.Head(l.dir)
	return w, err
}

// make makes an empty repository appear at dir complete.
func (s *Service) make(ctx context.Context, dir, defaultBranch string) error {
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil { // of a process that was killed
		return fmt.Errorf("repos: %w", err)
	}
	if err := s.git.Init(ctx, unfinished, defaultBranch); err != nil {
		return err
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return fmt.Errorf("repos: %w", err)
	}
	return nil
}

// Close lets other writers in. If refs or HEAD have moved it first records when, how large the repository is now, and its default
// branch: the one that HEAD names when that exists, else the likeliest of those that do.
func (w *Write) Close(ctx context.Context) error {
	defer w.lock.release()
	s := w.service
	refs, err := s.git.Refs(ctx, w.Dir)
	if err != nil {
		return err
	}
	head, err := s.git.Head(w.Dir)
	if err != nil {
		return err
	}
	if slices.Equal(refs, w.before) && head == w.head {
		return nil
	}
	branch := defaultBranch(refs, head, w.repository.DefaultBranch)
	if want := branches + branch; want != head {
		if err := s.git.SetHead(ctx, w.Dir, want); err != nil {
			return err
		}
	}
	size, err := diskUsage(w.Dir)
	if err != nil {
		return fmt.Errorf("repos: size of %s: %w", w.Dir, err)
	}
	now := s.now().UTC().Truncate(time.Second)
	return s.db.Write(ctx, func(tx *store.Tx) error { return tx.RecordPush(w.repository.ID, now, (size+1023)/1024, branch) })
}

const branches = "refs/heads/"

// defaultBranch chooses the branch that clones start with, among refs in the order of their names.
func defaultBranch(refs []gitdir.Ref, head, recorded string) string {
	exists := func(branch string) bool {
		return slices.ContainsFunc(refs, func(r gitdir.Ref) bool { return r.Name == branches+branch })
	}
	for _, branch := range []string{strings.TrimPrefix(head, branches), recorded, "main", "master"} {
		if exists(branch) {
			return branch
		}
	}
	for _, r := range refs {
		if branch, ok := strings.CutPrefix(r.Name, branches); ok {
			return branch
		}
	}
	return recorded
}

// openForBranch opens a repository whose default branch is to be one that exists, or any in an empty repository.
func (s *Service) openForBranch(ctx context.Context, r *gantry.Repository, branch string) (*Write, error) {
	w, err := s.OpenWrite(ctx, r)
	if err != nil {
		return nil, err
	}
	is := func(ref gitdir.Ref) bool { return ref.Name == branches+branch }
	if len(w.before) > 0 && !slices.ContainsFunc(w.before, is) {
		w.lock.release()
		return nil, &gantry.Error{Kind: gantry.Invalid, Op: "repos.Update", Fields: []gantry.FieldError{{
			Resource: "Repository", Field: "default_branch", Code: gantry.InvalidField, Message: "there is no branch " + branch + "; push it first",
		}}}
	}
	return w, nil
}

// diskUsage is the sum of the sizes of the files below dir. Files that git removes meanwhile do not count.
func diskUsage(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}

// Maintain makes a repository cheap to serve: see gitdir.Maintain. It does nothing to one that is gone.
func (s *Service) Maintain(ctx context.Context, id int64) error {
	w, err := s.OpenWrite(ctx, &gantry.Repository{ID: id})
	if gantry.KindOf(err) == gantry.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.git.Maintain(ctx, w.Dir), w.Close(context.WithoutCancel(ctx)))
}
