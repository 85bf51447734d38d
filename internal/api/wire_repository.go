package api

import (
	"gantry"
	"gantry/internal/repos"
)

// repositoryBody is the contract's Repository record, every field of it. What this service does not have (issues, forks,
// stars) is false or zero, and its addresses answer 404.
type repositoryBody struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	FullName    string    `json:"full_name"`
	Owner       ownerBody `json:"owner"`
	Private     bool      `json:"private"`
	HTMLURL     string    `json:"html_url"`
	Description string    `json:"description"`
	Fork        bool      `json:"fork"`
	repositoryURLs
	Homepage        string          `json:"homepage"`
	Language        *string         `json:"language"`
	ForksCount      int             `json:"forks_count"`
	StargazersCount int             `json:"stargazers_count"`
	WatchersCount   int             `json:"watchers_count"`
	Size            int64           `json:"size"`
	DefaultBranch   string          `json:"default_branch"`
	OpenIssuesCount int             `json:"open_issues_count"`
	HasIssues       bool            `json:"has_issues"`
	HasWiki         bool            `json:"has_wiki"`
	HasPages        bool            `json:"has_pages"`
	HasDownloads    bool            `json:"has_downloads"`
	PushedAt        string          `json:"pushed_at"`
	CreatedAt       string          `json:"created_at"`
	UpdatedAt       string          `json:"updated_at"`
	Permissions     permissionsBody `json:"permissions"`
}

// repositoryURLs are the addresses around a repository; those with braces are URI templates (RFC 6570).
type repositoryURLs struct {
	URL              string `json:"url"`
	ArchiveURL       string `json:"archive_url"`
	AssigneesURL     string `json:"assignees_url"`
	BlobsURL         string `json:"blobs_url"`
	BranchesURL      string `json:"branches_url"`
	CloneURL         string `json:"clone_url"`
	CollaboratorsURL string `json:"collaborators_url"`
	CommentsURL      string `json:"comments_url"`
	CommitsURL       string `json:"commits_url"`
	CompareURL       string `json:"compare_url"`
	ContentsURL      string `json:"contents_url"`
	ContributorsURL  string `json:"contributors_url"`
	DeploymentsURL   string `json:"deployments_url"`
	DownloadsURL     string `json:"downloads_url"`
	EventsURL        string `json:"events_url"`
	ForksURL         string `json:"forks_url"`
	GitCommitsURL    string `json:"git_commits_url"`
	GitRefsURL       string `json:"git_refs_url"`
	GitTagsURL       string `json:"git_tags_url"`
	GitURL           string `json:"git_url"`
	HooksURL         string `json:"hooks_url"`
	IssueCommentURL  string `json:"issue_comment_url"`
	IssueEventsURL   string `json:"issue_events_url"`
	IssuesURL        string `json:"issues_url"`
	KeysURL          string `json:"keys_url"`
	LabelsURL        string `json:"labels_url"`
	LanguagesURL     string `json:"languages_url"`
	MergesURL        string `json:"merges_url"`
	MilestonesURL    string `json:"milestones_url"`
	MirrorURL        string `json:"mirror_url"`
	NotificationsURL string `json:"notifications_url"`
	PullsURL         string `json:"pulls_url"`
	ReleasesURL      string `json:"releases_url"`
	SSHURL           string `json:"ssh_url"`
	StargazersURL    string `json:"stargazers_url"`
	StatusesURL      string `json:"statuses_url"`
	SubscribersURL   string `json:"subscribers_url"`
	SubscriptionURL  string `json:"subscription_url"`
	SVNURL           string `json:"svn_url"`
	TagsURL          string `json:"tags_url"`
	TeamsURL         string `json:"teams_url"`
	TreesURL         string `json:"trees_url"`
}

func (u URLs) around(v *repos.View) repositoryURLs {
	url, page := u.repository(v), u.Web+"/"+fullName(v)
	clone := page + ".git"
	return repositoryURLs{
		URL:              url,
		ArchiveURL:       url + "/{archive_format}{/ref}",
		AssigneesURL:     url + "/assignees{/user}",
		BlobsURL:         url + "/git/blobs{/sha}",
		BranchesURL:      url + "/branches{/branch}",
		CloneURL:         clone,
		CollaboratorsURL: url + "/collaborators{/collaborator}",
		CommentsURL:      url + "/comments{/number}",
		CommitsURL:       url + "/commits{/sha}",
		CompareURL:       url + "/compare/{base}...{head}",
		ContentsURL:      url + "/contents/{+path}",
		ContributorsURL:  url + "/contributors",
		DeploymentsURL:   url + "/deployments",
		DownloadsURL:     url + "/downloads",
		EventsURL:        url + "/events",
		ForksURL:         url + "/forks",
		GitCommitsURL:    url + "/git/commits{/sha}",
		GitRefsURL:       url + "/git/refs{/sha}",
		GitTagsURL:       url + "/git/tags{/sha}",
		GitURL:           clone, // no git:// daemon and no SSH here: all three name the address that can be cloned
		HooksURL:         url + "/hooks",
		IssueCommentURL:  url + "/issues/comments{/number}",
		IssueEventsURL:   url + "/issues/events{/number}",
		IssuesURL:        url + "/issues{/number}",
		KeysURL:          url + "/keys{/key_id}",
		LabelsURL:        url + "/labels{/name}",
		LanguagesURL:     url + "/languages",
		MergesURL:        url + "/merges",
		MilestonesURL:    url + "/milestones{/number}",
		NotificationsURL: url + "/notifications{?since,all,participating}",
		PullsURL:         url + "/pulls{/number}",
		ReleasesURL:      url + "/releases{/id}",
		SSHURL:           clone,
		StargazersURL:    url + "/stargazers",
		StatusesURL:      url + "/statuses/{sha}",
		SubscribersURL:   url + "/subscribers",
		SubscriptionURL:  url + "/subscription",
		SVNURL:           page,
		TagsURL:          url + "/tags",
		TeamsURL:         url + "/teams",
		TreesURL:         url + "/git/trees{/sha}",
	}
}

type permissionsBody struct {
	Admin bool `json:"admin"`
	Push  bool `json:"push"`
	Pull  bool `json:"pull"`
}

func newPermissionsBody(p gantry.Permission) permissionsBody {
	return permissionsBody{Admin: p >= gantry.PermAdmin, Push: p >= gantry.PermWrite, Pull: p >= gantry.PermRead}
}

func (a *API) newRepositoryBody(v *repos.View) *repositoryBody {
	r := &v.Repository
	pushed := r.PushedAt
	if pushed.IsZero() {
		pushed = r.CreatedAt // the contract's field has no null
	}
	return &repositoryBody{
		ID:             r.ID,
		Name:           r.Name,
		FullName:       fullName(v),
		Owner:          a.newOwnerBody(&v.Owner),
		Private:        r.Private,
		HTMLURL:        a.URLs.Web + "/" + fullName(v),
		Description:    r.Description,
		repositoryURLs: a.URLs.around(v),
		Homepage:       r.Homepage,
		Size:           r.Size,
		DefaultBranch:  r.DefaultBranch,
		PushedAt:       timestamp(pushed),
		CreatedAt:      timestamp(r.CreatedAt),
		UpdatedAt:      timestamp(r.UpdatedAt),
		Permissions:    newPermissionsBody(v.Permission),
	}
}

func (a *API) newRepositoryBodies(views []repos.View) []*repositoryBody {
	bodies := make([]*repositoryBody, len(views))
	for i := range views {
		bodies[i] = a.newRepositoryBody(&views[i])
	}
	return bodies
}

// collaboratorBody is a user in a repository's list of collaborators.
type collaboratorBody struct {
	ownerBody
	Permissions permissionsBody `json:"permissions"`
}

// permissionBody is what one user may do with a repository.
type permissionBody struct {
	Permission string    `json:"permission"` // admin, write, read or none
	User       ownerBody `json:"user"`
}

// levels are the words of permissionBody, by permission.
var levels = [...]string{gantry.PermNone: "none", gantry.PermRead: "read", gantry.PermWrite: "write", gantry.PermAdmin: "admin"}
