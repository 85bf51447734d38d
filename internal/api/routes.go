package api

import (
	"net/http"
	"strings"
)

// route is one operation: where it is, who may call it, and what does it.
type route struct {
	method  string
	pattern string // as in openapi.yaml
	access  access // nil is refused by the tests: a route without an answer to "who" must not exist
	preview preview
	bucket  bucket
	handle  func(*API, *call) (reply, error)
}

// routes is the whole API. Each pattern below /repos/{owner}/{repo} or /orgs/{org} is also served by number, and every
// pattern also below /api/v3 (see patterns).
var routes = []route{
	{"GET", "/{$}", anyone, stable, core, (*API).getRoot},
	{"GET", "/meta", anyone, stable, core, (*API).getMeta},
	{"GET", "/openapi.yaml", anyone, stable, free, (*API).getDescription},
	{"GET", "/rate_limit", anyone, stable, free, (*API).getRateLimit},

	{"PUT", "/repos/{owner}/{repo}/import", importing, barredRock, sourceImport, (*API).startImport},
	{"GET", "/repos/{owner}/{repo}/import", importing, barredRock, core, (*API).getImport},
	{"PATCH", "/repos/{owner}/{repo}/import", importing, barredRock, core, (*API).updateImport},
	{"DELETE", "/repos/{owner}/{repo}/import", importing, barredRock, core, (*API).cancelImport},
	{"GET", "/repos/{owner}/{repo}/import/authors", importing, barredRock, core, (*API).listAuthors},
	{"GET", "/repos/{owner}/{repo}/import/authors/{author_id}", importing, barredRock, core, (*API).getAuthor},
	{"PATCH", "/repos/{owner}/{repo}/import/authors/{author_id}", importing, barredRock, core, (*API).mapAuthor},
	{"PATCH", "/repos/{owner}/{repo}/import/lfs", importing, barredRock, core, (*API).setLFS},
	{"PATCH", "/{owner}/{repo}/import/lfs", importing, barredRock, core, (*API).setLFS},
	{"GET", "/repos/{owner}/{repo}/import/large_files", importing, barredRock, core, (*API).listLargeFiles},
	{"GET", "/{owner}/{repo}/import/large_files", importing, barredRock, core, (*API).listLargeFiles},
	{"GET", "/repos/{owner}/{repo}/import/authors.csv", importing, stable, core, (*API).getAuthorsCSV},
	{"PUT", "/repos/{owner}/{repo}/import/authors.csv", importing, stable, core, (*API).putAuthorsCSV},
	{"GET", "/repos/{owner}/{repo}/import/report", importing, stable, core, (*API).getReport},

	{"GET", "/user", signedIn(), stable, core, (*API).getUser},
	{"PATCH", "/user", signedIn("user"), stable, core, (*API).updateUser},
	{"GET", "/user/emails", signedIn("user", "user:email"), stable, core, (*API).listEmails},
	{"GET", "/user/orgs", signedIn("read:org", "user"), stable, core, (*API).listOwnOrganizations},
	{"GET", "/user/repos", signedIn(), stable, core, (*API).listOwnRepositories},
	{"POST", "/user/repos", signedIn("public_repo", "repo"), stable, core, (*API).createOwnRepository},
	{"GET", "/users", anyone, stable, core, (*API).listUsers},
	{"GET", "/users/{user}", anyone, stable, core, (*API).getAccount},
	{"GET", "/users/{user}/repos", anyone, stable, core, (*API).listAccountRepositories},

	{"GET", "/orgs/{org}", anyone, stable, core, (*API).getOrganization},
	{"GET", "/orgs/{org}/members", anyone, stable, core, (*API).listMembers},
	{"GET", "/orgs/{org}/repos", anyone, stable, core, (*API).listOrganizationRepositories},
	{"POST", "/orgs/{org}/repos", signedIn("public_repo", "repo"), stable, core, (*API).createOrganizationRepository},

	{"GET", "/repos/{owner}/{repo}", reading, stable, core, (*API).getRepository},
	{"PATCH", "/repos/{owner}/{repo}", writing, stable, core, (*API).updateRepository},
	{"DELETE", "/repos/{owner}/{repo}", deleting, stable, core, (*API).deleteRepository},
	{"GET", "/repos/{owner}/{repo}/collaborators", writing, stable, core, (*API).listCollaborators},
	{"GET", "/repos/{owner}/{repo}/collaborators/{user}", writing, stable, core, (*API).checkCollaborator},
	{"GET", "/repos/{owner}/{repo}/collaborators/{user}/permission", writing, stable, core, (*API).getCollaboratorPermission},
	{"PUT", "/repos/{owner}/{repo}/collaborators/{user}", writing, stable, core, (*API).setCollaborator},
	{"DELETE", "/repos/{owner}/{repo}/collaborators/{user}", writing, stable, core, (*API).removeCollaborator},

	{"POST", "/admin/users", siteAdmin, stable, core, (*API).createUser},
	{"POST", "/admin/organizations", siteAdmin, stable, core, (*API).createOrganization},
}

// numeric maps the beginnings of patterns that name a thing to those that number it.
var numeric = [][2]string{
	{"/repos/{owner}/{repo}", "/repositories/{repo_id}"},
	{"/orgs/{org}", "/organizations/{org_id}"},
}

// patterns returns every pattern that a route is served at.
func (rt *route) patterns() []string {
	all := []string{rt.pattern}
	for _, alias := range numeric {
		if rest, ok := strings.CutPrefix(rt.pattern, alias[0]); ok {
			all = append(all, alias[1]+rest)
		}
	}
	for _, pattern := range all[:len(all):len(all)] {
		all = append(all, "/api/v3"+pattern)
	}
	return all
}

// reads reports whether the operation changes nothing.
func (rt *route) reads() bool { return rt.method == http.MethodGet }
