package api

import "net/http"

// getRoot lists where things are, as URI templates.
func (a *API) getRoot(*call) (reply, error) {
	base := a.URLs.API
	return ok(map[string]string{
		"current_user_url":              base + "/user",
		"current_user_repositories_url": base + "/user/repos{?page,per_page}",
		"documentation_url":             a.URLs.Documentation(),
		"emails_url":                    base + "/user/emails",
		"import_url":                    base + "/repos/{owner}/{repo}/import",
		"organization_url":              base + "/orgs/{org}",
		"organization_repositories_url": base + "/orgs/{org}/repos{?page,per_page}",
		"rate_limit_url":                base + "/rate_limit",
		"repository_url":                base + "/repos/{owner}/{repo}",
		"user_url":                      base + "/users/{user}",
		"user_organizations_url":        base + "/user/orgs",
		"user_repositories_url":         base + "/users/{user}/repos{?page,per_page}",
	})
}

func (a *API) getMeta(*call) (reply, error) {
	return ok(struct {
		PasswordAuthentication bool `json:"verifiable_password_authentication"`
	}{true})
}

func (a *API) getDescription(*call) (reply, error) {
	return reply{status: http.StatusOK, text: Description, contentType: "application/yaml"}, nil
}

// allowance is the state of one rate limit.
type allowance struct {
	Limit     int   `json:"limit"`
	Used      int   `json:"used"`
	Remaining int   `json:"remaining"`
	Reset     int64 `json:"reset"` // seconds since 1970
}

func newAllowance(w window) allowance {
	return allowance{Limit: w.limit, Used: w.used, Remaining: w.remaining(), Reset: w.reset.Unix()}
}

func (a *API) getRateLimit(c *call) (reply, error) {
	ofCore, _ := a.draw(c, core, 0)
	ofImports, _ := a.draw(c, sourceImport, 0)
	return ok(map[string]any{
		"resources": map[string]allowance{"core": newAllowance(ofCore), "source_import": newAllowance(ofImports)},
		"rate":      newAllowance(ofCore),
	})
}
