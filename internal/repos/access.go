package repos

import (
	"gantry"
	"gantry/internal/store"
)

// view is what a principal sees of a repository; PermNone when it sees nothing.
func view(p gantry.Principal, a *store.Access) View {
	return View{Repository: a.Repository, Owner: a.Owner, Permission: permission(p.User, p.Administers(), a)}
}

// permission is the most that anything gives a user, nil for nobody, on a repository.
func permission(user *gantry.Account, administers bool, a *store.Access) gantry.Permission {
	perm := gantry.PermNone
	if !a.Repository.Private {
		perm = gantry.PermRead
	}
	switch {
	case user == nil:
		return perm
	case administers, user.ID == a.Owner.ID, a.Role == gantry.RoleOwner:
		return gantry.PermAdmin
	case a.Role == gantry.RoleMember:
		perm = gantry.PermRead
	}
	return max(perm, a.Collaborator)
}

// Require returns nil when the view's permission covers perm, else Forbidden: who has a view knows that the repository exists.
func Require(v *View, perm gantry.Permission) error {
	if v.Permission >= perm {
		return nil
	}
	return gantry.Errorf(gantry.Forbidden, "repos", "you need %s permission on %s/%s", perm, v.Owner.Login, v.Repository.Name)
}

// Scopes returns the scopes of which a token needs one to read or to write a repository; none to read a public one.
func Scopes(v *View, write bool) []gantry.Scope {
	switch {
	case v.Repository.Private:
		return []gantry.Scope{"repo"}
	case write:
		return []gantry.Scope{"public_repo", "repo"}
	}
	return nil
}

// publicOnly reports whether a principal's lists leave private repositories out, because its token does not cover them.
func publicOnly(p gantry.Principal) bool { return !p.Allows("repo") }

// userID is the principal's, 0 for nobody.
func userID(p gantry.Principal) int64 {
	if p.Anonymous() {
		return 0
	}
	return p.User.ID
}
