package auth

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"gantry"
	"gantry/internal/secret"
	"gantry/internal/store"
)

const maxNote = 255 // bytes

// CreateToken makes a personal access token. The text is not kept: it can be shown only now. A zero expires means never.
func (s *Service) CreateToken(ctx context.Context, userID int64, scopes gantry.ScopeSet, note string, expires time.Time) (string, *gantry.Token, error) {
	const op = "auth.CreateToken"
	now := s.now().UTC().Truncate(time.Second)
	t := &gantry.Token{UserID: userID, Note: note, Scopes: gantry.NewScopeSet(scopes...), CreatedAt: now, ExpiresAt: expires}
	var wrong []gantry.FieldError
	for _, scope := range scopes {
		if _, ok := gantry.ParseScope(string(scope)); !ok {
			wrong = append(wrong, gantry.FieldError{Resource: "OauthAccess", Field: "scopes", Code: gantry.InvalidField, Message: "there is no scope " + string(scope)})
		}
	}
	if len(note) > maxNote || !utf8.ValidString(note) || strings.ContainsFunc(note, unicode.IsControl) {
		wrong = append(wrong, gantry.FieldError{Resource: "OauthAccess", Field: "note", Code: gantry.InvalidField, Message: "note may have up to 255 bytes and no control characters"})
	}
	if expired(*t, now) {
		wrong = append(wrong, gantry.FieldError{Resource: "OauthAccess", Field: "expires_at", Code: gantry.InvalidField, Message: "expires_at is in the past"})
	}
	if len(wrong) > 0 {
		return "", nil, &gantry.Error{Kind: gantry.Invalid, Op: op, Fields: wrong}
	}
	text := secret.NewToken(secret.PersonalToken)
	t.LastEight = text[len(text)-8:]
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		user, err := tx.Account(userID)
		if err != nil {
			return err
		}
		if user.Type != gantry.TypeUser {
			return gantry.Errorf(gantry.Invalid, op, "%s is an organization: only users have tokens", user.Login)
		}
		return tx.InsertToken(t, secret.HashToken(text))
	})
	if err != nil {
		return "", nil, err
	}
	return text, t, nil
}

// Tokens returns a user's tokens in id order.
func (s *Service) Tokens(ctx context.Context, userID int64) (list []gantry.Token, err error) {
	err = s.db.Read(ctx, func(tx *store.Tx) error { list, err = tx.Tokens(userID); return err })
	return list, err
}

// RevokeToken removes a token of a user. This process refuses it from now on, others within tokenLife.
func (s *Service) RevokeToken(ctx context.Context, userID, id int64) error {
	var hash [32]byte
	err := s.db.Write(ctx, func(tx *store.Tx) (err error) { hash, err = tx.DeleteToken(userID, id); return err })
	if err != nil {
		return err
	}
	s.tokens.drop(hash)
	return nil
}

// lookUp finds a token and its owner, in the cache or in the database. The result is the caller's own.
func (s *Service) lookUp(ctx context.Context, now time.Time, hash [32]byte) (store.TokenOwner, error) {
	found, drops, ok := s.tokens.get(hash, now)
	if ok {
		return found, nil
	}
	err := s.db.Read(ctx, func(tx *store.Tx) error {
		t, err := tx.TokenByHash(hash)
		if err == nil {
			found = *t
		}
		return err
	})
	if err == nil {
		s.tokens.put(hash, found, now, drops)
	}
	return found, err
}

const (
	// tokenLife is how long a look-up is good for: a token that is revoked, or a user who is suspended, by another process
	// passes no longer than this.
	tokenLife       = time.Second
	maxCachedTokens = 10_000
)

// tokenCache keeps look-ups that found something for a moment: clients send requests in bursts.
type tokenCache struct {
	mu      sync.RWMutex
	entries map[[32]byte]tokenEntry
	drops   int // grows with each drop: what was read before it is not put
}

type tokenEntry struct {
	found store.TokenOwner
	until time.Time
}

func newTokenCache() *tokenCache { return &tokenCache{entries: map[[32]byte]tokenEntry{}} }

// get returns what is cached, and the number of drops by now, which put wants.
func (c *tokenCache) get(hash [32]byte, now time.Time) (found store.TokenOwner, drops int, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[hash]
	return e.found, c.drops, ok && now.Before(e.until)
}

func (c *tokenCache) put(hash [32]byte, found store.TokenOwner, now time.Time, drops int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if drops != c.drops {
		return
	}
	if len(c.entries) >= maxCachedTokens {
		clear(c.entries)
	}
	c.entries[hash] = tokenEntry{found, now.Add(tokenLife)}
}

func (c *tokenCache) drop(hash [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	delete(c.entries, hash)
}

const (
	usesEvery = time.Minute
	usesBatch = 1000 // in one transaction
)

// uses collects when tokens were last used, to be recorded in batches: a write for each request would cost more than the request.
type uses struct {
	mu   sync.Mutex
	last map[int64]time.Time
}

func newUses() *uses { return &uses{last: map[int64]time.Time{}} }

func (u *uses) note(id int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at.After(u.last[id]) {
		u.last[id] = at
	}
}

func (u *uses) take() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.last
	u.last = map[int64]time.Time{}
	return taken
}

// keepUses records uses every minute until Close.
func (s *Service) keepUses() {
	defer close(s.done)
	ticker := time.NewTicker(usesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = s.recordUses(context.Background()) // what failed is tried again with the next batch
		case <-s.closing:
			return
		}
	}
}

// recordUses writes what has been collected. What cannot be written is kept for another time.
func (s *Service) recordUses(ctx context.Context) error {
	pending := s.uses.take()
	for len(pending) > 0 {
		batch := make(map[int64]time.Time, usesBatch)
		for id, at := range pending {
			if len(batch) == usesBatch {
				break
			}
			batch[id] = at
		}
		err := s.db.Write(ctx, func(tx *store.Tx) error {
			for id, at := range batch {
				if err := tx.TouchToken(id, at); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			for id, at := range pending {
				s.uses.note(id, at)
			}
			return err
		}
		for id := range batch {
			delete(pending, id)
		}
	}
	return nil
}
