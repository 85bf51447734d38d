package api

import (
	"time"

	"gantry"
)

// ownerBody is the contract's Owner record. Its addresses are always below /users, as for a user: clients follow them
// without looking at the type.
type ownerBody struct {
	Login             string             `json:"login"`
	ID                int64              `json:"id"`
	AvatarURL         string             `json:"avatar_url"`
	GravatarID        string             `json:"gravatar_id"`
	URL               string             `json:"url"`
	HTMLURL           string             `json:"html_url"`
	FollowersURL      string             `json:"followers_url"`
	FollowingURL      string             `json:"following_url"`
	GistsURL          string             `json:"gists_url"`
	StarredURL        string             `json:"starred_url"`
	SubscriptionsURL  string             `json:"subscriptions_url"`
	OrganizationsURL  string             `json:"organizations_url"`
	ReposURL          string             `json:"repos_url"`
	EventsURL         string             `json:"events_url"`
	ReceivedEventsURL string             `json:"received_events_url"`
	Type              gantry.AccountType `json:"type"`
	SiteAdmin         bool               `json:"site_admin"`
}

func (a *API) newOwnerBody(account *gantry.Account) ownerBody {
	url, page := a.URLs.account(account), a.URLs.page(account)
	return ownerBody{
		Login:             account.Login,
		ID:                account.ID,
		AvatarURL:         page + ".png",
		URL:               url,
		HTMLURL:           page,
		FollowersURL:      url + "/followers",
		FollowingURL:      url + "/following{/other_user}",
		GistsURL:          url + "/gists{/gist_id}",
		StarredURL:        url + "/starred{/owner}{/repo}",
		SubscriptionsURL:  url + "/subscriptions",
		OrganizationsURL:  url + "/orgs",
		ReposURL:          url + "/repos",
		EventsURL:         url + "/events{/privacy}",
		ReceivedEventsURL: url + "/received_events",
		Type:              account.Type,
		SiteAdmin:         account.SiteAdmin,
	}
}

func (a *API) newOwnerBodies(accounts []gantry.Account) []ownerBody {
	bodies := make([]ownerBody, len(accounts))
	for i := range accounts {
		bodies[i] = a.newOwnerBody(&accounts[i])
	}
	return bodies
}

// accountBody is one account by itself.
type accountBody struct {
	ownerBody
	Name      *string `json:"name"`
	Email     *string `json:"email"` // null to those who may not see it
	CreatedAt string  `json:"created_at"`
	UpdatedAt string  `json:"updated_at"`
}

// newAccountBody shows the address of a user only to that user and to administrators of the site.
func (a *API) newAccountBody(p gantry.Principal, account *gantry.Account) accountBody {
	body := accountBody{
		ownerBody: a.newOwnerBody(account),
		Name:      orNull(account.Name),
		CreatedAt: timestamp(account.CreatedAt),
		UpdatedAt: timestamp(account.UpdatedAt),
	}
	if account.Type == gantry.TypeOrganization || !p.Anonymous() && (p.User.ID == account.ID || p.User.SiteAdmin) {
		body.Email = orNull(account.Email)
	}
	return body
}

// organizationBody is an organization, in lists and by itself.
type organizationBody struct {
	Login            string             `json:"login"`
	ID               int64              `json:"id"`
	URL              string             `json:"url"`
	ReposURL         string             `json:"repos_url"`
	EventsURL        string             `json:"events_url"`
	HooksURL         string             `json:"hooks_url"`
	IssuesURL        string             `json:"issues_url"`
	MembersURL       string             `json:"members_url"`
	PublicMembersURL string             `json:"public_members_url"`
	AvatarURL        string             `json:"avatar_url"`
	HTMLURL          string             `json:"html_url"`
	Name             *string            `json:"name"`
	Email            *string            `json:"email"`
	Type             gantry.AccountType `json:"type"`
	CreatedAt        string             `json:"created_at"`
	UpdatedAt        string             `json:"updated_at"`
}

func (a *API) newOrganizationBody(org *gantry.Account) organizationBody {
	url, page := a.URLs.organization(org), a.URLs.page(org)
	return organizationBody{
		Login:            org.Login,
		ID:               org.ID,
		URL:              url,
		ReposURL:         url + "/repos",
		EventsURL:        url + "/events",
		HooksURL:         url + "/hooks",
		IssuesURL:        url + "/issues",
		MembersURL:       url + "/members{/member}",
		PublicMembersURL: url + "/public_members{/member}",
		AvatarURL:        page + ".png",
		HTMLURL:          page,
		Name:             orNull(org.Name),
		Email:            orNull(org.Email),
		Type:             org.Type,
		CreatedAt:        timestamp(org.CreatedAt),
		UpdatedAt:        timestamp(org.UpdatedAt),
	}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// timestamp is RFC 3339 in UTC, to the second.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
