package api

import (
	"net/http"
	"strconv"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/auth"
)

func (a *API) getUser(c *call) (reply, error) {
	account, err := a.Accounts.ByID(c.r.Context(), c.principal.User.ID)
	if err != nil {
		return reply{}, err
	}
	return ok(a.newAccountBody(c.principal, account))
}

func (a *API) updateUser(c *call) (reply, error) {
	var in struct {
		Name  *string `json:"name"`
		Email *string `json:"email"`
	}
	if err := decode(c, "User", &in); err != nil {
		return reply{}, err
	}
	account, err := a.Accounts.UpdateProfile(c.r.Context(), c.principal, accounts.Profile{Name: in.Name, Email: in.Email})
	if err != nil {
		return reply{}, err
	}
	return ok(a.newAccountBody(c.principal, account))
}

// emailBody is one address of a user. Nobody has verified it: an administrator or the user wrote it down.
type emailBody struct {
	Email    string `json:"email"`
	Primary  bool   `json:"primary"`
	Verified bool   `json:"verified"`
}

func (a *API) listEmails(c *call) (reply, error) {
	account, err := a.Accounts.ByID(c.r.Context(), c.principal.User.ID)
	if err != nil {
		return reply{}, err
	}
	bodies := []emailBody{}
	if account.Email != "" {
		bodies = append(bodies, emailBody{Email: account.Email, Primary: true})
	}
	return ok(bodies)
}

func (a *API) listUsers(c *call) (reply, error) {
	since, err := c.since("User")
	if err != nil {
		return reply{}, err
	}
	limit := c.page().Limit()
	users, err := a.Accounts.ListUsers(c.r.Context(), since, limit)
	if err != nil {
		return reply{}, err
	}
	rep := reply{status: http.StatusOK, body: a.newOwnerBodies(users)}
	if len(users) == limit {
		rep.link = "<" + a.linkTo(c, "since", strconv.FormatInt(users[limit-1].ID, 10)) + `>; rel="next"`
	}
	return rep, nil
}

// getAccount also finds organizations: the url of an Owner record leads here for both.
func (a *API) getAccount(c *call) (reply, error) {
	account, err := a.Accounts.ByLogin(c.r.Context(), c.r.PathValue("user"))
	if err != nil {
		return reply{}, err
	}
	return ok(a.newAccountBody(c.principal, account))
}

func (a *API) listOwnOrganizations(c *call) (reply, error) {
	page := c.page()
	list, total, err := a.Accounts.Organizations(c.r.Context(), c.principal.User.ID, page)
	if err != nil {
		return reply{}, err
	}
	bodies := make([]organizationBody, len(list))
	for i := range list {
		bodies[i] = a.newOrganizationBody(&list[i])
	}
	return a.paged(c, page, total, bodies)
}

func (a *API) getOrganization(c *call) (reply, error) {
	org, err := a.organization(c)
	if err != nil {
		return reply{}, err
	}
	return ok(a.newOrganizationBody(org))
}

func (a *API) listMembers(c *call) (reply, error) {
	org, err := a.organization(c)
	if err != nil {
		return reply{}, err
	}
	asking := c.principal
	if !asking.Allows("read:org") {
		asking = gantry.Principal{} // the token does not speak for its user here
	}
	page := c.page()
	members, total, err := a.Accounts.Members(c.r.Context(), asking, org.ID, page)
	if err != nil {
		return reply{}, err
	}
	return a.paged(c, page, total, a.newOwnerBodies(members))
}

// organization finds the one that the path names or numbers.
func (a *API) organization(c *call) (account *gantry.Account, err error) {
	if login := c.r.PathValue("org"); login != "" {
		account, err = a.Accounts.ByLogin(c.r.Context(), login)
	} else {
		var id int64
		if id, err = c.pathID("org_id"); err == nil {
			account, err = a.Accounts.ByID(c.r.Context(), id)
		}
	}
	if err == nil && account.Type != gantry.TypeOrganization {
		err = errHidden
	}
	return account, err
}

func (a *API) createUser(c *call) (reply, error) {
	var in struct {
		Login     *string `json:"login"`
		Name      *string `json:"name"`
		Email     *string `json:"email"`
		Password  *string `json:"password"`
		SiteAdmin bool    `json:"site_admin"`
	}
	if err := decode(c, "User", &in); err != nil {
		return reply{}, err
	}
	if in.Password != nil { // before there is a user who could not be made again
		if err := auth.CheckPassword(*in.Password); err != nil {
			return reply{}, err
		}
	}
	account, err := a.Accounts.CreateUser(c.r.Context(), accounts.NewUser{
		Login: first(in.Login), Name: first(in.Name), Email: first(in.Email), SiteAdmin: in.SiteAdmin,
	})
	if err != nil {
		return reply{}, err
	}
	if in.Password != nil {
		if err := a.Auth.SetPassword(c.r.Context(), account.ID, *in.Password); err != nil {
			return reply{}, err
		}
	}
	return created(a.URLs.account(account), a.newAccountBody(c.principal, account))
}

func (a *API) createOrganization(c *call) (reply, error) {
	var in struct {
		Login       *string `json:"login"`
		Admin       *string `json:"admin"` // login of its first owner
		ProfileName *string `json:"profile_name"`
	}
	if err := decode(c, "Organization", &in); err != nil {
		return reply{}, err
	}
	org, err := a.Accounts.CreateOrganization(c.r.Context(), accounts.NewOrganization{
		Login: first(in.Login), Name: first(in.ProfileName), Owner: first(in.Admin),
	})
	if err != nil {
		return reply{}, err
	}
	return created(a.URLs.organization(org), a.newOrganizationBody(org))
}
