package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"gantry"
)

// A route that forgets to say who may call it must not be served.
func TestEveryRouteSaysWhoMayCallIt(t *testing.T) {
	for _, rt := range routes {
		if rt.access == nil || rt.handle == nil {
			t.Errorf("%s %s has no access rule or no handler", rt.method, rt.pattern)
		}
	}
}

// The description and the route table name the same operations: neither promises what the other does not have.
func TestDescriptionMatchesRoutes(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(Description)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	for _, rt := range routes {
		served = append(served, rt.method+" "+strings.TrimSuffix(rt.pattern, "{$}"))
	}
	slices.Sort(described)
	slices.Sort(served)
	for _, op := range served {
		if !slices.Contains(described, op) {
			t.Errorf("%s is served and not described", op)
		}
	}
	for _, op := range described {
		if !slices.Contains(served, op) {
			t.Errorf("%s is described and not served", op)
		}
	}
}

func TestNumericAliases(t *testing.T) {
	rt := route{method: "GET", pattern: "/repos/{owner}/{repo}/import"}
	want := []string{
		"/repos/{owner}/{repo}/import", "/repositories/{repo_id}/import",
		"/api/v3/repos/{owner}/{repo}/import", "/api/v3/repositories/{repo_id}/import",
	}
	if got := rt.patterns(); !slices.Equal(got, want) {
		t.Errorf("patterns are %q, want %q", got, want)
	}
}

// Every kind of error has its place in the one table, so that none falls through to a status nobody chose.
func TestEveryKindHasAStatus(t *testing.T) {
	for kind := gantry.Internal; kind <= gantry.RateLimited; kind++ {
		if known := kinds[kind]; known.status == 0 || known.message == "" {
			t.Errorf("kind %q has no status or message", kind)
		}
	}
	rep := problemReply(gantry.Errorf(gantry.Internal, "store.Read", "secret path /var/x"), "doc")
	if body := rep.body.(*errorBody); rep.status != http.StatusInternalServerError || body.Message != "Server Error" {
		t.Errorf("an internal error is told as %d %q", rep.status, body.Message)
	}
	rep = problemReply(context.Canceled, "doc")
	if body := rep.body.(*errorBody); rep.status != http.StatusInternalServerError || body.Message != "Server Error" {
		t.Errorf("a foreign error is told as %d %q", rep.status, body.Message)
	}
}
