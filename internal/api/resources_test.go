package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// must sends a request and wants a status.
func (c *cast) must(want int, as, method, path, body string) *response {
	c.t.Helper()
	answer := c.do(method, path, body, c.as(as))
	if answer.StatusCode != want {
		c.t.Fatalf("%s %s as %s: %d %s, want %d", method, path, as, answer.StatusCode, answer.text, want)
	}
	return answer
}

// count is how many things a list has.
func (r *response) count(t testing.TB) int {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(r.text, &list); err != nil {
		t.Fatalf("%s: %v", r.text, err)
	}
	return len(list)
}

func TestAdministrationAndOrganizations(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	answer := c.must(201, "root", "POST", "/admin/users", `{"login":"carol","email":"carol@example.com","password":"long enough"}`)
	if answer.Header.Get("Location") != c.url+"/users/carol" {
		t.Errorf("Location: %s", answer.Header.Get("Location"))
	}
	if login := c.do("GET", "/user", "", "Authorization: "+basicHeader("carol", "long enough")); login.object(t)["email"] != "carol@example.com" {
		t.Errorf("the new user is %s", login.text)
	}
	if seen := c.must(200, "bob", "GET", "/users/carol", "").object(t); seen["email"] != nil {
		t.Errorf("others see the address: %v", seen["email"])
	}
	c.must(422, "root", "POST", "/admin/users", `{"login":"dave","email":"dave@example.com","password":"short"}`)
	c.must(404, "root", "GET", "/users/dave", "")
	c.must(422, "root", "POST", "/admin/users", `{"login":"carol","email":"other@example.com"}`)
	c.must(404, "alice all", "POST", "/admin/users", `{"login":"eve","email":"eve@example.com"}`)

	org := c.must(201, "root", "POST", "/admin/organizations", `{"login":"acme","admin":"alice","profile_name":"Acme"}`).object(t)
	c.must(422, "root", "POST", "/admin/organizations", `{"login":"other","admin":"nobody"}`)
	byNumber := fmt.Sprintf("/organizations/%.0f", org["id"])
	for _, path := range []string{"/orgs/acme", "/orgs/ACME", byNumber, "/api/v3" + byNumber} {
		if got := c.must(200, "bob", "GET", path, "").object(t)["login"]; got != "acme" {
			t.Errorf("%s is %v", path, got)
		}
	}
	c.must(404, "bob", "GET", "/orgs/alice", "")
	c.must(200, "bob", "GET", "/users/acme", "")

	c.must(201, "alice repo", "POST", "/orgs/acme/repos", `{"name":"tool","private":true}`)
	c.must(201, "alice repo", "POST", byNumber+"/repos", `{"name":"lib"}`)
	c.must(403, "bob repo", "POST", "/orgs/acme/repos", `{"name":"mine"}`)
	for as, want := range map[string]int{"alice repo": 2, "alice": 1, "bob repo": 1} {
		if got := c.must(200, as, "GET", byNumber+"/repos", "").count(t); got != want {
			t.Errorf("%s sees %d repositories, want %d", as, got, want)
		}
	}
	for as, want := range map[string]int{"alice all": 1, "alice repo": 0, "bob repo": 0} {
		if got := c.must(200, as, "GET", "/orgs/acme/members", "").count(t); got != want {
			t.Errorf("%s sees %d members, want %d", as, got, want)
		}
	}
	if got := c.must(200, "alice user", "GET", "/user/orgs", "").count(t); got != 1 {
		t.Errorf("alice belongs to %d organizations", got)
	}
	first := c.must(200, "bob", "GET", "/users?per_page=1", "")
	next := parseLinks(first.Header.Get("Link"))["next"]
	if c.must(200, "bob", "GET", strings.TrimPrefix(next, c.url), "").count(t) != 1 {
		t.Errorf("the next page of users at %q is empty", next)
	}
}

func TestRepositoriesAndCollaborators(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	c.must(403, "alice public_repo", "POST", "/user/repos", `{"name":"x","private":true}`)
	c.must(403, "alice public_repo", "PATCH", "/repos/alice/open", `{"visibility":"private"}`)
	answer := c.must(201, "alice repo", "POST", "/user/repos", `{"name":"x","visibility":"private","description":"d"}`)
	if repo := answer.object(t); repo["private"] != true || repo["url"] != answer.Header.Get("Location") || repo["default_branch"] != "main" {
		t.Errorf("created: %s", answer.text)
	}

	c.must(404, "bob repo", "GET", "/repos/alice/x", "")
	c.must(404, "alice repo", "GET", "/repos/alice/x/collaborators/bob", "")
	c.must(204, "alice repo", "PUT", "/repos/alice/x/collaborators/bob", "")
	c.must(204, "alice repo", "GET", "/repos/alice/x/collaborators/bob", "")
	if permissions := c.must(200, "bob repo", "GET", "/repos/alice/x", "").object(t)["permissions"]; fmt.Sprint(permissions) != "map[admin:false pull:true push:true]" {
		t.Errorf("bob's permissions are %v", permissions)
	}
	if got := c.must(200, "alice repo", "GET", "/repos/alice/x/collaborators/bob/permission", "").object(t)["permission"]; got != "write" {
		t.Errorf("bob's permission is %v", got)
	}
	c.must(204, "alice repo", "PUT", "/repos/alice/x/collaborators/bob", `{"permission":"pull"}`)
	c.must(403, "bob repo", "GET", "/repos/alice/x/import", "")
	if got := c.must(200, "alice repo", "GET", "/repos/alice/x/collaborators", "").count(t); got != 1 {
		t.Errorf("%d collaborators", got)
	}
	c.must(204, "alice repo", "DELETE", "/repos/alice/x/collaborators/bob", "")
	c.must(404, "bob repo", "GET", "/repos/alice/x", "")

	if got := c.must(200, "alice repo", "PATCH", "/repos/alice/x", `{"name":"y","homepage":"https://example.com"}`).object(t); got["full_name"] != "alice/y" || got["description"] != "d" {
		t.Errorf("renamed: %v", got["full_name"])
	}
	c.must(404, "alice repo", "GET", "/repos/alice/x", "")
	c.must(403, "alice repo", "DELETE", "/repos/alice/y", "")
	c.must(204, "alice all", "DELETE", "/repos/alice/y", "")
	c.must(404, "alice repo", "GET", "/repos/alice/y", "")
}

// The records have all fields of the contract, and no others.
func TestRecordsAreComplete(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	repo := c.must(200, "alice repo", "GET", "/repos/alice/open", "").object(t)
	want := strings.Fields(`id owner name full_name description private fork homepage language forks_count stargazers_count
		watchers_count size open_issues_count default_branch has_issues has_wiki has_pages has_downloads pushed_at created_at
		updated_at permissions url html_url clone_url git_url ssh_url svn_url mirror_url archive_url assignees_url blobs_url
		branches_url collaborators_url comments_url commits_url compare_url contents_url contributors_url deployments_url
		downloads_url events_url forks_url git_commits_url git_refs_url git_tags_url hooks_url issue_comment_url
		issue_events_url issues_url keys_url labels_url languages_url merges_url milestones_url notifications_url pulls_url
		releases_url stargazers_url statuses_url subscribers_url subscription_url tags_url teams_url trees_url`)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(repo)); !slices.Equal(got, want) {
		t.Errorf("a repository has the fields\n%q, want\n%q", got, want)
	}
	owner := repo["owner"].(map[string]any)
	want = strings.Fields(`login id type site_admin gravatar_id avatar_url url html_url followers_url following_url gists_url
		starred_url subscriptions_url organizations_url repos_url events_url received_events_url`)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(owner)); !slices.Equal(got, want) {
		t.Errorf("an owner has the fields\n%q, want\n%q", got, want)
	}
	for name, value := range repo {
		if address, isText := value.(string); strings.HasSuffix(name, "_url") && name != "mirror_url" && (!isText || !strings.HasPrefix(address, c.url+"/")) {
			t.Errorf("%s is %v, which is not below the external address", name, value)
		}
	}
	for _, name := range []string{"url", "repos_url"} {
		c.must(200, "alice repo", "GET", strings.TrimPrefix(owner[name].(string), c.url), "")
	}
}

// Authors can be taken home as a table and brought back, all rows or none.
func TestAuthorsTable(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	const path = "/repos/alice/hidden/import"
	c.must(201, "alice repo", "PUT", path, fmt.Sprintf(`{"vcs":"svn","vcs_url":%q,"vcs_username":%q,"vcs_password":%q}`, svnOrigin(t), originUser, originPassword))
	j := newJudge17(t, c)
	if imp := settle(t, j, "hidden"); imp.GetStatus() != "complete" || imp.GetVCS() != "subversion" {
		t.Fatalf("imported: %v", imp)
	}
	table := c.must(200, "alice repo", "GET", path+"/authors.csv", "")
	text := string(table.text)
	if !strings.HasPrefix(text, "remote_id,remote_name,email,name\n") || !strings.Contains(text, ",bob,") || table.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Fatalf("%s\n%s", table.Header.Get("Content-Type"), text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if fields := strings.Split(line, ","); fields[1] == "bob" {
			lines[i] = strings.Join(fields[:2], ",") + ",bob@example.com,Bob Builder"
		}
	}
	changed := strings.Join(lines, "\n") + "\n"
	refused := c.must(422, "alice repo", "PUT", path+"/authors.csv", changed+"nobody@here,nobody,n@example.com,N\n")
	if !strings.Contains(string(refused.text), fmt.Sprintf("line %d", len(lines)+1)) {
		t.Errorf("the refusal does not name line %d: %s", len(lines)+1, refused.text)
	}
	if again := c.must(200, "alice repo", "GET", path+"/authors.csv", ""); string(again.text) != text {
		t.Errorf("a refused table has changed something:\n%s", again.text)
	}
	c.must(204, "alice repo", "PUT", path+"/authors.csv", changed)
	settle(t, j, "hidden")
	if log := c.log("hidden"); !strings.Contains(log, "Bob Builder <bob@example.com>") {
		t.Errorf("the authors in the repository are\n%s", log)
	}
	if report := c.must(200, "alice repo", "GET", path+"/report", ""); len(report.object(t)) == 0 {
		t.Errorf("the report is %s", report.text)
	}
	c.must(422, "alice repo", "PATCH", path, `{"vcs_username":"u"}`)
	c.must(422, "alice repo", "PATCH", path+"/lfs", `{"use_lfs":"undecided"}`)
	c.must(404, "alice repo", "GET", path+"/authors/999999", "")
}
