// Package repos keeps hosted repositories: their records, who may do what with them, and their directories.
package repos

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/store"
)

// Service decides about repositories. It is safe for concurrent use.
type Service struct {
	db   *store.DB
	git  *gitdir.Git
	root string
	now  func() time.Time
}

// New returns a Service whose repositories are directories below root, which it makes when it needs it. Several processes may share db and root.
func New(db *store.DB, git *gitdir.Git, root string, now func() time.Time) *Service {
	return &Service{db, git, root, now}
}

// View is a repository as one principal sees it.
type View struct {
	Repository gantry.Repository
	Owner      gantry.Account
	Permission gantry.Permission // at least PermRead
}

// NewRepository describes a repository to create.
type NewRepository struct {
	Name          string
	Description   string
	Homepage      string
	Private       bool
	DefaultBranch string // "main" when empty
}

// Update holds changes to a repository; nil fields stay.
type Update struct {
	Name          *string
	Description   *string
	Homepage      *string
	Private       *bool
	DefaultBranch *string // a branch that exists, unless the repository is empty
}

// Create adds an empty repository to an account: the principal's own, or an organization that it owns. A name that the
// account has used is a Conflict.
func (s *Service) Create(ctx context.Context, p gantry.Principal, owner string, in NewRepository) (*View, error) {
	const op = "repos.Create"
	if p.Anonymous() {
		return nil, gantry.Errorf(gantry.NotFound, op, "there is no such account")
	}
	if in.DefaultBranch == "" {
		in.DefaultBranch = "main"
	}
	now := s.now().UTC().Truncate(time.Second)
	v := &View{Permission: gantry.PermAdmin, Repository: gantry.Repository{
		Name: in.Name, Description: in.Description, Homepage: in.Homepage, Private: in.Private, DefaultBranch: in.DefaultBranch,
		CreatedAt: now, UpdatedAt: now,
	}}
	if err := check(op, &v.Repository); err != nil {
		return nil, err
	}
	if !p.Allows(Scopes(v, true)...) {
		return nil, gantry.Errorf(gantry.Forbidden, op, "the token needs the scope repo to create this repository")
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.AccountByLogin(owner)
		if err != nil {
			return err
		}
		if err := mayCreate(tx, p, account); err != nil {
			return err
		}
		v.Owner, v.Repository.OwnerID = *account, account.ID
		return tx.InsertRepository(&v.Repository)
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// mayCreate reports why a principal cannot add repositories to an account.
func mayCreate(tx *store.Tx, p gantry.Principal, account *gantry.Account) error {
	if account.ID == p.User.ID || p.Administers() {
		return nil
	}
	if account.Type == gantry.TypeOrganization {
		m, err := tx.Membership(account.ID, p.User.ID)
		if err == nil && m.Role == gantry.RoleOwner {
			return nil
		}
		if err != nil && gantry.KindOf(err) != gantry.NotFound {
			return err
		}
	}
	return gantry.Errorf(gantry.Forbidden, "repos.Create", "only an owner of %s can create repositories there", account.Login)
}

// Get finds a repository that the principal may see, by its owner's login and its name, compared without case.
func (s *Service) Get(ctx context.Context, p gantry.Principal, owner, name string) (*View, error) {
	return s.find(ctx, p, func(tx *store.Tx) (*store.Access, error) { return tx.RepositoryByName(userID(p), owner, name) })
}

// GetByID finds a repository that the principal may see.
func (s *Service) GetByID(ctx context.Context, p gantry.Principal, id int64) (*View, error) {
	return s.find(ctx, p, func(tx *store.Tx) (*store.Access, error) { return tx.Repository(userID(p), id) })
}

func (s *Service) find(ctx context.Context, p gantry.Principal, get func(*store.Tx) (*store.Access, error)) (v *View, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error { v, err = visible(p, tx, get); return err })
	return v, err
}

func visible(p gantry.Principal, tx *store.Tx, get func(*store.Tx) (*store.Access, error)) (*View, error) {
	a, err := get(tx)
	if err != nil {
		return nil, err
	}
	v := view(p, a)
	if v.Permission == gantry.PermNone {
		return nil, gantry.Errorf(gantry.NotFound, "", "there is no such repository") // as if it did not exist
	}
	return &v, nil
}

// Update changes a repository. It needs PermAdmin.
func (s *Service) Update(ctx context.Context, p gantry.Principal, v *View, in Update) (*View, error) {
	const op = "repos.Update"
	if err := Require(v, gantry.PermAdmin); err != nil {
		return nil, err
	}
	var w *Write
	if in.DefaultBranch != nil && *in.DefaultBranch != v.Repository.DefaultBranch {
		var err error
		if w, err = s.openForBranch(ctx, &v.Repository, *in.DefaultBranch); err != nil {
			return nil, err
		}
		defer w.lock.release() // and not Close: nothing is pushed
	}
	var changed *View
	err := s.db.Write(ctx, func(tx *store.Tx) (err error) {
		changed, err = visible(p, tx, func(tx *store.Tx) (*store.Access, error) { return tx.Repository(userID(p), v.Repository.ID) })
		if err != nil {
			return err
		}
		if err := Require(changed, gantry.PermAdmin); err != nil {
			return err
		}
		r := &changed.Repository
		set(&r.Name, in.Name)
		set(&r.Description, in.Description)
		set(&r.Homepage, in.Homepage)
		set(&r.Private, in.Private)
		set(&r.DefaultBranch, in.DefaultBranch)
		if err := check(op, r); err != nil {
			return err
		}
		r.UpdatedAt = s.now().UTC().Truncate(time.Second)
		return tx.UpdateRepository(r)
	})
	if err == nil && w != nil {
		err = s.git.SetHead(ctx, w.Dir, branches+*in.DefaultBranch)
	}
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Delete removes a repository and what it holds. It needs PermAdmin.
func (s *Service) Delete(ctx context.Context, p gantry.Principal, v *View) error {
	if err := Require(v, gantry.PermAdmin); err != nil {
		return err
	}
	lock, err := s.lock(ctx, v.Repository.ID)
	if err != nil {
		return err
	}
	defer lock.release()
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return tx.DeleteRepository(v.Repository.ID) }); err != nil {
		return err
	}
	return lock.removeAll()
}

// ListForUser returns a page of the repositories that the principal owns, collaborates on or sees as a member, by full name,
// and the number of all.
func (s *Service) ListForUser(ctx context.Context, p gantry.Principal, page gantry.Page) ([]View, int, error) {
	return s.list(ctx, p, func(tx *store.Tx) ([]store.Access, int, error) {
		return tx.UserRepositories(userID(p), publicOnly(p), page)
	})
}

// ListForOwner returns a page of the repositories of an account that the principal may see, by name, and the number of all.
func (s *Service) ListForOwner(ctx context.Context, p gantry.Principal, owner string, page gantry.Page) ([]View, int, error) {
	return s.list(ctx, p, func(tx *store.Tx) ([]store.Access, int, error) {
		account, err := tx.AccountByLogin(owner)
		if err != nil {
			return nil, 0, err
		}
		return tx.OwnerRepositories(userID(p), account.ID, publicOnly(p), p.Administers(), page)
	})
}

func (s *Service) list(ctx context.Context, p gantry.Principal, get func(*store.Tx) ([]store.Access, int, error)) (list []View, total int, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error {
		found, n, err := get(tx)
		for i := range found {
			list = append(list, view(p, &found[i]))
		}
		total = n
		return err
	})
	return list, total, err
}

const maxDescription, maxHomepage = 1000, 1000 // bytes

// check reports what is wrong with the fields of a repository.
func check(op string, r *gantry.Repository) error {
	var fields []gantry.FieldError
	if f := gantry.CheckRepositoryName(r.Name); f != nil {
		fields = append(fields, *f)
	}
	invalid := func(field, message string) {
		fields = append(fields, gantry.FieldError{Resource: "Repository", Field: field, Code: gantry.InvalidField, Message: message})
	}
	if len(r.Description) > maxDescription || !plain(r.Description) {
		invalid("description", "description may have up to 1000 bytes and no control characters")
	}
	if len(r.Homepage) > maxHomepage || !plain(r.Homepage) {
		invalid("homepage", "homepage may have up to 1000 bytes and no control characters")
	}
	if err := gitdir.CheckRefName("refs/heads/" + r.DefaultBranch); err != nil {
		invalid("default_branch", gantry.Message(err))
	}
	if len(fields) > 0 {
		return &gantry.Error{Kind: gantry.Invalid, Op: op, Fields: fields}
	}
	return nil
}

func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }
