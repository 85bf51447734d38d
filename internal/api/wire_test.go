package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/repos"
)

// Which fields an import has, and which of them are null, depends on its state as the contract says.
func TestImportFieldsByState(t *testing.T) {
	const always = "authors_count authors_url html_url repository_url status status_text url use_lfs vcs vcs_url"
	const largeFiles = " has_large_files large_files_count large_files_size"
	percent, commits := 40, int64(1200)
	tests := []struct {
		name   string
		imp    gantry.Import
		fields string // besides those there always are
		nulls  string
	}{
		{"detecting", gantry.Import{Status: gantry.StatusDetecting}, "", "vcs"},
		{"importing, nothing known", gantry.Import{Status: gantry.StatusImporting}, "percent import_percent commit_count", "commit_count import_percent percent vcs"},
		{"importing", gantry.Import{Status: gantry.StatusImporting, VCS: gantry.Git, Percent: &percent, CommitCount: &commits}, "percent import_percent commit_count", ""},
		{"importing again", gantry.Import{Status: gantry.StatusImporting, VCS: gantry.Git, RawDone: true, Percent: &percent, CommitCount: &commits}, "percent import_percent commit_count", ""},
		{"mapping", gantry.Import{Status: gantry.StatusMapping, VCS: gantry.Git, RawDone: true, Percent: &percent}, largeFiles, ""},
		{"pushing", gantry.Import{Status: gantry.StatusPushing, VCS: gantry.Git, RawDone: true}, "push_percent" + largeFiles, ""},
		{"complete", gantry.Import{Status: gantry.StatusComplete, VCS: gantry.TFVC, TFVCProject: "p", RawDone: true, PushPercent: &percent}, "tfvc_project" + largeFiles, ""},
		{"error", gantry.Import{Status: gantry.StatusError, VCS: gantry.Subversion, SVNRoot: "a", FailedStep: gantry.StatusImporting, Message: "m"}, "svn_root failed_step message error_message", ""},
		{"shaped", gantry.Import{Status: gantry.StatusMapping, VCS: gantry.Subversion, Shape: gantry.Shape{KeepEmpty: true}}, "svn_options", ""},
		{"choices", gantry.Import{Status: gantry.StatusDetectionFoundMultiple, ProjectChoices: []gantry.ProjectChoice{{VCS: gantry.TFVC, TFVCProject: "p", HumanName: "P"}}}, "project_choices", "vcs"},
		{"auth_failed", gantry.Import{Status: gantry.StatusAuthFailed, VCS: gantry.Git}, "", ""},
	}
	a := &API{Options: Options{URLs: URLs{API: "http://api.test", Web: "http://web.test"}}}
	view := &repos.View{Repository: gantry.Repository{Name: "r"}, Owner: gantry.Account{Login: "o"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(a.newImportBody(view, &tt.imp))
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			if err := json.Unmarshal(text, &fields); err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(always + " " + tt.fields)
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
				t.Errorf("the fields are %q, want %q", got, want)
			}
			var nulls []string
			for name, value := range fields {
				if value == nil {
					nulls = append(nulls, name)
				}
			}
			slices.Sort(nulls)
			if got := strings.Join(nulls, " "); got != tt.nulls {
				t.Errorf("null are %q, want %q", got, tt.nulls)
			}
			if fields["url"] != "http://api.test/repos/o/r/import" || fields["html_url"] != "http://web.test/o/r/import" {
				t.Errorf("the addresses are %v and %v", fields["url"], fields["html_url"])
			}
		})
	}
}
