package api

import (
	"cmp"

	"gantry"
	"gantry/internal/repos"
)

const repositoryResource = "Repository"

func (a *API) getRepository(c *call) (reply, error) { return ok(a.newRepositoryBody(c.view)) }

// repositoryEdit is the body that creates or changes a repository.
type repositoryEdit struct {
	Name          *string `json:"name"`
	Description   *string `json:"description"`
	Homepage      *string `json:"homepage"`
	Private       *bool   `json:"private"`
	Visibility    *string `json:"visibility"` // public or private; wins over private
	DefaultBranch *string `json:"default_branch"`
}

// decodeRepository also settles the visibility, which has two spellings, and the scope that a private repository needs.
func decodeRepository(c *call) (in repositoryEdit, err error) {
	if err := decode(c, repositoryResource, &in); err != nil {
		return in, err
	}
	if in.Visibility != nil {
		private := *in.Visibility == "private"
		if !private && *in.Visibility != "public" {
			return in, invalidField(repositoryResource, "visibility", gantry.InvalidField, "visibility is public or private")
		}
		in.Private = &private
	}
	if in.Private != nil && *in.Private && !c.principal.Allows("repo") {
		return in, gantry.Errorf(gantry.Forbidden, "api", "The token lacks a scope. A private repository needs: repo")
	}
	return in, nil
}

func (a *API) createOwnRepository(c *call) (reply, error) {
	return a.createRepository(c, c.principal.User.Login)
}

func (a *API) createOrganizationRepository(c *call) (reply, error) {
	org, err := a.organization(c)
	if err != nil {
		return reply{}, err
	}
	return a.createRepository(c, org.Login)
}

func (a *API) createRepository(c *call, owner string) (reply, error) {
	in, err := decodeRepository(c)
	if err != nil {
		return reply{}, err
	}
	view, err := a.Repos.Create(c.r.Context(), c.principal, owner, repos.NewRepository{
		Name: first(in.Name), Description: first(in.Description), Homepage: first(in.Homepage),
		Private: in.Private != nil && *in.Private, DefaultBranch: first(in.DefaultBranch),
	})
	if err != nil {
		return reply{}, err
	}
	return created(a.URLs.repository(view), a.newRepositoryBody(view))
}

func (a *API) updateRepository(c *call) (reply, error) {
	in, err := decodeRepository(c)
	if err != nil {
		return reply{}, err
	}
	view, err := a.Repos.Update(c.r.Context(), c.principal, c.view, repos.Update{
		Name: in.Name, Description: in.Description, Homepage: in.Homepage, Private: in.Private, DefaultBranch: in.DefaultBranch,
	})
	if err != nil {
		return reply{}, err
	}
	return ok(a.newRepositoryBody(view))
}

func (a *API) deleteRepository(c *call) (reply, error) {
	if err := a.Repos.Delete(c.r.Context(), c.principal, c.view); err != nil {
		return reply{}, err
	}
	return noContent()
}

func (a *API) listOwnRepositories(c *call) (reply, error) {
	page := c.page()
	views, total, err := a.Repos.ListForUser(c.r.Context(), c.principal, page)
	if err != nil {
		return reply{}, err
	}
	return a.paged(c, page, total, a.newRepositoryBodies(views))
}

func (a *API) listAccountRepositories(c *call) (reply, error) {
	return a.listRepositoriesOf(c, c.r.PathValue("user"))
}

func (a *API) listOrganizationRepositories(c *call) (reply, error) {
	org, err := a.organization(c)
	if err != nil {
		return reply{}, err
	}
	return a.listRepositoriesOf(c, org.Login)
}

func (a *API) listRepositoriesOf(c *call, owner string) (reply, error) {
	page := c.page()
	views, total, err := a.Repos.ListForOwner(c.r.Context(), c.principal, owner, page)
	if err != nil {
		return reply{}, err
	}
	return a.paged(c, page, total, a.newRepositoryBodies(views))
}

func (a *API) listCollaborators(c *call) (reply, error) {
	page := c.page()
	list, total, err := a.Repos.Collaborators(c.r.Context(), c.principal, c.view, page)
	if err != nil {
		return reply{}, err
	}
	bodies := make([]collaboratorBody, len(list))
	for i := range list {
		bodies[i] = collaboratorBody{ownerBody: a.newOwnerBody(&list[i].User), Permissions: newPermissionsBody(list[i].Permission)}
	}
	return a.paged(c, page, total, bodies)
}

// checkCollaborator answers 204 for those who may at least read, however they came by it, and 404 for others.
func (a *API) checkCollaborator(c *call) (reply, error) {
	found, err := a.Repos.Collaborator(c.r.Context(), c.principal, c.view, c.r.PathValue("user"))
	if err != nil {
		return reply{}, err
	}
	if found.Permission == gantry.PermNone {
		return reply{}, errHidden
	}
	return noContent()
}

func (a *API) getCollaboratorPermission(c *call) (reply, error) {
	found, err := a.Repos.Collaborator(c.r.Context(), c.principal, c.view, c.r.PathValue("user"))
	if err != nil {
		return reply{}, err
	}
	return ok(permissionBody{Permission: levels[found.Permission], User: a.newOwnerBody(&found.User)})
}

func (a *API) setCollaborator(c *call) (reply, error) {
	var in struct {
		Permission *string `json:"permission"`
	}
	if err := decodeOptional(c, "Collaborator", &in); err != nil {
		return reply{}, err
	}
	permission, known := gantry.ParsePermission(cmp.Or(first(in.Permission), "push"))
	if !known {
		return reply{}, invalidField("Collaborator", "permission", gantry.InvalidField, "permission is one of pull, push, admin")
	}
	if err := a.Repos.SetCollaborator(c.r.Context(), c.principal, c.view, c.r.PathValue("user"), permission); err != nil {
		return reply{}, err
	}
	return noContent()
}

func (a *API) removeCollaborator(c *call) (reply, error) {
	if err := a.Repos.RemoveCollaborator(c.r.Context(), c.principal, c.view, c.r.PathValue("user")); err != nil {
		return reply{}, err
	}
	return noContent()
}
