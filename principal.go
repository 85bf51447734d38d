package gantry

import "time"

// Credential says how a principal proved itself.
type Credential uint8

const (
	CredNone     Credential = iota
	CredPassword            // Basic authentication with the account's password; not limited by scopes
	CredToken               // a token, however it was sent; limited by its scopes
)

// Principal is who makes a request. The zero value is the anonymous one.
type Principal struct {
	User       *Account // nil for anonymous callers
	Credential Credential
	TokenID    int64    // with CredToken
	Scopes     ScopeSet // with CredToken
}

// Anonymous reports whether nobody proved anything.
func (p Principal) Anonymous() bool { return p.User == nil }

// Allows reports whether the credential covers one of the scopes that an operation accepts. An operation that accepts
// none is open to every credential; an anonymous principal is covered by nothing else.
func (p Principal) Allows(accepted ...Scope) bool {
	switch p.Credential {
	case CredPassword:
		return true
	case CredToken:
		return len(accepted) == 0 || p.Scopes.HasAny(accepted...)
	}
	return len(accepted) == 0
}

// Administers reports whether the principal acts as an administrator of the site: its user is one and its credential covers it.
func (p Principal) Administers() bool {
	return p.User != nil && p.User.SiteAdmin && p.Allows("site_admin")
}

// Token is a personal access token's record. The token itself is shown once and stored only as its SHA-256.
type Token struct {
	ID         int64
	UserID     int64
	Note       string
	LastEight  string
	Scopes     ScopeSet
	CreatedAt  time.Time
	LastUsedAt time.Time // zero until used; kept in batches, so a minute behind
	ExpiresAt  time.Time // zero: never
}
