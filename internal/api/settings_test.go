package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gantry"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gantrytest/svnfixture"
)

// importOf is the import of one of alice's repositories, once nobody works on it any more.
func (c *cast) importOf(repo string) map[string]any {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		imp := c.do("GET", "/repos/alice/"+repo+"/import", "", c.as("alice repo")).object(c.t)
		if status, _ := imp["status"].(string); !gantry.ImportStatus(status).Live() {
			return imp
		}
	}
	c.t.Fatalf("the import of %s does not end", repo)
	return nil
}

// ask sends a request about an import of alice's and compares the status.
func (c *cast) ask(status int, method, repo, rest, body string, headers ...string) *response {
	c.t.Helper()
	answer := c.do(method, "/repos/alice/"+repo+"/import"+rest, body, append(headers, c.as("alice repo"))...)
	if answer.StatusCode != status {
		c.t.Fatalf("%s %s%s: %d %s, want %d", method, repo, rest, answer.StatusCode, answer.text, status)
	}
	return answer
}

// The project and the shape of a Subversion history may be given when an import starts, and be others later: it is then
// mapped again.
func TestShapeOfAnImport(t *testing.T) {
	t.Parallel()
	h := svnfixture.NewHistory("0b7c1ce6-0000-4000-8000-00000000000a")
	h.Commit("ada", "Two projects", svnfixture.Mkdir("one"), svnfixture.Mkdir("one/trunk"), svnfixture.Mkdir("two"), svnfixture.Mkdir("two/trunk"))
	h.Commit("ada", "The first one", svnfixture.Put("one/trunk/first", "1\n"))
	h.Commit("ada", "The second one", svnfixture.Put("two/trunk/second", "2\n"))
	origin := svnfixture.NewRepo(t)
	origin.Load(t, h.Bytes())
	c := world(t, nil)
	start := func(more string) string {
		return `{"vcs":"subversion","vcs_url":"svn://` + svnfixture.Serve(t, origin.Root) + `/repo"` + more + `}`
	}
	files := func() string { return c.files("open") }

	for name, more := range map[string]string{
		"an unreadable layout": `,"svn_options":{"layout":"this is not one"}`,
		"a wrong type":         `,"svn_options":{"keep_empty":"yes"}`,
		"options for Git":      `,"vcs":"git","svn_options":{"keep_empty":true}`,
	} {
		fault := c.ask(422, "PUT", "open", "", start(more)).object(t)["errors"].([]any)[0].(map[string]any)
		if fault["field"] != "svn_options" || name == "an unreadable layout" && !strings.Contains(fault["message"].(string), "line 1") {
			t.Errorf("%s: %v", name, fault)
		}
	}

	began := c.ask(201, "PUT", "open", "", start(`,"svn_root":"two","svn_options":{"keep_empty":true}`)).object(t)
	if options, _ := json.Marshal(began["svn_options"]); string(options) != `{"keep_empty":true}` || began["svn_root"] != "two" {
		t.Errorf("the import has the options %s and the root %v", options, began["svn_root"])
	}
	if imp := c.importOf("open"); imp["status"] != "complete" || files() != "second" {
		t.Fatalf("%v holds %q", imp, files())
	}
	again := c.ask(200, "PATCH", "open", "", `{"svn_options":{},"svn_root":"one"}`).object(t)
	if again["status"] != "mapping" || again["svn_options"] != nil {
		t.Errorf("with another shape: %v", again)
	}
	if imp := c.importOf("open"); imp["status"] != "complete" || files() != "first" {
		t.Fatalf("%v holds %q", imp, files())
	}
	if same := c.ask(200, "PATCH", "open", "", `{"svn_root":"one"}`).object(t); same["status"] != "complete" {
		t.Errorf("with the shape that it has: %v", same)
	}

	// Which project it is may also be said when the import asks.
	c.ask(201, "PUT", "hidden", "", start(""))
	if imp := c.importOf("hidden"); imp["status"] != "detection_found_multiple" {
		t.Fatalf("without a root: %v", imp)
	}
	// Who chooses nothing, or what was not offered, is asked again.
	c.ask(422, "PATCH", "hidden", "", `{"vcs":"subversion","svn_root":"three"}`)
	c.ask(200, "PATCH", "hidden", "", "")
	if imp := c.importOf("hidden"); imp["status"] != "detection_found_multiple" || len(imp["project_choices"].([]any)) != 2 {
		t.Fatalf("restarted without a choice: %v", imp)
	}
	if on := c.ask(200, "PATCH", "hidden", "", `{"svn_root":"two"}`).object(t); on["status"] != "importing" {
		t.Errorf("with a root: %v", on)
	}
	if imp := c.importOf("hidden"); imp["status"] != "complete" || imp["svn_root"] != "two" {
		t.Fatalf("with a root: %v", imp)
	}

	// A mapping that failed is tried again with what is said then.
	c.ask(200, "PATCH", "hidden", "", `{"svn_root":"three"}`)
	imp := c.importOf("hidden")
	if text, _ := imp["message"].(string); imp["status"] != "error" || imp["failed_step"] != "mapping" || !strings.Contains(text, "three") {
		t.Fatalf("with a root that is not there: %v", imp)
	}
	if on := c.ask(200, "PATCH", "hidden", "", `{"svn_root":"one"}`).object(t); on["status"] != "mapping" {
		t.Errorf("after an error in mapping: %v", on)
	}
	if imp := c.importOf("hidden"); imp["status"] != "complete" || c.files("hidden") != "first" {
		t.Fatalf("%v holds %q", imp, c.files("hidden"))
	}
}

// files are those on the main branch of one of alice's repositories.
func (c *cast) files(repo string) string {
	c.t.Helper()
	dir, release, err := c.repos.OpenRead(c.t.Context(), c.view(repo))
	check(c.t, err)
	defer release()
	return strings.Join(strings.Fields(gitfixture.Git(c.t, dir, "ls-tree", "-r", "--name-only", "refs/heads/main")), " ")
}

// view is one of alice's repositories.
func (c *cast) view(name string) *gantry.Repository {
	c.t.Helper()
	view, err := c.repos.Get(c.t.Context(), gantry.Principal{User: c.alice, Credential: gantry.CredPassword}, owner, name)
	check(c.t, err)
	return &view.Repository
}
