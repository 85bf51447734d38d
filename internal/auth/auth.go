// Package auth turns what a request presents into a principal, and keeps passwords and tokens. However a credential is
// sent, it ends in Service.Resolve.
package auth

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"gantry"
	"gantry/internal/secret"
	"gantry/internal/store"
)

// Limits bound guessing.
type Limits struct {
	Failures int           // within Window, after which an account or an address is locked out; 10 when 0
	Window   time.Duration // 15 minutes when 0
}

// Service is the one resolver of credentials. It is safe for concurrent use.
type Service struct {
	db        *store.DB
	now       func() time.Time
	failures  *failures
	passwords *checker
	tokens    *tokenCache
	uses      *uses

	closing   chan struct{}
	closeOnce sync.Once
	done      chan struct{} // closed when keepUses has ended
}

// New returns a Service over a database. Close it before the database.
func New(db *store.DB, now func() time.Time, limits Limits) *Service {
	s := &Service{
		db: db, now: now,
		failures:  newFailures(limits),
		passwords: newChecker(),
		tokens:    newTokenCache(),
		uses:      newUses(),
		closing:   make(chan struct{}),
		done:      make(chan struct{}),
	}
	go s.keepUses()
	return s
}

// Close records the last uses of tokens.
func (s *Service) Close() error {
	s.closeOnce.Do(func() { close(s.closing) })
	<-s.done
	return s.recordUses(context.Background())
}

// Presented is what a request sent to prove who makes it. Empty: nothing was sent.
type Presented struct {
	Token    string // by "Authorization: token", by "Bearer" or in the query
	Basic    bool   // Username and Password came by Basic authentication
	Username string
	Password string
	Addr     netip.Addr // of the client
}

// Resolve returns the principal that the presented credential proves, the anonymous one when none was sent. Basic
// authentication takes a password; a token as the password, with its owner's name; or a token as the user name, with
// "x-oauth-basic" or nothing as the password. Wrong credentials are Unauthenticated; suspended users, and those who
// failed too often, are Forbidden.
func (s *Service) Resolve(ctx context.Context, in Presented) (gantry.Principal, error) {
	if in.Token == "" && !in.Basic {
		return gantry.Principal{}, nil
	}
	now, from := s.now(), addressKey(in.Addr)
	if err := s.failures.check(now, from); err != nil {
		return gantry.Principal{}, err
	}
	switch {
	case !in.Basic:
		return s.byToken(ctx, in.Token, "", from)
	case (in.Password == "" || in.Password == "x-oauth-basic") && secret.CheckToken(in.Username):
		return s.byToken(ctx, in.Username, "", from)
	case secret.CheckToken(in.Password):
		return s.byToken(ctx, in.Password, in.Username, from)
	}
	return s.byPassword(ctx, in.Username, in.Password, from)
}

// byToken resolves a token; owner is the login that was sent with it, "" for none. A wrong token counts against the address alone:
// it does not say whose it might be.
func (s *Service) byToken(ctx context.Context, token, owner string, from failureKey) (gantry.Principal, error) {
	now := s.now()
	if !secret.CheckToken(token) {
		return gantry.Principal{}, s.fail(now, from)
	}
	found, err := s.lookUp(ctx, now, secret.HashToken(token))
	switch {
	case gantry.KindOf(err) == gantry.NotFound,
		err == nil && expired(found.Token, now),
		err == nil && owner != "" && !strings.EqualFold(owner, found.User.Login):
		return gantry.Principal{}, s.fail(now, from)
	case err != nil:
		return gantry.Principal{}, err
	case found.User.Suspended:
		return gantry.Principal{}, suspended()
	}
	s.uses.note(found.Token.ID, now)
	return gantry.Principal{User: &found.User, Credential: gantry.CredToken, TokenID: found.Token.ID, Scopes: found.Token.Scopes}, nil
}

func expired(t gantry.Token, now time.Time) bool {
	return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
}

// byPassword resolves a login and a password. Everything up to the answer is the same for a login that does not exist.
func (s *Service) byPassword(ctx context.Context, login, password string, from failureKey) (gantry.Principal, error) {
	name := accountKey(login)
	allowed := func() error { return s.failures.check(s.now(), from, name) }
	if err := allowed(); err != nil {
		return gantry.Principal{}, err
	}
	var user *gantry.Account
	var hash string
	err := s.db.Read(ctx, func(tx *store.Tx) (err error) { user, hash, err = tx.UserWithPassword(login); return err })
	if err != nil && gantry.KindOf(err) != gantry.NotFound {
		return gantry.Principal{}, err
	}
	ok := s.passwords.known(hash, password)
	if !ok {
		if ok, err = s.passwords.check(ctx, string(name), hash, password, allowed); err != nil {
			return gantry.Principal{}, err
		}
	}
	switch {
	case !ok:
		return gantry.Principal{}, s.fail(s.now(), from, name)
	case user.Suspended:
		return gantry.Principal{}, suspended()
	}
	return gantry.Principal{User: user, Credential: gantry.CredPassword}, nil
}

// fail counts a failure and returns the error for it.
func (s *Service) fail(now time.Time, keys ...failureKey) error {
	s.failures.add(now, keys...)
	return &gantry.Error{Kind: gantry.Unauthenticated, Op: "auth.Resolve", Msg: "Bad credentials"}
}

func suspended() error {
	return &gantry.Error{Kind: gantry.Forbidden, Op: "auth.Resolve", Msg: "Sorry. Your account was suspended"}
}
