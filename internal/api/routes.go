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
	streams bool // takes a body of any size
}

// routes is the whole API. Each pattern below /repos/{owner}/{repo} or /orgs/{org} is also served by number, and every
// pattern also below /api/v3 (see patterns).
var routes = []route{
	{"GET", "/{$}", anyone, stable, core, (*API).getRoot, false},
	{"GET", "/meta", anyone, stable, core, (*API).getMeta, false},
	{"GET", "/openapi.yaml", anyone, stable, free, (*API).getDescription, false},
	{"GET", "/rate_limit", anyone, stable, free, (*API).getRateLimit, false},

	{"PUT", "/repos/{owner}/{repo}/import", importing, barredRock, sourceImport, (*API).startImport, false},
	{"GET", "/repos/{owner}/{repo}/import", importing, barredRock, core, (*API).getImport, false},
	{"PATCH", "/repos/{owner}/{repo}/import", importing, barredRock, core, (*API).updateImport, false},
	{"DELETE", "/repos/{owner}/{repo}/import", importing, barredRock, core, (*API).cancelImport, false},
	{"GET", "/repos/{owner}/{repo}/import/authors", importing, barredRock, core, (*API).listAuthors, false},
	{"GET", "/repos/{owner}/{repo}/import/authors/{author_id}", importing, barredRock, core, (*API).getAuthor, false},
	{"PATCH", "/repos/{owner}/{repo}/import/authors/{author_id}", importing, barredRock, core, (*API).mapAuthor, false},
	{"PATCH", "/repos/{owner}/{repo}/import/lfs", importing, barredRock, core, (*API).setLFS, false},
	{"PATCH", "/{owner}/{repo}/import/lfs", importing, barredRock, core, (*API).setLFS, false},
	{"GET", "/repos/{owner}/{repo}/import/large_files", importing, barredRock, core, (*API).listLargeFiles, false},
	{"GET", "/{owner}/{repo}/import/large_files", importing, barredRock, core, (*API).listLargeFiles, false},
	{"GET", "/repos/{owner}/{repo}/import/authors.csv", importing, stable, core, (*API).getAuthorsCSV, false},
	{"PUT", "/repos/{owner}/{repo}/import/authors.csv", importing, stable, core, (*API).putAuthorsCSV, false},
	{"GET", "/repos/{owner}/{repo}/import/report", importing, stable, core, (*API).getReport, false},
	{"PUT", "/repos/{owner}/{repo}/import/upload", importing, stable, core, (*API).putUpload, true},
	{"GET", "/repos/{owner}/{repo}/import/upload", importing, stable, core, (*API).getUpload, false},

	{"GET", "/user", signedIn(), stable, core, (*API).getUser, false},
	{"PATCH", "/user", signedIn("user"), stable, core, (*API).updateUser, false},
	{"GET", "/user/emails", signedIn("user", "user:email"), stable, core, (*API).listEmails, false},
	{"GET", "/user/orgs", signedIn("read:org", "user"), stable, core, (*API).listOwnOrganizations, false},
	{"GET", "/user/repos", signedIn(), stable, core, (*API).listOwnRepositories, false},
	{"POST", "/user/repos", signedIn("public_repo", "repo"), stable, core, (*API).createOwnRepository, false},
	{"GET", "/users", anyone, stable, core, (*API).listUsers, false},
	{"GET", "/users/{user}", anyone, stable, core, (*API).getAccount, false},
	{"GET", "/users/{user}/repos", anyone, stable, core, (*API).listAccountRepositories, false},

	{"GET", "/orgs/{org}", anyone, stable, core, (*API).getOrganization, false},
	{"GET", "/orgs/{org}/members", anyone, stable, core, (*API).listMembers, false},
	{"GET", "/orgs/{org}/repos", anyone, stable, core, (*API).listOrganizationRepositories, false},
	{"POST", "/orgs/{org}/repos", signedIn("public_repo", "repo"), stable, core, (*API).createOrganizationRepository, false},

	{"GET", "/repos/{owner}/{repo}", reading, stable, core, (*API).getRepository, false},
	{"PATCH", "/repos/{owner}/{repo}", writing, stable, core, (*API).updateRepository, false},
	{"DELETE", "/repos/{owner}/{repo}", deleting, stable, core, (*API).deleteRepository, false},
	{"GET", "/repos/{owner}/{repo}/collaborators", writing, stable, core, (*API).listCollaborators, false},
	{"GET", "/repos/{owner}/{repo}/collaborators/{user}", writing, stable, core, (*API).checkCollaborator, false},
	{"GET", "/repos/{owner}/{repo}/collaborators/{user}/permission", writing, stable, core, (*API).getCollaboratorPermission, false},
	{"PUT", "/repos/{owner}/{repo}/collaborators/{user}", writing, stable, core, (*API).setCollaborator, false},
	{"DELETE", "/repos/{owner}/{repo}/collaborators/{user}", writing, stable, core, (*API).removeCollaborator, false},

	{"POST", "/admin/users", siteAdmin, stable, core, (*API).createUser, false},
	{"POST", "/admin/organizations", siteAdmin, stable, core, (*API).createOrganization, false},
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
