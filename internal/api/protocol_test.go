package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/api"
)

// cast is a small world: alice owns a public and a private repository, bob is a stranger, root administers the site.
type cast struct {
	*service
	alice, bob, root *gantry.Account
	token            map[string]string // "alice repo" and so on
}

func world(t testing.TB, edit func(*api.Options)) *cast {
	t.Helper()
	c := &cast{service: start(t, edit), token: map[string]string{}}
	c.alice, c.bob, c.root = c.user("alice"), c.user("bob"), c.user("root")
	for name, user := range map[string]*gantry.Account{"alice": c.alice, "bob": c.bob} {
		c.token[name] = c.service.token(user)
		c.token[name+" public_repo"] = c.service.token(user, "public_repo")
		c.token[name+" repo"] = c.service.token(user, "repo")
	}
	c.token["alice user"] = c.service.token(c.alice, "user")
	c.token["root"] = c.service.token(c.root, gantry.AllScopes()...)
	c.token["root repo"] = c.service.token(c.root, "repo")
	c.token["alice all"] = c.service.token(c.alice, gantry.AllScopes()...)
	c.repository(c.alice, "open", false)
	c.repository(c.alice, "hidden", true)
	return c
}

func (c *cast) as(name string) string { return "Authorization: token " + c.token[name] }

// Who gets what, and what it looks like when they do not: 404 tells nothing, 403 only what the caller can see anyway.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	const (
		anonymous = ""
		basicGood = "basic"
	)
	tests := []struct {
		who, method, path string
		want              int
	}{
		{anonymous, "GET", "/repos/alice/open", 200},
		{anonymous, "GET", "/repos/alice/hidden", 404},
		{anonymous, "GET", "/repos/alice/none", 404},
		{anonymous, "GET", "/repos/alice/open/import", 404},
		{anonymous, "PATCH", "/repos/alice/open", 404},
		{anonymous, "GET", "/user", 404},
		{anonymous, "GET", "/users/alice", 200},
		{anonymous, "POST", "/admin/users", 404},
		{"bob repo", "GET", "/repos/alice/open", 200},
		{"bob repo", "GET", "/repos/alice/hidden", 404},
		{"bob repo", "GET", "/repos/alice/open/import", 403},
		{"bob repo", "GET", "/repos/alice/hidden/import", 404},
		{"bob repo", "PUT", "/repos/alice/open/import", 403},
		{"bob repo", "PATCH", "/repos/alice/open", 403},
		{"bob repo", "POST", "/admin/users", 404},
		{"alice", "GET", "/user", 200},
		{"alice", "PATCH", "/user", 403},
		{"alice", "GET", "/user/emails", 403},
		{"alice user", "GET", "/user/emails", 200},
		{"alice", "GET", "/repos/alice/open", 200},
		{"alice", "GET", "/repos/alice/hidden", 404},
		{"alice", "GET", "/repos/alice/open/import", 403},
		{"alice", "GET", "/repos/alice/hidden/import", 404},
		{"alice public_repo", "GET", "/repos/alice/open/import", 404}, // allowed, and there is none
		{"alice public_repo", "GET", "/repos/alice/hidden/import", 404},
		{"alice public_repo", "GET", "/repos/alice/hidden", 404},
		{"alice repo", "GET", "/repos/alice/hidden", 200},
		{"alice repo", "DELETE", "/repos/alice/hidden", 403},
		{"alice repo", "DELETE", "/repos/alice/open/import", 404},
		{basicGood, "GET", "/repos/alice/hidden", 200},
		{basicGood, "GET", "/user/emails", 200},
		{"root repo", "POST", "/admin/users", 403},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %s", tt.who, tt.method, tt.path), func(t *testing.T) {
			header := "X-None: 1"
			switch tt.who {
			case anonymous:
			case basicGood:
				header = "Authorization: " + basicHeader("alice", password("alice"))
			default:
				header = c.as(tt.who)
			}
			answer := c.do(tt.method, tt.path, `{"vcs_url":"svn://127.0.0.1:1/x"}`, header)
			if answer.StatusCode != tt.want {
				t.Fatalf("got %d %s, want %d", answer.StatusCode, answer.text, tt.want)
			}
			tells := answer.Header.Get("X-Oauth-Scopes") != "" || answer.Header.Values("X-Oauth-Scopes") != nil
			if isToken := tt.who != anonymous && tt.who != basicGood; tells != isToken {
				t.Errorf("X-OAuth-Scopes is sent: %v; with a token: %v", tells, isToken)
			}
		})
	}
}

func basicHeader(user, password string) string {
	r, _ := http.NewRequest("GET", "/", nil)
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

// Every way of sending a credential leads to the same principal with the same scopes.
func TestEveryWayOfSendingCredentials(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	token := c.token["alice repo"]
	good := map[string][2]string{ // query, header
		"token":                  {"", "token " + token},
		"bearer":                 {"", "BEARER " + token},
		"token as password":      {"", basicHeader("alice", token)},
		"token as user":          {"", basicHeader(token, "x-oauth-basic")},
		"token as user, alone":   {"", basicHeader(token, "")},
		"query":                  {"?access_token=" + token, ""},
		"the same token twice":   {"?access_token=" + token, "token " + token},
		"password":               {"", basicHeader("alice", password("alice"))},
		"password, login's case": {"", basicHeader("ALICE", password("alice"))},
	}
	for name, way := range good {
		t.Run(name, func(t *testing.T) {
			answer := c.do("GET", "/user"+way[0], "", "Authorization: "+way[1])
			if way[1] == "" {
				answer = c.do("GET", "/user"+way[0], "")
			}
			if answer.StatusCode != 200 || answer.object(t)["login"] != "alice" {
				t.Fatalf("got %d %s", answer.StatusCode, answer.text)
			}
			scopes, isPassword := answer.Header.Get("X-Oauth-Scopes"), strings.HasPrefix(name, "password")
			if isPassword && scopes != "" || !isPassword && scopes != "repo" {
				t.Errorf("X-OAuth-Scopes is %q", scopes)
			}
			if way[0] != "" && answer.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("an address with a token in it may be kept: Cache-Control is %q", answer.Header.Get("Cache-Control"))
			}
		})
	}
	for name, way := range map[string][2]string{
		"wrong token":            {"", "token " + token[:len(token)-1] + "!"},
		"wrong password":         {"", basicHeader("alice", "wrong")},
		"unknown user":           {"", basicHeader("nobody", "wrong")},
		"somebody else's token":  {"", basicHeader("bob", token)},
		"wrong, public resource": {"", "token x"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := c.do("GET", "/repos/alice/open"+way[0], "", "Authorization: "+way[1])
			if answer.StatusCode != 401 || answer.message() != "Bad credentials" {
				t.Fatalf("got %d %s", answer.StatusCode, answer.text)
			}
		})
	}
	if answer := c.do("GET", "/user?access_token="+token, "", "Authorization: token "+c.token["bob"]); answer.StatusCode != 400 {
		t.Errorf("two different credentials are answered with %d", answer.StatusCode)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	answer := c.do("GET", "/repos/alice/open", "", c.as("alice repo"), "Accept: application/vnd.github.v3+json")
	for name, want := range map[string]string{
		"Content-Type":                "application/json; charset=utf-8",
		"X-Content-Type-Options":      "nosniff",
		"X-Frame-Options":             "deny",
		"Vary":                        "Accept, Authorization, Cookie",
		"Cache-Control":               "no-cache",
		"X-Vendor-Media-Type":         "github.v3; format=json",
		"X-Github-Media-Type":         "github.v3; format=json",
		"X-Ratelimit-Limit":           "5000",
		"X-Ratelimit-Resource":        "core",
		"X-Oauth-Scopes":              "repo",
		"Access-Control-Allow-Origin": "*",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if id := answer.Header.Get("X-Vendor-Request-Id"); id == "" || id != answer.Header.Get("X-Github-Request-Id") {
		t.Errorf("the request id is %q", id)
	}
	if exposed := answer.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "X-Github-OTP") || !strings.Contains(exposed, "Link") {
		t.Errorf("exposed are %q", exposed)
	}
	if _, there := answer.Header["X-Accepted-Oauth-Scopes"]; !there {
		t.Error("X-Accepted-OAuth-Scopes is missing")
	}
	answer = c.do("GET", "/repos/alice/open/import", "", c.as("alice"))
	if got := answer.Header.Get("X-Accepted-Oauth-Scopes"); got != "public_repo, repo" {
		t.Errorf("an import of a public repository accepts %q", got)
	}

	preflight := c.do("OPTIONS", "/repos/alice/open/import", "", "Origin: https://app.test", "Access-Control-Request-Method: PUT")
	if preflight.StatusCode != 204 || !strings.Contains(preflight.Header.Get("Access-Control-Allow-Methods"), "PUT") ||
		!strings.Contains(preflight.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("the preflight is answered with %d %v", preflight.StatusCode, preflight.Header)
	}
}

func TestConditionalRequestsAreFree(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	first := c.do("GET", "/repos/alice/open", "", c.as("alice repo"))
	again := c.do("GET", "/repos/alice/open", "", c.as("alice repo"), "If-None-Match: W/"+first.Header.Get("Etag"))
	if again.StatusCode != 304 || len(again.text) > 0 {
		t.Fatalf("got %d %s", again.StatusCode, again.text)
	}
	if first.Header.Get("X-Ratelimit-Remaining") != again.Header.Get("X-Ratelimit-Remaining") {
		t.Errorf("a 304 costs: %s, then %s remaining", first.Header.Get("X-Ratelimit-Remaining"), again.Header.Get("X-Ratelimit-Remaining"))
	}
	head := c.do("HEAD", "/repos/alice/open", "", c.as("alice repo"))
	if head.StatusCode != 200 || len(head.text) > 0 || head.ContentLength != int64(len(first.text)) || head.Header.Get("Etag") != first.Header.Get("Etag") {
		t.Errorf("HEAD gives %d, %d bytes announced, %d sent", head.StatusCode, head.ContentLength, len(head.text))
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	c := world(t, func(o *api.Options) { o.Limits.Core, o.Limits.SourceImport = 5, 1 })
	for range 5 {
		if answer := c.do("GET", "/user", "", c.as("alice repo")); answer.StatusCode != 200 {
			t.Fatalf("got %d %s", answer.StatusCode, answer.text)
		}
	}
	answer := c.do("GET", "/user", "", c.as("alice repo"))
	if answer.StatusCode != 403 || !strings.Contains(answer.message(), "rate limit exceeded") || answer.Header.Get("Retry-After") == "" ||
		answer.Header.Get("X-Ratelimit-Remaining") != "0" {
		t.Fatalf("over the limit: %d %s %v", answer.StatusCode, answer.text, answer.Header)
	}
	if other := c.do("GET", "/user", "", c.as("alice")); other.StatusCode != 403 {
		t.Errorf("another token of the same user gets %d", other.StatusCode)
	}
	if other := c.do("GET", "/user", "", c.as("bob")); other.StatusCode != 200 {
		t.Errorf("another user gets %d", other.StatusCode)
	}

	const body = `{"vcs_url":"file:///x"}`
	if answer := c.do("PUT", "/repos/alice/open/import", body, c.as("alice repo")); answer.StatusCode != 422 || answer.Header.Get("X-Ratelimit-Resource") != "source_import" {
		t.Errorf("starting an import draws on %q and gives %d", answer.Header.Get("X-Ratelimit-Resource"), answer.StatusCode)
	}
	if answer := c.do("PUT", "/repos/alice/open/import", body, c.as("alice repo")); answer.StatusCode != 403 {
		t.Errorf("the second start within a minute gives %d", answer.StatusCode)
	}

	var limits struct {
		Resources map[string]struct{ Limit, Used, Remaining int }
	}
	state := c.do("GET", "/rate_limit", "", c.as("alice repo"))
	if err := json.Unmarshal(state.text, &limits); err != nil || state.StatusCode != 200 {
		t.Fatalf("/rate_limit gives %d %s", state.StatusCode, state.text)
	}
	if core := limits.Resources["core"]; core.Used != 5 || core.Remaining != 0 || core.Limit != 5 {
		t.Errorf("/rate_limit says %s", state.text)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	const path = "/repos/alice/open/import"
	strict := world(t, nil)
	answer := strict.do("GET", path, "", strict.as("alice repo"), "Accept: application/json")
	if answer.StatusCode != 415 || !strings.Contains(answer.message(), previewType) || answer.object(t)["documentation_url"] == "" {
		t.Errorf("without the preview: %d %s", answer.StatusCode, answer.text)
	}
	if answer := strict.do("GET", path, "", strict.as("alice repo"), "Accept: application/vnd.github.barred-rock-preview+json"); answer.StatusCode != 404 {
		t.Errorf("with another vendor's word: %d %s", answer.StatusCode, answer.text)
	}
	lenient := world(t, func(o *api.Options) { o.Lenient = true })
	if answer := lenient.do("GET", path, "", lenient.as("alice repo"), "Accept: application/json"); answer.StatusCode != 404 {
		t.Errorf("lenient, without the preview: %d %s", answer.StatusCode, answer.text)
	}
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	c := world(t, func(o *api.Options) { o.Maintenance = true })
	answer := c.do("GET", "/repos/alice/open/import", "", c.as("alice repo"))
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", answer.StatusCode, answer.text)
	}
	if answer := c.do("GET", "/repos/alice/open", "", c.as("alice repo")); answer.StatusCode != 200 {
		t.Errorf("maintenance of imports stops the rest: %d", answer.StatusCode)
	}
}

// What is wrong with a request is told in the contract's words.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	tests := []struct {
		name, method, path, body string
		status                   int
		message                  string
		field                    string // "field code"
	}{
		{"no JSON", "PUT", "/repos/alice/open/import", "vcs_url=x", 400, "Problems parsing JSON", ""},
		{"no object", "PUT", "/repos/alice/open/import", `["x"]`, 400, "Body should be a JSON object", ""},
		{"wrong type", "PUT", "/repos/alice/open/import", `{"vcs_url":1}`, 422, "Validation Failed", "vcs_url invalid"},
		{"missing field", "PUT", "/repos/alice/open/import", `{}`, 422, "Validation Failed", "vcs_url missing_field"},
		{"unknown system", "PUT", "/repos/alice/open/import", `{"vcs":"cvs","vcs_url":"http://127.0.0.1:1/x"}`, 422, "Validation Failed", "vcs invalid"},
		{"file address", "PUT", "/repos/alice/open/import", `{"vcs_url":"file:///etc"}`, 422, "Validation Failed", "vcs_url invalid"},
		{"private network", "PUT", "/repos/alice/open/import", `{"vcs_url":"http://10.0.0.1/x"}`, 422, "Validation Failed", "vcs_url invalid"},
		{"too large", "PUT", "/repos/alice/open/import", `{"vcs_url":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "The body is larger than 1048576 bytes.", ""},
		{"since", "GET", "/repos/alice/open/import/authors?since=x", "", 422, "Validation Failed", "since invalid"},
		{"no author's number", "PATCH", "/repos/alice/open/import/authors/x", "{}", 404, "Not Found", ""},
		{"no choice", "PATCH", "/repos/alice/open/import", `{"tfvc_project":"x"}`, 422, "Validation Failed", "vcs missing_field"},
		{"lfs missing", "PATCH", "/repos/alice/open/import/lfs", `{}`, 422, "Validation Failed", "use_lfs missing_field"},
		{"name taken", "POST", "/user/repos", `{"name":"OPEN"}`, 422, "Validation Failed", "name already_exists"},
		{"name bad", "POST", "/user/repos", `{"name":"a/b"}`, 422, "Validation Failed", "name invalid"},
		{"visibility", "POST", "/user/repos", `{"name":"x","visibility":"internal"}`, 422, "Validation Failed", "visibility invalid"},
		{"permission", "PUT", "/repos/alice/open/collaborators/bob", `{"permission":"own"}`, 422, "Validation Failed", "permission invalid"},
		{"unknown address", "GET", "/repos/alice", "", 404, "Not Found", ""},
		{"slash at the end", "GET", "/repos/alice/open/", "", 404, "Not Found", ""},
		{"untidy address", "GET", "/repos//alice/open", "", 404, "Not Found", ""},
		{"dots", "GET", "/repos/x/../alice/open", "", 404, "Not Found", ""},
		{"wrong method", "POST", "/repos/alice/open/import", "{}", 405, "Method Not Allowed", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := c.do(tt.method, tt.path, tt.body, c.as("alice all"))
			if answer.StatusCode != tt.status || answer.message() != tt.message {
				t.Fatalf("got %d %s, want %d %q", answer.StatusCode, answer.text, tt.status, tt.message)
			}
			var body struct {
				Errors []struct{ Resource, Field, Code string }
			}
			_ = json.Unmarshal(answer.text, &body)
			var fields []string
			for _, e := range body.Errors {
				fields = append(fields, e.Field+" "+e.Code)
			}
			if got := strings.Join(fields, ", "); got != tt.field {
				t.Errorf("the errors are %q, want %q", got, tt.field)
			}
		})
	}
	if allow := c.do("POST", "/repos/alice/open/import", "{}").Header.Get("Allow"); allow != "GET, HEAD, PUT, PATCH, DELETE" {
		t.Errorf("Allow: %s", allow)
	}
}

// Every address that a thing has answers alike, and with the same URLs in it.
func TestAliases(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	id := c.do("GET", "/repos/alice/open", "", c.as("alice repo")).object(t)["id"].(float64)
	want := c.do("GET", "/repos/alice/open", "", c.as("alice repo"))
	for _, path := range []string{"/api/v3/repos/alice/open", fmt.Sprintf("/repositories/%.0f", id), fmt.Sprintf("/api/v3/repositories/%.0f", id), "/repos/ALICE/Open"} {
		if got := c.do("GET", path, "", c.as("alice repo")); got.StatusCode != 200 || string(got.text) != string(want.text) {
			t.Errorf("%s gives %d %s", path, got.StatusCode, got.text)
		}
	}
	for _, path := range []string{"/repos/alice/open/import/large_files", "/alice/open/import/large_files", "/api/v3/alice/open/import/large_files", fmt.Sprintf("/repositories/%.0f/import/large_files", id)} {
		if got := c.do("GET", path, "", c.as("bob repo")); got.StatusCode != 403 {
			t.Errorf("%s gives a reader %d %s", path, got.StatusCode, got.text)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	c := world(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		c.repository(c.alice, name, false)
	}
	var names []string
	next := c.url + "/user/repos?per_page=2&sort=x&page=1"
	pages := 0
	for next != "" {
		answer := c.do("GET", strings.TrimPrefix(next, c.url), "", c.as("alice repo"))
		var list []struct{ Name string }
		if err := json.Unmarshal(answer.text, &list); err != nil {
			t.Fatalf("%s: %v", answer.text, err)
		}
		for _, r := range list {
			names = append(names, r.Name)
		}
		pages++
		links := parseLinks(answer.Header.Get("Link"))
		if pages == 2 && (links["first"] == "" || links["prev"] == "" || links["last"] == "" || !strings.Contains(links["next"], "sort=x")) {
			t.Errorf("the links of the second page are %v", links)
		}
		next = links["next"]
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "a b c hidden open" || pages != 3 {
		t.Errorf("%d pages hold %q", pages, got)
	}
	if link := c.do("GET", "/user/repos", "", c.as("alice repo")).Header.Get("Link"); link != "" {
		t.Errorf("a list of one page has the links %s", link)
	}
}

func parseLinks(header string) map[string]string {
	links := map[string]string{}
	for part := range strings.SplitSeq(header, ", ") {
		if address, rel, ok := strings.Cut(part, `>; rel="`); ok {
			links[strings.TrimSuffix(rel, `"`)] = strings.TrimPrefix(address, "<")
		}
	}
	return links
}
