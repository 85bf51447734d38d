package api

import (
	"strconv"

	"gantry"
	"gantry/internal/repos"
)

// enterprisePrefix is where clients of self-hosted services look for the API; it is served there, too.
const enterprisePrefix = "/api/v3"

// URLs are the external addresses that every URL of a response begins with, without a slash at the end.
type URLs struct {
	API string // the contract's base_url
	Web string // web_url; repositories are cloned from below it
}

// Documentation is where errors send their reader.
func (u URLs) Documentation() string { return u.API + "/openapi.yaml" }

func fullName(v *repos.View) string { return v.Owner.Login + "/" + v.Repository.Name }

// repository is the API address of a repository; logins and names need no escaping.
func (u URLs) repository(v *repos.View) string { return u.API + "/repos/" + fullName(v) }

func (u URLs) importOf(v *repos.View) string { return u.repository(v) + "/import" }

func (u URLs) author(v *repos.View, id int64) string {
	return u.importOf(v) + "/authors/" + strconv.FormatInt(id, 10)
}

func (u URLs) account(a *gantry.Account) string { return u.API + "/users/" + a.Login }

func (u URLs) organization(a *gantry.Account) string { return u.API + "/orgs/" + a.Login }

func (u URLs) page(a *gantry.Account) string { return u.Web + "/" + a.Login }
