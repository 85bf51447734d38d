// Package accounts keeps users, organizations and memberships.
package accounts

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gantry"
	"gantry/internal/store"
)

// Service decides about accounts. It is safe for concurrent use.
type Service struct {
	db  *store.DB
	now func() time.Time
}

// New returns a Service over a database.
func New(db *store.DB, now func() time.Time) *Service { return &Service{db, now} }

// NewUser describes a user to create.
type NewUser struct {
	Login     string
	Name      string
	Email     string // may be empty
	SiteAdmin bool
}

// CreateUser adds a user. Whether the caller may has been decided. A login or an e-mail address that is taken is a Conflict.
func (s *Service) CreateUser(ctx context.Context, in NewUser) (*gantry.Account, error) {
	const op = "accounts.CreateUser"
	if err := invalid(op, gantry.CheckLogin(in.Login), checkName("User", in.Name), checkEmail(in.Email)); err != nil {
		return nil, err
	}
	a := s.newAccount(gantry.TypeUser, in.Login, in.Name)
	a.Email, a.SiteAdmin = in.Email, in.SiteAdmin
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertAccount(a) }); err != nil {
		return nil, err
	}
	return a, nil
}

// NewOrganization describes an organization to create.
type NewOrganization struct {
	Login string
	Name  string
	Owner string // login of the user who owns it at first
}

// CreateOrganization adds an organization with one owner. Whether the caller may has been decided. A login that is taken is a Conflict.
func (s *Service) CreateOrganization(ctx context.Context, in NewOrganization) (*gantry.Account, error) {
	const op = "accounts.CreateOrganization"
	if err := invalid(op, gantry.CheckLogin(in.Login), checkName("Organization", in.Name)); err != nil {
		return nil, err
	}
	a := s.newAccount(gantry.TypeOrganization, in.Login, in.Name)
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		owner, err := tx.AccountByLogin(in.Owner)
		switch {
		case gantry.KindOf(err) == gantry.NotFound, err == nil && owner.Type != gantry.TypeUser:
			return invalid(op, &gantry.FieldError{Resource: "Organization", Field: "admin", Code: gantry.Missing, Message: "the owner must be a user that exists"})
		case err != nil:
			return err
		}
		if err := tx.InsertAccount(a); err != nil {
			return err
		}
		return tx.SetMembership(gantry.Membership{OrgID: a.ID, UserID: owner.ID, Role: gantry.RoleOwner})
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (s *Service) newAccount(kind gantry.AccountType, login, name string) *gantry.Account {
	now := s.now().UTC().Truncate(time.Second)
	return &gantry.Account{Type: kind, Login: login, Name: name, CreatedAt: now, UpdatedAt: now}
}

// ByLogin finds an account, compared without case.
func (s *Service) ByLogin(ctx context.Context, login string) (a *gantry.Account, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error { a, err = tx.AccountByLogin(login); return err })
	return a, err
}

// ByID finds an account.
func (s *Service) ByID(ctx context.Context, id int64) (a *gantry.Account, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error { a, err = tx.Account(id); return err })
	return a, err
}

// Profile holds changes to an account; nil fields stay.
type Profile struct {
	Name  *string
	Email *string
}

// UpdateProfile changes the principal's own account.
func (s *Service) UpdateProfile(ctx context.Context, p gantry.Principal, in Profile) (*gantry.Account, error) {
	const op = "accounts.UpdateProfile"
	if p.Anonymous() {
		return nil, gantry.Errorf(gantry.NotFound, op, "there is no user to change")
	}
	var a *gantry.Account
	err := s.db.Write(ctx, func(tx *store.Tx) (err error) {
		if a, err = tx.Account(p.User.ID); err != nil {
			return err
		}
		if in.Name != nil {
			a.Name = *in.Name
		}
		if in.Email != nil {
			a.Email = *in.Email
		}
		if err := invalid(op, checkName("User", a.Name), checkEmail(a.Email)); err != nil {
			return err
		}
		a.UpdatedAt = s.now().UTC().Truncate(time.Second)
		return tx.UpdateAccount(a)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// ListUsers returns users in id order, of ids above since, at most gantry.MaxPageSize of them.
func (s *Service) ListUsers(ctx context.Context, since int64, limit int) (list []gantry.Account, err error) {
	limit = gantry.Page{Size: limit}.Limit()
	err = s.db.Read(ctx, func(tx *store.Tx) error { list, err = tx.Users(since, limit); return err })
	return list, err
}

// Organizations returns a page of those that a user belongs to, by login, and the number of all.
func (s *Service) Organizations(ctx context.Context, userID int64, page gantry.Page) (list []gantry.Account, total int, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error { list, total, err = tx.Organizations(userID, page); return err })
	return list, total, err
}

// Members returns a page of an organization's users, by login, and the number of all. Members and site administrators see
// them, others see none.
func (s *Service) Members(ctx context.Context, p gantry.Principal, orgID int64, page gantry.Page) (list []gantry.Account, total int, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error {
		if p.Anonymous() {
			return nil
		}
		if !p.Administers() {
			_, err := tx.Membership(orgID, p.User.ID)
			if gantry.KindOf(err) == gantry.NotFound {
				return nil
			}
			if err != nil {
				return err
			}
		}
		list, total, err = tx.Members(orgID, page)
		return err
	})
	return list, total, err
}

// Membership finds a user's part in an organization.
func (s *Service) Membership(ctx context.Context, orgID, userID int64) (m *gantry.Membership, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error { m, err = tx.Membership(orgID, userID); return err })
	return m, err
}

// SetMembership makes a user a member of an organization, or changes the role. Whether the caller may has been decided.
func (s *Service) SetMembership(ctx context.Context, m gantry.Membership) error {
	const op = "accounts.SetMembership"
	return s.db.Write(ctx, func(tx *store.Tx) error {
		for id, want := range map[int64]gantry.AccountType{m.OrgID: gantry.TypeOrganization, m.UserID: gantry.TypeUser} {
			a, err := tx.Account(id)
			if err != nil {
				return err
			}
			if a.Type != want {
				return gantry.Errorf(gantry.Invalid, op, "%s is not a %s", a.Login, strings.ToLower(string(want)))
			}
		}
		return tx.SetMembership(m)
	})
}

// invalid joins what is wrong with a request's fields into one error, nil when nothing is.
func invalid(op string, checks ...*gantry.FieldError) error {
	var fields []gantry.FieldError
	for _, f := range checks {
		if f != nil {
			fields = append(fields, *f)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return &gantry.Error{Kind: gantry.Invalid, Op: op, Fields: fields}
}

const maxName = 255

func checkName(resource, name string) *gantry.FieldError {
	if len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl) {
		return nil
	}
	return &gantry.FieldError{Resource: resource, Field: "name", Code: gantry.InvalidField, Message: "name may have up to 255 bytes and no control characters"}
}

// emailPattern is the part of RFC 5321 that mail systems really use: no quoted local parts, no address literals, no comments.
var emailPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*" +
	`@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)

const maxEmail, maxEmailLocal = 254, 64

func checkEmail(email string) *gantry.FieldError {
	if email == "" || len(email) <= maxEmail && strings.IndexByte(email, '@') <= maxEmailLocal && emailPattern.MatchString(email) {
		return nil
	}
	return &gantry.FieldError{Resource: "User", Field: "email", Code: gantry.InvalidField, Message: "email must look like name@example.com"}
}
