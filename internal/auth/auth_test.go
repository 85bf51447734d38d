package auth_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/auth"
	"gantry/internal/secret"
	"gantry/internal/store"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// bundle is a service on a database of its own, with a clock that the test sets.
type bundle struct {
	*testing.T
	*auth.Service
	db    *store.DB
	clock atomic.Int64
	ada   *gantry.Account // with the password "correct horse"
	addrs int
}

const password = "correct horse"

func each(t *testing.T, test func(b *bundle)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) { test(newBundle(t, dsn)) })
}

func newBundle(t *testing.T, dsn string) *bundle {
	t.Helper()
	b := &bundle{T: t, db: storetest.Open(t, dsn)}
	b.clock.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix())
	b.Service = auth.New(b.db, b.now, auth.Limits{})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.ada = b.user("ada")
	if err := b.SetPassword(t.Context(), b.ada.ID, password); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bundle) now() time.Time          { return time.Unix(b.clock.Load(), 0) }
func (b *bundle) advance(d time.Duration) { b.clock.Add(int64(d / time.Second)) }

func (b *bundle) user(login string) *gantry.Account {
	b.Helper()
	a, err := accounts.New(b.db, b.now).CreateUser(b.Context(), accounts.NewUser{Login: login})
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func (b *bundle) token(user *gantry.Account, expires time.Time, scopes ...gantry.Scope) (string, *gantry.Token) {
	b.Helper()
	text, t, err := b.CreateToken(b.Context(), user.ID, scopes, "test", expires)
	if err != nil {
		b.Fatal(err)
	}
	return text, t
}

// elsewhere returns an address that has not been used.
func (b *bundle) elsewhere() netip.Addr {
	b.addrs++
	return netip.AddrFrom4([4]byte{198, 51, byte(b.addrs >> 8), byte(b.addrs)})
}

func (b *bundle) resolve(in auth.Presented) (gantry.Principal, error) {
	if !in.Addr.IsValid() {
		in.Addr = b.elsewhere()
	}
	return b.Resolve(b.Context(), in)
}

func (b *bundle) expect(what string, in auth.Presented, kind gantry.Kind) {
	b.Helper()
	p, err := b.resolve(in)
	var e *gantry.Error
	if !errors.As(err, &e) || e.Kind != kind || !p.Anonymous() {
		b.Errorf("%s: %+v, %v; want %v", what, p, err, kind)
	}
	if kind == gantry.Unauthenticated && gantry.Message(err) != "Bad credentials" {
		b.Errorf("%s: message %q", what, gantry.Message(err))
	}
}

func (b *bundle) succeed(what string, in auth.Presented, cred gantry.Credential) gantry.Principal {
	b.Helper()
	p, err := b.resolve(in)
	if err != nil || p.Anonymous() || p.User.Login != "ada" || p.Credential != cred {
		b.Errorf("%s: %+v, %v", what, p, err)
	}
	return p
}

func basic(user, password string) auth.Presented {
	return auth.Presented{Basic: true, Username: user, Password: password}
}

// All ways of sending a credential give the same principal, with the same scopes.
func TestResolve(t *testing.T) {
	each(t, func(b *bundle) {
		text, token := b.token(b.ada, time.Time{}, "repo", "public_repo")
		for what, in := range map[string]auth.Presented{
			"header":                  {Token: text},
			"basic, as password":      basic("ada", text),
			"basic, name of any case": basic("ADA", text),
			"basic, x-oauth-basic":    basic(text, "x-oauth-basic"),
			"basic, as user name":     basic(text, ""),
		} {
			p := b.succeed(what, in, gantry.CredToken)
			if p.TokenID != token.ID || p.Scopes.String() != "repo" || p.Allows("user") || !p.Allows("public_repo") {
				b.Errorf("%s: %+v", what, p)
			}
		}
		if p := b.succeed("password", basic("Ada", password), gantry.CredPassword); !p.Allows("user") {
			b.Errorf("a password is limited: %+v", p)
		}
		if p, err := b.resolve(auth.Presented{}); err != nil || !p.Anonymous() {
			b.Errorf("nothing sent: %+v, %v", p, err)
		}
		b.user("bob")
		wrong := text[:10] + "0" + text[11:]
		if wrong == text {
			wrong = text[:10] + "1" + text[11:]
		}
		for what, in := range map[string]auth.Presented{
			"mistyped token":             {Token: wrong},
			"unknown token":              {Token: secret.NewToken(secret.PersonalToken)},
			"password as token":          {Token: password},
			"wrong password":             basic("ada", "correct horses"),
			"empty password":             basic("ada", ""),
			"empty name and password":    basic("", ""),
			"unknown user":               basic("nobody", password),
			"user without a password":    basic("bob", ""),
			"user without a password, 2": basic("bob", password),
			"another's token":            basic("bob", text),
			"nobody's token":             basic("nobody", text),
			"unknown token, right name":  basic("ada", secret.NewToken(secret.PersonalToken)),
			"x-oauth-basic as password":  basic("ada", "x-oauth-basic"),
			"very long":                  basic(strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<20)),
			"not text":                   basic("a\x00\xff", "\x00\xff"),
		} {
			b.expect(what, in, gantry.Unauthenticated)
		}
	})
}

func TestTokensEnd(t *testing.T) {
	each(t, func(b *bundle) {
		brief, _ := b.token(b.ada, b.now().Add(time.Hour), "repo")
		lasting, record := b.token(b.ada, time.Time{})
		for range 2 { // from the database, then from the cache
			b.succeed("fresh", auth.Presented{Token: brief}, gantry.CredToken)
			if p := b.succeed("fresh", auth.Presented{Token: lasting}, gantry.CredToken); p.Allows("repo") {
				b.Error("a token without scopes allows repo")
			}
		}
		b.advance(time.Hour)
		b.expect("expired", auth.Presented{Token: brief}, gantry.Unauthenticated)
		b.succeed("without expiry", auth.Presented{Token: lasting}, gantry.CredToken)

		bob := b.user("bob")
		if err := b.RevokeToken(b.Context(), bob.ID, record.ID); gantry.KindOf(err) != gantry.NotFound {
			b.Errorf("revoked by another user: %v", err)
		}
		b.succeed("still there", auth.Presented{Token: lasting}, gantry.CredToken)
		if err := b.RevokeToken(b.Context(), b.ada.ID, record.ID); err != nil {
			b.Fatal(err)
		}
		b.expect("revoked", auth.Presented{Token: lasting}, gantry.Unauthenticated)
		list, err := b.Tokens(b.Context(), b.ada.ID)
		if err != nil || len(list) != 1 || list[0].LastEight != brief[len(brief)-8:] {
			b.Errorf("tokens: %+v, %v", list, err)
		}
	})
}

// What another process revokes or suspends passes for a second at most.
func TestOtherProcesses(t *testing.T) {
	each(t, func(b *bundle) {
		text, token := b.token(b.ada, time.Time{})
		b.succeed("fresh", auth.Presented{Token: text}, gantry.CredToken)
		b.succeed("password", basic("ada", password), gantry.CredPassword)
		b.ada.Suspended = true
		if err := b.db.Write(b.Context(), func(tx *store.Tx) error { return tx.UpdateAccount(b.ada) }); err != nil {
			b.Fatal(err)
		}
		b.advance(time.Second)
		b.expect("suspended, token", auth.Presented{Token: text}, gantry.Forbidden)
		b.expect("suspended, password", basic("ada", password), gantry.Forbidden)
		b.expect("suspended, wrong password", basic("ada", "wrong password"), gantry.Unauthenticated)
		if err := b.db.Write(b.Context(), func(tx *store.Tx) error { _, err := tx.DeleteToken(b.ada.ID, token.ID); return err }); err != nil {
			b.Fatal(err)
		}
		b.advance(time.Second)
		b.expect("revoked", auth.Presented{Token: text}, gantry.Unauthenticated)
	})
}

func TestCreateToken(t *testing.T) {
	each(t, func(b *bundle) {
		lab, err := accounts.New(b.db, b.now).CreateOrganization(b.Context(), accounts.NewOrganization{Login: "lab", Owner: "ada"})
		if err != nil {
			b.Fatal(err)
		}
		for name, c := range map[string]struct {
			user    int64
			scopes  gantry.ScopeSet
			note    string
			expires time.Time
			kind    gantry.Kind
		}{
			"unknown scope":   {b.ada.ID, gantry.ScopeSet{"repo", "everything"}, "", time.Time{}, gantry.Invalid},
			"long note":       {b.ada.ID, nil, strings.Repeat("n", 256), time.Time{}, gantry.Invalid},
			"note of lines":   {b.ada.ID, nil, "a\x00b", time.Time{}, gantry.Invalid},
			"expired":         {b.ada.ID, nil, "", b.now(), gantry.Invalid},
			"an organization": {lab.ID, nil, "", time.Time{}, gantry.Invalid},
			"nobody":          {9999, nil, "", time.Time{}, gantry.NotFound},
		} {
			if _, _, err := b.CreateToken(b.Context(), c.user, c.scopes, c.note, c.expires); gantry.KindOf(err) != c.kind {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestSetPassword(t *testing.T) {
	each(t, func(b *bundle) {
		b.succeed("first", basic("ada", password), gantry.CredPassword)
		if err := b.SetPassword(b.Context(), b.ada.ID, "another horse"); err != nil {
			b.Fatal(err)
		}
		b.expect("earlier password", basic("ada", password), gantry.Unauthenticated)
		b.succeed("new password", basic("ada", "another horse"), gantry.CredPassword)
		for _, bad := range []string{"", "short", strings.Repeat("x", 1025)} {
			if err := b.SetPassword(b.Context(), b.ada.ID, bad); gantry.KindOf(err) != gantry.Invalid {
				b.Errorf("password of %d bytes: %v", len(bad), err)
			}
		}
		if err := b.SetPassword(b.Context(), 9999, password); gantry.KindOf(err) != gantry.NotFound {
			b.Errorf("nobody's password: %v", err)
		}
	})
}

// Ten failures lock what failed, also for right credentials, until the window has passed.
func TestLockOut(t *testing.T) {
	each(t, func(b *bundle) {
		text, _ := b.token(b.ada, time.Time{})
		b.Run("an account, from anywhere", func(t *testing.T) {
			for i := range 10 {
				b.expect(fmt.Sprintf("failure %d", i), basic("aDa", "wrong password"), gantry.Unauthenticated)
				b.advance(time.Second)
			}
			b.expect("right password", basic("ada", password), gantry.Forbidden)
			b.expect("wrong password", basic("ada", "wrong password"), gantry.Forbidden)
			b.succeed("its token", auth.Presented{Token: text}, gantry.CredToken)
			b.succeed("its token by Basic", basic("ada", text), gantry.CredToken)
			_, err := b.resolve(basic("ada", password))
			var e *gantry.Error
			if !errors.As(err, &e) || e.RetryAfter <= 14*time.Minute || e.RetryAfter > 15*time.Minute || !strings.HasPrefix(e.Msg, "Maximum number of login attempts exceeded") {
				t.Errorf("lock-out: %#v", e)
			}
			b.advance(15*time.Minute - 10*time.Second)
			b.succeed("after the window", basic("ada", password), gantry.CredPassword)
		})
		b.Run("an account that does not exist", func(*testing.T) {
			for range 10 {
				b.expect("failure", basic("nobody", "wrong password"), gantry.Unauthenticated)
			}
			b.expect("locked", basic("nobody", "wrong password"), gantry.Forbidden)
		})
		b.Run("an address", func(t *testing.T) {
			here := b.elsewhere()
			for i := range 10 {
				in := auth.Presented{Token: secret.NewToken(secret.PersonalToken), Addr: here}
				if i%2 == 0 {
					in = auth.Presented{Token: "mistyped", Addr: here}
				}
				b.expect("failure", in, gantry.Unauthenticated)
			}
			b.expect("right token", auth.Presented{Token: text, Addr: here}, gantry.Forbidden)
			if _, err := b.resolve(auth.Presented{Addr: here}); err != nil {
				t.Errorf("anonymous: %v", err)
			}
			b.succeed("right token, from elsewhere", auth.Presented{Token: text}, gantry.CredToken)
		})
		b.Run("a network of IPv6", func(*testing.T) {
			for i := range 10 {
				addr := netip.MustParseAddr(fmt.Sprintf("2001:db8:1:2::%d", i+1))
				b.expect("failure", auth.Presented{Token: "mistyped", Addr: addr}, gantry.Unauthenticated)
			}
			b.expect("same network", auth.Presented{Token: text, Addr: netip.MustParseAddr("2001:db8:1:2:ffff::1")}, gantry.Forbidden)
			b.succeed("another network", auth.Presented{Token: text, Addr: netip.MustParseAddr("2001:db8:1:3::1")}, gantry.CredToken)
		})
	})
}

// Guesses that are sent at once do not get more tries than those sent one after the other.
func TestGuessesAtOnce(t *testing.T) {
	each(t, func(b *bundle) {
		var checked atomic.Int32
		var wg sync.WaitGroup
		for i := range 40 {
			from := b.elsewhere()
			wg.Go(func() {
				_, err := b.Resolve(b.Context(), auth.Presented{Basic: true, Username: "ada", Password: fmt.Sprint("guess number ", i), Addr: from})
				if gantry.KindOf(err) == gantry.Unauthenticated {
					checked.Add(1)
				}
			})
		}
		wg.Wait()
		if n := checked.Load(); n != 10 {
			b.Errorf("%d guesses were checked, want 10", n)
		}
	})
}

// Clients that send the right password at once all get in, for the price of one check.
func TestLoginsAtOnce(t *testing.T) {
	each(t, func(b *bundle) {
		begin := time.Now()
		var wg sync.WaitGroup
		for range 200 {
			from := b.elsewhere()
			wg.Go(func() {
				if _, err := b.Resolve(b.Context(), auth.Presented{Basic: true, Username: "ada", Password: password, Addr: from}); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		b.Logf("200 logins in %v", time.Since(begin))
	})
}

// The last use is recorded by Close at the latest.
func TestLastUsed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		b := newBundle(t, dsn)
		text, _ := b.token(b.ada, time.Time{})
		b.advance(time.Hour)
		b.succeed("use", auth.Presented{Token: text}, gantry.CredToken)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		list, err := b.Tokens(t.Context(), b.ada.ID)
		if err != nil || len(list) != 1 || !list[0].LastUsedAt.Equal(b.now()) {
			t.Errorf("%+v, %v; want last use at %v", list, err, b.now())
		}
	})
}

// BenchmarkResolve is what each authenticated request costs.
func BenchmarkResolve(b *testing.B) {
	db := storetest.Open(b, storetest.SQLite(b))
	s := auth.New(db, time.Now, auth.Limits{})
	defer s.Close()
	user, err := accounts.New(db, time.Now).CreateUser(b.Context(), accounts.NewUser{Login: "ada"})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.SetPassword(b.Context(), user.ID, password); err != nil {
		b.Fatal(err)
	}
	token, _, err := s.CreateToken(b.Context(), user.ID, gantry.ScopeSet{"repo"}, "", time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	for name, in := range map[string]auth.Presented{"token": {Token: token}, "password": basic("ada", password)} {
		in.Addr = netip.MustParseAddr("198.51.100.1")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := s.Resolve(b.Context(), in); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
