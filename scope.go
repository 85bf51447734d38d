package gantry

import (
	"maps"
	"slices"
	"strings"
)

// Scope is one permission word of a token. A scope limits; it never adds to what its user may do.
type Scope string

// impliedScopes maps every known scope to those it covers directly.
var impliedScopes = map[Scope][]Scope{
	"user":             {"read:user", "user:email", "user:follow"},
	"read:user":        nil,
	"user:email":       nil,
	"user:follow":      nil,
	"repo":             {"repo:status", "repo_deployment", "public_repo", "repo:invite", "notifications"},
	"public_repo":      nil,
	"repo_deployment":  nil,
	"repo:status":      nil,
	"repo:invite":      nil,
	"delete_repo":      nil,
	"notifications":    nil,
	"gist":             nil,
	"admin:repo_hook":  {"write:repo_hook"},
	"write:repo_hook":  {"read:repo_hook"},
	"read:repo_hook":   nil,
	"admin:org_hook":   nil,
	"admin:org":        {"write:org"},
	"write:org":        {"read:org"},
	"read:org":         nil,
	"admin:public_key": {"write:public_key"},
	"write:public_key": {"read:public_key"},
	"read:public_key":  nil,
	"admin:gpg_key":    {"write:gpg_key"},
	"write:gpg_key":    {"read:gpg_key"},
	"read:gpg_key":     nil,
	"site_admin":       nil, // Gantry's own: administration of the site by its administrators
}

// ParseScope reports whether a word is a known scope.
func ParseScope(word string) (Scope, bool) {
	_, ok := impliedScopes[Scope(word)]
	return Scope(word), ok
}

// AllScopes covers every known scope.
func AllScopes() ScopeSet {
	return NewScopeSet(slices.Collect(maps.Keys(impliedScopes))...)
}

// ScopeSet is a set of scopes: sorted, unique, without those that another member covers. The zero value holds none.
type ScopeSet []Scope

// NewScopeSet normalises scopes: what another one covers is dropped.
func NewScopeSet(scopes ...Scope) ScopeSet {
	covered := map[Scope]bool{}
	for _, s := range scopes {
		coverImplied(s, covered)
	}
	set := ScopeSet{}
	for _, s := range scopes {
		if !covered[s] && !slices.Contains(set, s) {
			set = append(set, s)
		}
	}
	slices.Sort(set)
	return set
}

func coverImplied(s Scope, covered map[Scope]bool) {
	for _, i := range impliedScopes[s] {
		covered[i] = true
		coverImplied(i, covered)
	}
}

// Has reports whether the set holds a scope, directly or through one that covers it.
func (s ScopeSet) Has(want Scope) bool {
	for _, have := range s {
		if have == want {
			return true
		}
		covered := map[Scope]bool{}
		coverImplied(have, covered)
		if covered[want] {
			return true
		}
	}
	return false
}

// HasAny reports whether the set holds at least one of several scopes.
func (s ScopeSet) HasAny(wants ...Scope) bool { return slices.ContainsFunc(wants, s.Has) }

// String joins the scopes as the scope headers show them: sorted, comma and space.
func (s ScopeSet) String() string {
	words := make([]string, len(s))
	for i, scope := range s {
		words[i] = string(scope)
	}
	return strings.Join(words, ", ")
}
