package gantry

import (
	"regexp"
	"strings"
	"time"
)

// Repository is a hosted Git repository's record. Its objects and refs are in internal/repos.
type Repository struct {
	ID            int64
	OwnerID       int64
	Name          string // unique within an owner, compared without case
	Description   string
	Homepage      string
	Private       bool
	DefaultBranch string
	Size          int64 // kilobytes on disk, as of the last push or import
	PushedAt      time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Permission is what a user may do with a repository; each level includes those before it.
type Permission uint8

const (
	PermNone Permission = iota
	PermRead
	PermWrite
	PermAdmin
)

// permissionNames are the words on the wire.
var permissionNames = map[string]Permission{"pull": PermRead, "push": PermWrite, "admin": PermAdmin}

// ParsePermission reads the API's word for a permission.
func ParsePermission(word string) (Permission, bool) {
	p, ok := permissionNames[word]
	return p, ok
}

func (p Permission) String() string {
	for word, perm := range permissionNames {
		if perm == p {
			return word
		}
	}
	return "none"
}

var repoNamePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// CheckRepositoryName reports why a repository cannot have a name, nil when it can.
func CheckRepositoryName(name string) *FieldError {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return &FieldError{Resource: "Repository", Field: "name", Code: MissingField}
	case !repoNamePattern.MatchString(name), name == ".", name == "..", strings.HasPrefix(name, "-"):
		return &FieldError{Resource: "Repository", Field: "name", Code: InvalidField, Message: "name may have up to 100 letters, digits, dots, hyphens and underscores"}
	case strings.HasSuffix(lower, ".git"), strings.HasSuffix(lower, ".wiki"):
		return &FieldError{Resource: "Repository", Field: "name", Code: InvalidField, Message: "name may not end in .git or .wiki"}
	}
	return nil
}
