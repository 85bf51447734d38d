package api

import (
	"cmp"
	"net/http"

	"gantry"
	"gantry/internal/imports"
)

const importResource = "Import"

func (a *API) startImport(c *call) (reply, error) {
	var in struct {
		VCS         string       `json:"vcs"`
		VCSURL      string       `json:"vcs_url"`
		VCSUsername string       `json:"vcs_username"`
		VCSPassword string       `json:"vcs_password"`
		TFVCProject string       `json:"tfvc_project"`
		SVNRoot     string       `json:"svn_root"`
		SVNOptions  gantry.Shape `json:"svn_options"`
	}
	if err := decode(c, importResource, &in); err != nil {
		return reply{}, err
	}
	imp, err := a.Imports.Start(c.r.Context(), c.principal, c.view, imports.Start{
		VCS: in.VCS, VCSURL: in.VCSURL, Username: in.VCSUsername, Password: in.VCSPassword,
		TFVCProject: in.TFVCProject, SVNRoot: in.SVNRoot, Shape: in.SVNOptions,
	})
	if err != nil {
		return reply{}, err
	}
	return created(a.URLs.importOf(c.view), a.newImportBody(c.view, imp))
}

func (a *API) getImport(c *call) (reply, error) {
	imp, err := a.Imports.Get(c.r.Context(), c.principal, c.view)
	if err != nil {
		return reply{}, err
	}
	return ok(a.newImportBody(c.view, imp))
}

// importUpdate is the body of PATCH import: credentials, one whole project choice, a root and options for Subversion, or
// nothing at all, which restarts.
type importUpdate struct {
	VCSUsername *string       `json:"vcs_username"`
	VCSPassword *string       `json:"vcs_password"`
	VCS         *string       `json:"vcs"`
	TFVCProject *string       `json:"tfvc_project"`
	SVNRoot     *string       `json:"svn_root"`
	SVCRoot     *string       `json:"svc_root"` // a spelling that published clients know
	VCSURL      *string       `json:"vcs_url"`
	SVNOptions  *gantry.Shape `json:"svn_options"`
}

func (a *API) updateImport(c *call) (reply, error) {
	var in importUpdate
	if err := decodeOptional(c, importResource, &in); err != nil {
		return reply{}, err
	}
	choice, err := in.choice()
	if err != nil {
		return reply{}, err
	}
	update := imports.Update{Username: in.VCSUsername, Password: in.VCSPassword, Choice: choice, Shape: in.SVNOptions}
	if choice == nil {
		update.SVNRoot = cmp.Or(in.SVNRoot, in.SVCRoot)
	}
	imp, err := a.Imports.Update(c.r.Context(), c.principal, c.view, update)
	if err != nil {
		return reply{}, err
	}
	rep := reply{status: http.StatusOK, body: a.newImportBody(c.view, imp)}
	if update == (imports.Update{}) { // a restart
		rep.location = a.URLs.importOf(c.view)
	}
	return rep, nil
}

// choice is nil when the body names no project. The root of a Subversion project is a setting when it comes without vcs.
func (in *importUpdate) choice() (*gantry.ProjectChoice, error) {
	if in.VCS == nil && in.TFVCProject == nil && in.VCSURL == nil {
		return nil, nil
	}
	if in.VCS == nil {
		return nil, invalidField(importResource, "vcs", gantry.MissingField, "")
	}
	vcs, known := gantry.ParseVCS(*in.VCS)
	if !known {
		return nil, invalidField(importResource, "vcs", gantry.InvalidField, "vcs is one of subversion, git, mercurial, tfvc")
	}
	return &gantry.ProjectChoice{
		VCS: vcs, TFVCProject: first(in.TFVCProject), SVNRoot: first(in.SVNRoot, in.SVCRoot), VCSURL: first(in.VCSURL),
	}, nil
}

func (a *API) cancelImport(c *call) (reply, error) {
	if err := a.Imports.Cancel(c.r.Context(), c.principal, c.view); err != nil {
		return reply{}, err
	}
	return noContent()
}

func (a *API) listAuthors(c *call) (reply, error) {
	since, err := c.since(importResource)
	if err != nil {
		return reply{}, err
	}
	authors, err := a.Imports.Authors(c.r.Context(), c.principal, c.view, since)
	if err != nil {
		return reply{}, err
	}
	bodies := make([]authorBody, len(authors))
	for i := range authors {
		bodies[i] = a.newAuthorBody(c.view, &authors[i])
	}
	return ok(bodies)
}

func (a *API) getAuthor(c *call) (reply, error) {
	id, err := c.pathID("author_id")
	if err != nil {
		return reply{}, err
	}
	author, err := a.Imports.Author(c.r.Context(), c.principal, c.view, id)
	if err != nil {
		return reply{}, err
	}
	return ok(a.newAuthorBody(c.view, author))
}

func (a *API) mapAuthor(c *call) (reply, error) {
	id, err := c.pathID("author_id")
	if err != nil {
		return reply{}, err
	}
	var in struct {
		Email *string `json:"email"`
		Name  *string `json:"name"`
	}
	if err := decode(c, "Author", &in); err != nil {
		return reply{}, err
	}
	author, err := a.Imports.MapAuthor(c.r.Context(), c.principal, c.view, id, in.Email, in.Name)
	if err != nil {
		return reply{}, err
	}
	return ok(a.newAuthorBody(c.view, author))
}

func (a *API) setLFS(c *call) (reply, error) {
	var in struct {
		UseLFS *gantry.LFSChoice `json:"use_lfs"`
	}
	if err := decode(c, importResource, &in); err != nil {
		return reply{}, err
	}
	if in.UseLFS == nil {
		return reply{}, invalidField(importResource, "use_lfs", gantry.MissingField, "")
	}
	imp, err := a.Imports.SetLFS(c.r.Context(), c.principal, c.view, *in.UseLFS)
	if err != nil {
		return reply{}, err
	}
	return ok(a.newImportBody(c.view, imp))
}

func (a *API) listLargeFiles(c *call) (reply, error) {
	files, err := a.Imports.LargeFiles(c.r.Context(), c.principal, c.view)
	if err != nil {
		return reply{}, err
	}
	bodies := make([]largeFileBody, len(files))
	for i, f := range files {
		bodies[i] = largeFileBody(f)
	}
	return ok(bodies)
}

func (a *API) getReport(c *call) (reply, error) {
	report, err := a.Imports.Report(c.r.Context(), c.principal, c.view)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, text: report, contentType: jsonType}, nil
}
