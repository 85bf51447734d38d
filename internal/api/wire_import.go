package api

import (
	"encoding/json"

	"gantry"
	"gantry/internal/repos"
)

// maybe is a field that some states leave out, and that others carry as null until its value is known.
type maybe[T any] struct {
	present bool
	value   *T
}

func present[T any](value *T) maybe[T] { return maybe[T]{present: true, value: value} }

// IsZero leaves the field out; see the omitzero option of encoding/json.
func (m maybe[T]) IsZero() bool { return !m.present }

// MarshalJSON writes the value or null.
func (m maybe[T]) MarshalJSON() ([]byte, error) { return json.Marshal(m.value) }

// importBody is the Import record. Which optional fields it has depends on the state: see newImportBody.
type importBody struct {
	VCS             *gantry.VCS            `json:"vcs"`
	UseLFS          gantry.LFSChoice       `json:"use_lfs"`
	VCSURL          string                 `json:"vcs_url"`
	TFVCProject     string                 `json:"tfvc_project,omitempty"`
	SVNRoot         string                 `json:"svn_root,omitempty"`
	SVNOptions      gantry.Shape           `json:"svn_options,omitzero"`
	Status          gantry.ImportStatus    `json:"status"`
	CommitCount     maybe[int64]           `json:"commit_count,omitzero"`
	StatusText      string                 `json:"status_text"`
	HasLargeFiles   *bool                  `json:"has_large_files,omitempty"`
	LargeFilesSize  *int64                 `json:"large_files_size,omitempty"`
	LargeFilesCount *int64                 `json:"large_files_count,omitempty"`
	AuthorsCount    int64                  `json:"authors_count"`
	Percent         maybe[int]             `json:"percent,omitzero"`
	ImportPercent   maybe[int]             `json:"import_percent,omitzero"`
	PushPercent     *int                   `json:"push_percent,omitempty"`
	FailedStep      gantry.ImportStatus    `json:"failed_step,omitempty"`
	Message         string                 `json:"message,omitempty"`
	ErrorMessage    string                 `json:"error_message,omitempty"`
	ProjectChoices  []gantry.ProjectChoice `json:"project_choices,omitempty"`
	URL             string                 `json:"url"`
	HTMLURL         string                 `json:"html_url"`
	AuthorsURL      string                 `json:"authors_url"`
	RepositoryURL   string                 `json:"repository_url"`
}

func (a *API) newImportBody(v *repos.View, imp *gantry.Import) *importBody {
	url := a.URLs.importOf(v)
	body := &importBody{
		UseLFS:        imp.UseLFS,
		VCSURL:        imp.VCSURL,
		TFVCProject:   imp.TFVCProject,
		SVNRoot:       imp.SVNRoot,
		SVNOptions:    imp.Shape,
		Status:        imp.Status,
		StatusText:    imp.StatusText,
		AuthorsCount:  imp.AuthorsCount,
		URL:           url,
		HTMLURL:       a.URLs.Web + "/" + fullName(v) + "/import",
		AuthorsURL:    url + "/authors",
		RepositoryURL: a.URLs.repository(v),
	}
	if imp.VCS != "" {
		body.VCS = &imp.VCS
	}
	if imp.RawDone {
		has := imp.LargeFilesCount > 0
		body.HasLargeFiles, body.LargeFilesSize, body.LargeFilesCount = &has, &imp.LargeFilesSize, &imp.LargeFilesCount
	}
	switch imp.Status {
	case gantry.StatusImporting:
		body.CommitCount = present(imp.CommitCount)
		body.Percent, body.ImportPercent = present(imp.Percent), present(imp.Percent)
		// A restart reads on: what was known of the last reading is not known of this one.
		body.HasLargeFiles, body.LargeFilesSize, body.LargeFilesCount = nil, nil, nil
	case gantry.StatusPushing:
		body.PushPercent = new(int)
		if imp.PushPercent != nil {
			body.PushPercent = imp.PushPercent
		}
	case gantry.StatusError:
		body.FailedStep, body.Message, body.ErrorMessage = imp.FailedStep, imp.Message, imp.Message
	case gantry.StatusDetectionFoundMultiple:
		body.ProjectChoices = imp.ProjectChoices
	}
	return body
}

// authorBody is the Commit author record.
type authorBody struct {
	ID         int64  `json:"id"`
	RemoteID   string `json:"remote_id"`
	RemoteName string `json:"remote_name"`
	Email      string `json:"email"`
	Name       string `json:"name"`
	URL        string `json:"url"`
	ImportURL  string `json:"import_url"`
}

func (a *API) newAuthorBody(v *repos.View, author *gantry.Author) authorBody {
	return authorBody{
		ID:         author.ID,
		RemoteID:   author.RemoteID,
		RemoteName: author.RemoteName,
		Email:      author.Email,
		Name:       author.Name,
		URL:        a.URLs.author(v, author.ID),
		ImportURL:  a.URLs.importOf(v),
	}
}

// largeFileBody is the Large file record.
type largeFileBody struct {
	RefName string `json:"ref_name"`
	Path    string `json:"path"`
	OID     string `json:"oid"`
	Size    int64  `json:"size"`
}
