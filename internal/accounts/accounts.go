// Package accounts keeps users, organizations and memberships.
package accounts

import (
	"context"
	"time"

	"gantry"
	"gantry/internal/store"
)

var unimplemented = gantry.Errorf(gantry.Internal, "accounts", "unimplemented")

// Service decides about accounts. It is safe for concurrent use.
type Service struct{}

// New returns a Service over a database.
func New(db *store.DB, now func() time.Time) *Service { return &Service{} }

// NewUser describes a user to create.
type NewUser struct {
	Login     string
	Name      string
	Email     string
	SiteAdmin bool
}

// CreateUser adds a user. The caller has been found to be allowed to.
func (s *Service) CreateUser(ctx context.Context, in NewUser) (*gantry.Account, error) {
	return nil, unimplemented
}

// NewOrganization describes an organization to create.
type NewOrganization struct {
	Login string
	Name  string
	Owner string // login of the user who owns it at first
}

// CreateOrganization adds an organization with one owner. The caller has been found to be allowed to.
func (s *Service) CreateOrganization(ctx context.Context, in NewOrganization) (*gantry.Account, error) {
	return nil, unimplemented
}

// ByLogin finds an account, compared without case.
func (s *Service) ByLogin(ctx context.Context, login string) (*gantry.Account, error) {
	return nil, unimplemented
}

// ByID finds an account.
func (s *Service) ByID(ctx context.Context, id int64) (*gantry.Account, error) {
	return nil, unimplemented
}

// Profile holds changes to an account; nil fields stay.
type Profile struct {
	Name  *string
	Email *string
}

// UpdateProfile changes the principal's own account.
func (s *Service) UpdateProfile(ctx context.Context, p gantry.Principal, in Profile) (*gantry.Account, error) {
	return nil, unimplemented
}

// List returns users, in id order, of ids above since.
func (s *Service) ListUsers(ctx context.Context, since int64, limit int) ([]gantry.Account, error) {
	return nil, unimplemented
}

// Organizations returns those that a user belongs to, by login, and how many there are.
func (s *Service) Organizations(ctx context.Context, userID int64, page gantry.Page) ([]gantry.Account, int, error) {
	return nil, 0, unimplemented
}

// Members returns the users of an organization, by login, and how many there are. Only members and site administrators see them; others see none.
func (s *Service) Members(ctx context.Context, p gantry.Principal, orgID int64, page gantry.Page) ([]gantry.Account, int, error) {
	return nil, 0, unimplemented
}

// Membership returns a user's part in an organization, NotFound when there is none.
func (s *Service) Membership(ctx context.Context, orgID, userID int64) (*gantry.Membership, error) {
	return nil, unimplemented
}
