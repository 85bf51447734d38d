// Package repos keeps hosted repositories: their records, who may do what with them, and their directories.
package repos

import (
	"context"
	"time"

	"gantry"
	"gantry/internal/store"
)

var unimplemented = gantry.Errorf(gantry.Internal, "repos", "unimplemented")

// View is a repository as one principal sees it.
type View struct {
	Repository gantry.Repository
	Owner      gantry.Account
	Permission gantry.Permission // at least PermRead
}

// Require returns nil when the view's permission covers perm, else Forbidden.
func Require(v *View, perm gantry.Permission) error { return unimplemented }

// Scopes returns the scopes of which a token needs one, to read or to write a repository.
func Scopes(v *View, write bool) []gantry.Scope { return nil }

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
	DefaultBranch *string
}

// Create adds an empty repository to an account: the principal's own, or an organization that it owns.
func (s *Service) Create(ctx context.Context, p gantry.Principal, owner string, in NewRepository) (*View, error) {
	return nil, unimplemented
}

// Get finds a repository that the principal may see.
func (s *Service) Get(ctx context.Context, p gantry.Principal, owner, name string) (*View, error) {
	return nil, unimplemented
}

// GetByID finds a repository that the principal may see.
func (s *Service) GetByID(ctx context.Context, p gantry.Principal, id int64) (*View, error) {
	return nil, unimplemented
}

// Update changes a repository. It needs PermAdmin.
func (s *Service) Update(ctx context.Context, p gantry.Principal, v *View, in Update) (*View, error) {
	return nil, unimplemented
}

// Delete removes a repository and what it holds. It needs PermAdmin.
func (s *Service) Delete(ctx context.Context, p gantry.Principal, v *View) error {
	return unimplemented
}

// ListForUser returns the repositories that the principal owns, collaborates on or sees through an organization, by full name, and how many there are.
func (s *Service) ListForUser(ctx context.Context, p gantry.Principal, page gantry.Page) ([]View, int, error) {
	return nil, 0, unimplemented
}

// ListForOwner returns the repositories of an account that the principal may see, by name, and how many there are.
func (s *Service) ListForOwner(ctx context.Context, p gantry.Principal, owner string, page gantry.Page) ([]View, int, error) {
	return nil, 0, unimplemented
}

// Collaborator is a user with a permission of their own on a repository.
type Collaborator struct {
	User       gantry.Account
	Permission gantry.Permission
}

// Collaborators returns them by login, and how many there are. It needs PermWrite.
func (s *Service) Collaborators(ctx context.Context, p gantry.Principal, v *View, page gantry.Page) ([]Collaborator, int, error) {
	return nil, 0, unimplemented
}

// Collaborator returns what a user may do with a repository, however it came by it. It needs PermWrite.
func (s *Service) Collaborator(ctx context.Context, p gantry.Principal, v *View, login string) (*Collaborator, error) {
	return nil, unimplemented
}

// SetCollaborator gives a user a permission on a repository. It needs PermAdmin.
func (s *Service) SetCollaborator(ctx context.Context, p gantry.Principal, v *View, login string, perm gantry.Permission) error {
	return unimplemented
}

// RemoveCollaborator takes a user's own permission away. It needs PermAdmin, or to be that user.
func (s *Service) RemoveCollaborator(ctx context.Context, p gantry.Principal, v *View, login string) error {
	return unimplemented
}

// Service decides about repositories. It is safe for concurrent use.
type Service struct{}

// OpenRead returns the directory of a repository for reading. Call release when done.
func (s *Service) OpenRead(ctx context.Context, repo *gantry.Repository) (dir string, release func(), err error) {
	return "", nil, unimplemented
}

// OpenWrite returns the directory of a repository for moving its refs, and keeps other writers out, in other processes too, until Close.
func (s *Service) OpenWrite(ctx context.Context, repo *gantry.Repository) (*Write, error) {
	return nil, unimplemented
}

// Write is a repository opened for moving its refs.
type Write struct {
	Dir string
}

// Close lets other writers in. When refs have moved it first records when, the size and the default branch.
func (w *Write) Close(ctx context.Context) error { return unimplemented }

// IsEmpty reports whether a repository has no refs.
func (s *Service) IsEmpty(ctx context.Context, repo *gantry.Repository) (bool, error) {
	return false, unimplemented
}

var _ = store.DB{}
var _ time.Time
