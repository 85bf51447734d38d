package gantry

import (
	"regexp"
	"strings"
	"time"
)

// AccountType tells users from organizations.
type AccountType string

const (
	TypeUser         AccountType = "User"
	TypeOrganization AccountType = "Organization"
)

// Account is a user or an organization. Logins are unique across both, compared without case.
type Account struct {
	ID        int64
	Type      AccountType
	Login     string
	Name      string
	Email     string // primary address; empty for most organizations
	SiteAdmin bool
	Suspended bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// OrgRole is a user's part in an organization.
type OrgRole string

const (
	RoleMember OrgRole = "member"
	RoleOwner  OrgRole = "admin" // the word on the wire
)

// Membership joins a user to an organization.
type Membership struct {
	OrgID  int64
	UserID int64
	Role   OrgRole
}

var loginPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9]|-[A-Za-z0-9]){0,38}$`)

// reservedLogins are first path segments that the service uses itself.
var reservedLogins = map[string]bool{
	"api": true, "applications": true, "assets": true, "authorizations": true, "healthz": true, "incidents": true,
	"join": true, "login": true, "logout": true, "metrics": true, "organizations": true, "orgs": true, "rate_limit": true,
	"readyz": true, "repos": true, "repositories": true, "sessions": true, "settings": true, "signup": true, "status": true,
	"user": true, "users": true,
}

// CheckLogin reports why a login cannot be given, nil when it can: 1 to 39 letters, digits and single inner hyphens,
// and not a word that addresses the service itself.
func CheckLogin(login string) *FieldError {
	switch {
	case login == "":
		return &FieldError{Resource: "User", Field: "login", Code: MissingField}
	case !loginPattern.MatchString(login) || len(login) > 39:
		return &FieldError{Resource: "User", Field: "login", Code: InvalidField, Message: "login may have up to 39 letters, digits and single hyphens, and no hyphen at either end"}
	case reservedLogins[strings.ToLower(login)]:
		return &FieldError{Resource: "User", Field: "login", Code: InvalidField, Message: "login is a reserved word"}
	}
	return nil
}
