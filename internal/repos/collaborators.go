package repos

import (
	"context"

	"gantry"
	"gantry/internal/store"
)

// Collaborator is a user with what they may do with a repository.
type Collaborator struct {
	User       gantry.Account
	Permission gantry.Permission
}

// Collaborators returns a page of the users who were given a permission on a repository, by login, and the number of all.
// It needs PermWrite.
func (s *Service) Collaborators(ctx context.Context, p gantry.Principal, v *View, page gantry.Page) (list []Collaborator, total int, err error) {
	if err := Require(v, gantry.PermWrite); err != nil {
		return nil, 0, err
	}
	err = s.db.Read(ctx, func(tx *store.Tx) error {
		found, n, err := tx.Collaborators(v.Repository.ID, page)
		for _, c := range found {
			list = append(list, Collaborator(c))
		}
		total = n
		return err
	})
	return list, total, err
}

// Collaborator returns what a user may do with a repository, however they came by it. It needs PermWrite.
func (s *Service) Collaborator(ctx context.Context, p gantry.Principal, v *View, login string) (*Collaborator, error) {
	if err := Require(v, gantry.PermWrite); err != nil {
		return nil, err
	}
	var c *Collaborator
	err := s.db.Read(ctx, func(tx *store.Tx) error {
		user, err := tx.AccountByLogin(login)
		if err != nil {
			return err
		}
		a, err := tx.Repository(user.ID, v.Repository.ID)
		if err != nil {
			return err
		}
		c = &Collaborator{*user, permission(user, user.SiteAdmin, a)}
		return nil
	})
	return c, err
}

// SetCollaborator gives a user a permission on a repository in place of an earlier one. It needs PermAdmin.
func (s *Service) SetCollaborator(ctx context.Context, p gantry.Principal, v *View, login string, perm gantry.Permission) error {
	const op = "repos.SetCollaborator"
	if err := Require(v, gantry.PermAdmin); err != nil {
		return err
	}
	if perm < gantry.PermRead || perm > gantry.PermAdmin {
		return &gantry.Error{Kind: gantry.Invalid, Op: op, Fields: []gantry.FieldError{{
			Resource: "RepositoryInvitation", Field: "permission", Code: gantry.InvalidField, Message: "permission must be pull, push or admin",
		}}}
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		user, err := tx.AccountByLogin(login)
		if err != nil {
			return err
		}
		if user.Type != gantry.TypeUser || user.ID == v.Repository.OwnerID {
			return &gantry.Error{Kind: gantry.Invalid, Op: op, Fields: []gantry.FieldError{{
				Resource: "RepositoryInvitation", Field: "login", Code: gantry.InvalidField, Message: "a collaborator is a user other than the owner",
			}}}
		}
		return tx.SetCollaborator(v.Repository.ID, user.ID, perm)
	})
}

// RemoveCollaborator takes away what a user was given on a repository; without that it does nothing. It needs PermAdmin,
// except for oneself.
func (s *Service) RemoveCollaborator(ctx context.Context, p gantry.Principal, v *View, login string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		user, err := tx.AccountByLogin(login)
		if err != nil {
			return err
		}
		if user.ID != userID(p) {
			if err := Require(v, gantry.PermAdmin); err != nil {
				return err
			}
		}
		return tx.DeleteCollaborator(v.Repository.ID, user.ID)
	})
}
