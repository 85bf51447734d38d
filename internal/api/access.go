package api

import (
	"strconv"
	"time"

	"gantry"
	"gantry/internal/repos"
)

// access decides whether a call may reach its handler. It returns the scopes of which a token needs one; none means that
// any token will do. Routes that address a repository leave it in the call.
type access func(*API, *call) (accepted []gantry.Scope, err error)

// maintenanceRetry is when to come back while imports are switched off.
const maintenanceRetry = 5 * time.Minute

// errHidden is the answer wherever the caller may not learn what exists.
var errHidden = gantry.Errorf(gantry.NotFound, "api", "not visible to the caller")

// anyone lets everybody in.
func anyone(*API, *call) ([]gantry.Scope, error) { return nil, nil }

// signedIn lets users in. To others the resource does not exist.
func signedIn(scopes ...gantry.Scope) access {
	return func(_ *API, c *call) ([]gantry.Scope, error) {
		if c.principal.Anonymous() {
			return scopes, errHidden
		}
		return scopes, nil
	}
}

// siteAdmin lets administrators of the site in.
func siteAdmin(_ *API, c *call) ([]gantry.Scope, error) {
	scopes := []gantry.Scope{"site_admin"}
	if c.principal.Anonymous() || !c.principal.User.SiteAdmin {
		return scopes, errHidden
	}
	return scopes, nil
}

// reading lets in whoever sees the repository.
func reading(a *API, c *call) ([]gantry.Scope, error) { return a.find(c, false) }

// writing lets in users who see the repository; the service checks what they may do with it.
func writing(a *API, c *call) ([]gantry.Scope, error) { return a.find(c, true) }

// deleting is writing with a scope of its own.
func deleting(a *API, c *call) ([]gantry.Scope, error) {
	_, err := a.find(c, true)
	return []gantry.Scope{"delete_repo"}, err
}

// importing is writing, while imports are not switched off.
func importing(a *API, c *call) ([]gantry.Scope, error) {
	accepted, err := a.find(c, true)
	if err == nil && a.Maintenance {
		err = &gantry.Error{Kind: gantry.Unavailable, Op: "api", Msg: "Imports are switched off for maintenance. Try again later.", RetryAfter: maintenanceRetry}
	}
	return accepted, err
}

// find looks up the repository that the path names or numbers.
func (a *API) find(c *call, write bool) ([]gantry.Scope, error) {
	if write && c.principal.Anonymous() {
		return nil, errHidden
	}
	var err error
	if number := c.r.PathValue("repo_id"); number != "" {
		id, parseErr := strconv.ParseInt(number, 10, 64)
		if parseErr != nil {
			return nil, errHidden
		}
		c.view, err = a.Repos.GetByID(c.r.Context(), c.principal, id)
	} else {
		c.view, err = a.Repos.Get(c.r.Context(), c.principal, c.r.PathValue("owner"), c.r.PathValue("repo"))
	}
	if err != nil {
		return nil, err
	}
	return repos.Scopes(c.view, write), nil
}

// admit runs the route's access rule and holds a token against the scopes that it names.
func (a *API) admit(c *call) error {
	accepted, err := c.route.access(a, c)
	c.accepted = gantry.ScopeSet(accepted)
	if err != nil {
		return err
	}
	if c.principal.Credential != gantry.CredToken || c.principal.Allows(accepted...) {
		return nil
	}
	if c.view != nil && !c.principal.Allows(repos.Scopes(c.view, false)...) {
		return errHidden
	}
	return gantry.Errorf(gantry.Forbidden, "api", "The token lacks a scope. This operation needs one of: %s", c.accepted)
}
