package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"gantry"
	"gantry/internal/store"
)

const (
	minPassword = 8
	maxPassword = 1024 // bytes; a bound on the work that a stranger can ask for
)

// CheckPassword reports why a text cannot be a password, nil when it can.
func CheckPassword(password string) error {
	if len(password) >= minPassword && len(password) <= maxPassword {
		return nil
	}
	return &gantry.Error{Kind: gantry.Invalid, Op: "auth.CheckPassword", Fields: []gantry.FieldError{{
		Resource: "User", Field: "password", Code: gantry.InvalidField,
		Message: fmt.Sprintf("a password has %d to %d bytes", minPassword, maxPassword),
	}}}
}

// SetPassword gives a user a password. The earlier one ends at once.
func (s *Service) SetPassword(ctx context.Context, userID int64, password string) error {
	const op = "auth.SetPassword"
	if err := CheckPassword(password); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		user, err := tx.Account(userID)
		if err != nil {
			return err
		}
		if user.Type != gantry.TypeUser {
			return gantry.Errorf(gantry.Invalid, op, "%s is an organization: only users have passwords", user.Login)
		}
		return tx.SetPassword(userID, hash)
	})
}

// Parameters of argon2id (RFC 9106), the least that OWASP advises: 24 ms and 19 MiB for a check.
const (
	argonTime    = 2
	argonMemory  = 19 << 10 // KiB
	argonThreads = 1
	saltSize     = 16
	keySize      = 32
)

// phcPrefix begins a hash in the PHC string format: $argon2id$v=19$m=19456,t=2,p=1$salt$key.
var phcPrefix = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonTime, argonThreads)

// checker hashes and checks passwords, a bounded number at a time.
type checker struct {
	slots   chan struct{} // each holder may use argonMemory
	stripes [64]chan struct{}
	seed    maphash.Seed
	dummy   string // a hash of no password, to spend on unknown logins the time that known ones take

	// successes holds digests of passwords that were right with the hashes they were right for, so that scripts that send one
	// with each request pay for it once a minute. A changed password has another hash, and so does not match any more.
	key       [32]byte
	mu        sync.Mutex
	successes map[[32]byte]time.Time // until when
}

const (
	successLife  = time.Minute
	maxSuccesses = 10_000
)

func newChecker() *checker {
	c := &checker{slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), seed: maphash.MakeSeed(), successes: map[[32]byte]time.Time{}}
	for i := range c.stripes {
		c.stripes[i] = make(chan struct{}, 1)
	}
	rand.Read(c.key[:])
	var random [saltSize + keySize]byte
	rand.Read(random[:])
	c.dummy = encodePHC(random[:saltSize], random[saltSize:])
	return c
}

func encodePHC(salt, key []byte) string {
	return phcPrefix + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key)
}

func decodePHC(hash string) (salt, key []byte, err error) {
	rest, ok := strings.CutPrefix(hash, phcPrefix)
	first, second, ok2 := strings.Cut(rest, "$")
	if !ok || !ok2 {
		return nil, nil, fmt.Errorf("auth: a stored password hash has unknown parameters")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(first); err != nil {
		return nil, nil, fmt.Errorf("auth: a stored password hash: %w", err)
	}
	if key, err = base64.RawStdEncoding.DecodeString(second); err != nil || len(key) != keySize {
		return nil, nil, fmt.Errorf("auth: a stored password hash has a bad key")
	}
	return salt, key, nil
}

func (c *checker) hash(ctx context.Context, password string) (string, error) {
	if err := enter(ctx, c.slots); err != nil {
		return "", err
	}
	defer leave(c.slots)
	salt := make([]byte, saltSize)
	rand.Read(salt)
	return encodePHC(salt, derive(password, salt)), nil
}

func derive(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, keySize)
}

// check reports whether a password is right for a hash, "" for a login without one. Two checks for the same login do not run
// at once, so that guesses sent together count one by one and a right one serves those that wait. When its turn has come it
// asks allowed again, whose error it returns.
func (c *checker) check(ctx context.Context, login, hash, password string, allowed func() error) (bool, error) {
	stripe := c.stripes[maphash.String(c.seed, login)%uint64(len(c.stripes))]
	if err := enter(ctx, stripe); err != nil {
		return false, err
	}
	defer leave(stripe)
	if err := enter(ctx, c.slots); err != nil {
		return false, err
	}
	defer leave(c.slots)
	if err := allowed(); err != nil {
		return false, err
	}
	if c.known(hash, password) {
		return true, nil
	}
	stored := hash
	if hash == "" {
		stored = c.dummy
	}
	salt, key, err := decodePHC(stored)
	if err != nil {
		return false, err
	}
	right := subtle.ConstantTimeCompare(derive(password[:min(len(password), maxPassword+1)], salt), key) == 1
	if !right || hash == "" {
		return false, nil
	}
	c.remember(hash, password)
	return true, nil
}

// known reports whether a password was found right for a hash within the last minute.
func (c *checker) known(hash, password string) bool {
	if hash == "" {
		return false
	}
	digest := c.digest(hash, password)
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.successes[digest])
}

func (c *checker) remember(hash, password string) {
	digest, now := c.digest(hash, password), time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.successes) >= maxSuccesses {
		clear(c.successes)
	}
	c.successes[digest] = now.Add(successLife)
}

func (c *checker) digest(hash, password string) [32]byte {
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write([]byte(hash)) // holds no NUL, so that the two parts cannot run into each other
	mac.Write([]byte{0})
	mac.Write([]byte(password))
	return [32]byte(mac.Sum(nil))
}

// enter takes a place in a semaphore.
func enter(ctx context.Context, semaphore chan struct{}) error {
	select {
	case semaphore <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func leave(semaphore chan struct{}) { <-semaphore }
