// Package auth turns what a request presents into a principal, and keeps passwords and tokens.
package auth

import (
	"context"
	"net/netip"
	"time"

	"gantry"
	"gantry/internal/store"
)

var unimplemented = gantry.Errorf(gantry.Internal, "auth", "unimplemented")

// Limits bound guessing.
type Limits struct {
	Failures int           // of one account or address within Window, after which it is locked out; 10 when 0
	Window   time.Duration // 15 minutes when 0
}

// Service is the one resolver of credentials. It is safe for concurrent use.
type Service struct{}

// New returns a Service over a database. Close it.
func New(db *store.DB, now func() time.Time, limits Limits) *Service { return &Service{} }

// Close writes what is pending.
func (s *Service) Close() error { return nil }

// Presented is what a request sent to prove who makes it. All empty: nothing was sent.
type Presented struct {
	Token    string // by "Authorization: token", "Bearer" or access_token
	Basic    bool   // Username and Password came by Basic authentication
	Username string
	Password string
	Addr     netip.Addr
}

// Resolve returns the principal that the presented credential proves; the anonymous one when none was sent.
// Wrong credentials are Unauthenticated, a lock-out and a suspended account are Forbidden.
func (s *Service) Resolve(ctx context.Context, in Presented) (gantry.Principal, error) {
	return gantry.Principal{}, unimplemented
}

// SetPassword gives a user a password.
func (s *Service) SetPassword(ctx context.Context, userID int64, password string) error {
	return unimplemented
}

// CreateToken makes a personal access token. The text is not kept: it can be shown only now. A zero expires means never.
func (s *Service) CreateToken(ctx context.Context, userID int64, scopes gantry.ScopeSet, note string, expires time.Time) (string, *gantry.Token, error) {
	return "", nil, unimplemented
}

// Tokens returns a user's tokens in id order.
func (s *Service) Tokens(ctx context.Context, userID int64) ([]gantry.Token, error) {
	return nil, unimplemented
}

// RevokeToken removes a token of a user at once.
func (s *Service) RevokeToken(ctx context.Context, userID, id int64) error { return unimplemented }
