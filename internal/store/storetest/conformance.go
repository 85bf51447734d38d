package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gantry"
	"gantry/internal/store"
)

// Run checks that a database keeps what the store promises. open returns a database without records.
func Run(t *testing.T, open func(t *testing.T) *store.DB) {
	for name, test := range map[string]func(b *bundle){
		"accounts":            testAccounts,
		"passwords":           testPasswords,
		"memberships":         testMemberships,
		"repositories":        testRepositories,
		"repository lists":    testRepositoryLists,
		"collaborators":       testCollaborators,
		"tokens":              testTokens,
		"paging":              testPaging,
		"write undoes errors": testWriteUndoesErrors,
		"write undoes panics": testWriteUndoesPanics,
		"writers at once":     testWritersAtOnce,
		"write sees no other": testWriteIsAlone,
		"ended contexts":      testEndedContexts,
		"ids are not reused":  testIDsAreNotReused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&bundle{t, open(t)})
		})
	}
}

// bundle is a test with a database of its own.
type bundle struct {
	*testing.T
	db *store.DB
}

var when = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

func (b *bundle) read(fn func(*store.Tx) error) {
	b.Helper()
	if err := b.db.Read(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) write(fn func(*store.Tx) error) {
	b.Helper()
	if err := b.db.Write(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}

// refused runs fn, which must fail with a kind of error.
func (b *bundle) refused(kind gantry.Kind, fn func(*store.Tx) error) *gantry.Error {
	b.Helper()
	err := b.db.Write(b.Context(), fn)
	var e *gantry.Error
	if !errors.As(err, &e) || e.Kind != kind {
		b.Fatalf("error is %v (%v), want kind %v", err, gantry.KindOf(err), kind)
	}
	return e
}

func (b *bundle) account(kind gantry.AccountType, login string) *gantry.Account {
	b.Helper()
	a := &gantry.Account{Type: kind, Login: login, CreatedAt: when, UpdatedAt: when}
	b.write(func(tx *store.Tx) error { return tx.InsertAccount(a) })
	return a
}

func (b *bundle) repository(owner *gantry.Account, name string, private bool) *gantry.Repository {
	b.Helper()
	r := &gantry.Repository{OwnerID: owner.ID, Name: name, Private: private, DefaultBranch: "main", CreatedAt: when, UpdatedAt: when}
	b.write(func(tx *store.Tx) error { return tx.InsertRepository(r) })
	return r
}

func same(b *bundle, got, want any) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("differs (-want +got):\n%s", diff)
	}
}

func testAccounts(b *bundle) {
	a := &gantry.Account{
		Type: gantry.TypeUser, Login: "Ada", Name: "Ada Łovelace 🙂", Email: "ada@example.com",
		SiteAdmin: true, CreatedAt: when, UpdatedAt: when.Add(time.Hour),
	}
	b.write(func(tx *store.Tx) error { return tx.InsertAccount(a) })
	if a.ID == 0 {
		b.Fatal("no id")
	}
	b.read(func(tx *store.Tx) error {
		for name, find := range map[string]func() (*gantry.Account, error){
			"by id":         func() (*gantry.Account, error) { return tx.Account(a.ID) },
			"by login":      func() (*gantry.Account, error) { return tx.AccountByLogin("Ada") },
			"by other case": func() (*gantry.Account, error) { return tx.AccountByLogin("aDA") },
		} {
			got, err := find()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			same(b, got, a)
		}
		return nil
	})
	b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.Account(a.ID + 1); return err })
	for _, login := range []string{"ad", "", "ada\x00", "\xff"} { // the last two come from addresses that people send
		b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.AccountByLogin(login); return err })
	}

	for field, other := range map[string]gantry.Account{
		"login": {Type: gantry.TypeOrganization, Login: "ADA", CreatedAt: when, UpdatedAt: when},
		"email": {Type: gantry.TypeUser, Login: "other", Email: "ADA@example.COM", CreatedAt: when, UpdatedAt: when},
	} {
		e := b.refused(gantry.Conflict, func(tx *store.Tx) error { return tx.InsertAccount(&other) })
		same(b, e.Fields, []gantry.FieldError{{Resource: "User", Field: field, Code: gantry.AlreadyExists}})
	}
	b.account(gantry.TypeUser, "no-mail-1")
	b.account(gantry.TypeUser, "no-mail-2") // no address is not an address that is taken

	a.Login, a.Name, a.Email, a.SiteAdmin, a.Suspended, a.UpdatedAt = "Countess", "", "", false, true, when.Add(2*time.Hour)
	b.write(func(tx *store.Tx) error { return tx.UpdateAccount(a) })
	b.read(func(tx *store.Tx) error {
		got, err := tx.AccountByLogin("countess")
		same(b, got, a)
		return err
	})
}

func testPasswords(b *bundle) {
	ada := b.account(gantry.TypeUser, "ada")
	b.account(gantry.TypeOrganization, "lab")
	for _, hash := range []string{"", "$first", "$second"} {
		if hash != "" {
			b.write(func(tx *store.Tx) error { return tx.SetPassword(ada.ID, hash) })
		}
		b.read(func(tx *store.Tx) error {
			user, got, err := tx.UserWithPassword("ADA")
			same(b, user, ada)
			same(b, got, hash)
			return err
		})
	}
	for _, login := range []string{"lab", "nobody"} {
		b.refused(gantry.NotFound, func(tx *store.Tx) error { _, _, err := tx.UserWithPassword(login); return err })
	}
}

func testMemberships(b *bundle) {
	ada, bob, lab := b.account(gantry.TypeUser, "ada"), b.account(gantry.TypeUser, "Bob"), b.account(gantry.TypeOrganization, "lab")
	b.write(func(tx *store.Tx) error {
		return errors.Join(
			tx.SetMembership(gantry.Membership{OrgID: lab.ID, UserID: bob.ID, Role: gantry.RoleMember}),
			tx.SetMembership(gantry.Membership{OrgID: lab.ID, UserID: ada.ID, Role: gantry.RoleMember}),
			tx.SetMembership(gantry.Membership{OrgID: lab.ID, UserID: ada.ID, Role: gantry.RoleOwner}))
	})
	b.read(func(tx *store.Tx) error {
		m, err := tx.Membership(lab.ID, ada.ID)
		same(b, m, &gantry.Membership{OrgID: lab.ID, UserID: ada.ID, Role: gantry.RoleOwner})
		members, n, err2 := tx.Members(lab.ID, gantry.Page{})
		same(b, members, []gantry.Account{*ada, *bob})
		same(b, n, 2)
		orgs, n, err3 := tx.Organizations(bob.ID, gantry.Page{})
		same(b, orgs, []gantry.Account{*lab})
		same(b, n, 1)
		return errors.Join(err, err2, err3)
	})
	b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.Membership(ada.ID, lab.ID); return err })
}

func testRepositories(b *bundle) {
	ada, bob := b.account(gantry.TypeUser, "ada"), b.account(gantry.TypeUser, "bob")
	r := &gantry.Repository{
		OwnerID: ada.ID, Name: "Engine", Description: "d", Homepage: "h", Private: true, DefaultBranch: "main",
		Size: 1 << 40, CreatedAt: when, UpdatedAt: when,
	}
	b.write(func(tx *store.Tx) error { return tx.InsertRepository(r) })
	e := b.refused(gantry.Conflict, func(tx *store.Tx) error {
		return tx.InsertRepository(&gantry.Repository{OwnerID: ada.ID, Name: "ENGINE", CreatedAt: when, UpdatedAt: when})
	})
	same(b, e.Fields, []gantry.FieldError{{Resource: "Repository", Field: "name", Code: gantry.AlreadyExists}})
	b.repository(bob, "engine", false) // another owner may have the name

	want := &store.Access{Repository: *r, Owner: *ada}
	b.read(func(tx *store.Tx) error {
		got, err := tx.RepositoryByName(0, "ADA", "engine")
		same(b, got, want)
		got, err2 := tx.Repository(bob.ID, r.ID)
		same(b, got, want)
		return errors.Join(err, err2)
	})
	r.Name, r.Description, r.Homepage, r.Private, r.DefaultBranch, r.UpdatedAt = "engine2", "", "", false, "trunk", when.Add(time.Hour)
	b.write(func(tx *store.Tx) error { return tx.UpdateRepository(r) })
	r.PushedAt, r.Size, r.DefaultBranch = when.Add(2*time.Hour), 7, "dev"
	r.UpdatedAt = r.PushedAt
	b.write(func(tx *store.Tx) error { return tx.RecordPush(r.ID, r.PushedAt, r.Size, r.DefaultBranch) })
	b.read(func(tx *store.Tx) error {
		got, err := tx.RepositoryByName(0, "ada", "engine2")
		same(b, got, &store.Access{Repository: *r, Owner: *ada})
		return err
	})
	b.write(func(tx *store.Tx) error {
		return errors.Join(tx.SetCollaborator(r.ID, bob.ID, gantry.PermRead), tx.DeleteRepository(r.ID))
	})
	b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.Repository(0, r.ID); return err })
}

func testRepositoryLists(b *bundle) {
	ada, bob, eve := b.account(gantry.TypeUser, "ada"), b.account(gantry.TypeUser, "bob"), b.account(gantry.TypeUser, "eve")
	lab := b.account(gantry.TypeOrganization, "lab")
	b.repository(ada, "a-public", false)
	shared := b.repository(ada, "B-private", true)
	b.repository(ada, "c-private", true)
	b.repository(lab, "lab-private", true)
	b.repository(bob, "own", false)
	b.write(func(tx *store.Tx) error {
		return errors.Join(
			tx.SetCollaborator(shared.ID, bob.ID, gantry.PermWrite),
			tx.SetMembership(gantry.Membership{OrgID: lab.ID, UserID: bob.ID, Role: gantry.RoleMember}))
	})
	names := func(list []store.Access, n int, err error) string {
		b.Helper()
		if err != nil || n != len(list) {
			b.Fatalf("%d of %d, %v", len(list), n, err)
		}
		words := []string{}
		for _, a := range list {
			words = append(words, a.Repository.Name)
		}
		return strings.Join(words, " ")
	}
	b.read(func(tx *store.Tx) error {
		p := gantry.Page{}
		for _, list := range []struct{ name, got, want string }{
			{"of a user", names(tx.UserRepositories(bob.ID, false, p)), "B-private own lab-private"},
			{"of a user, public", names(tx.UserRepositories(bob.ID, true, p)), "own"},
			{"of nobody", names(tx.UserRepositories(0, false, p)), ""},
			{"of an owner, seen by the owner", names(tx.OwnerRepositories(ada.ID, ada.ID, false, false, p)), "a-public B-private c-private"},
			{"of an owner, seen by a collaborator", names(tx.OwnerRepositories(bob.ID, ada.ID, false, false, p)), "a-public B-private"},
			{"of an owner, seen by a stranger", names(tx.OwnerRepositories(eve.ID, ada.ID, false, false, p)), "a-public"},
			{"of an owner, seen by nobody", names(tx.OwnerRepositories(0, ada.ID, false, false, p)), "a-public"},
			{"of an owner, everything", names(tx.OwnerRepositories(eve.ID, ada.ID, false, true, p)), "a-public B-private c-private"},
			{"of an owner, public", names(tx.OwnerRepositories(ada.ID, ada.ID, true, false, p)), "a-public"},
			{"of an organization, seen by a member", names(tx.OwnerRepositories(bob.ID, lab.ID, false, false, p)), "lab-private"},
			{"of an organization, seen by a stranger", names(tx.OwnerRepositories(eve.ID, lab.ID, false, false, p)), ""},
		} {
			if list.got != list.want {
				b.Errorf("%s: %q, want %q", list.name, list.got, list.want)
			}
		}
		a, err := tx.RepositoryByName(bob.ID, "lab", "lab-private")
		if err == nil && (a.Role != gantry.RoleMember || a.Collaborator != gantry.PermNone) {
			b.Errorf("a member's access is %+v", a)
		}
		return err
	})
}

func testCollaborators(b *bundle) {
	ada, bob, eve := b.account(gantry.TypeUser, "ada"), b.account(gantry.TypeUser, "bob"), b.account(gantry.TypeUser, "Eve")
	r := b.repository(ada, "engine", true)
	b.write(func(tx *store.Tx) error {
		return errors.Join(
			tx.SetCollaborator(r.ID, eve.ID, gantry.PermRead),
			tx.SetCollaborator(r.ID, bob.ID, gantry.PermRead),
			tx.SetCollaborator(r.ID, bob.ID, gantry.PermAdmin),
			tx.DeleteCollaborator(r.ID, ada.ID)) // none: nothing
	})
	b.read(func(tx *store.Tx) error {
		list, n, err := tx.Collaborators(r.ID, gantry.Page{})
		same(b, list, []store.Collaborator{{User: *bob, Permission: gantry.PermAdmin}, {User: *eve, Permission: gantry.PermRead}})
		same(b, n, 2)
		a, err2 := tx.Repository(bob.ID, r.ID)
		same(b, a, &store.Access{Repository: *r, Owner: *ada, Collaborator: gantry.PermAdmin})
		return errors.Join(err, err2)
	})
	b.write(func(tx *store.Tx) error { return tx.DeleteCollaborator(r.ID, bob.ID) })
	b.read(func(tx *store.Tx) error {
		_, n, err := tx.Collaborators(r.ID, gantry.Page{})
		same(b, n, 1)
		return err
	})
}

func testTokens(b *bundle) {
	ada, bob := b.account(gantry.TypeUser, "ada"), b.account(gantry.TypeUser, "bob")
	hash := [32]byte{0, 1, 0xff}
	t := &gantry.Token{UserID: ada.ID, Note: "n", LastEight: "12345678", Scopes: gantry.NewScopeSet("repo", "user"), CreatedAt: when, ExpiresAt: when.Add(time.Hour)}
	bare := &gantry.Token{UserID: ada.ID, Scopes: gantry.ScopeSet{}, CreatedAt: when}
	b.write(func(tx *store.Tx) error {
		return errors.Join(tx.InsertToken(t, hash), tx.InsertToken(bare, [32]byte{2}))
	})
	b.read(func(tx *store.Tx) error {
		got, err := tx.TokenByHash(hash)
		same(b, got, &store.TokenOwner{Token: *t, User: *ada})
		list, err2 := tx.Tokens(ada.ID)
		same(b, list, []gantry.Token{*t, *bare})
		return errors.Join(err, err2)
	})
	b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.TokenByHash([32]byte{9}); return err })

	later := when.Add(time.Minute)
	b.write(func(tx *store.Tx) error { return errors.Join(tx.TouchToken(t.ID, later), tx.TouchToken(t.ID, when)) })
	b.read(func(tx *store.Tx) error {
		got, err := tx.TokenByHash(hash)
		if err == nil && !got.Token.LastUsedAt.Equal(later) {
			b.Errorf("last used at %v, want the later time %v", got.Token.LastUsedAt, later)
		}
		return err
	})
	b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.DeleteToken(bob.ID, t.ID); return err })
	b.write(func(tx *store.Tx) error {
		got, err := tx.DeleteToken(ada.ID, t.ID)
		same(b, got, hash)
		return err
	})
	b.refused(gantry.NotFound, func(tx *store.Tx) error { _, err := tx.TokenByHash(hash); return err })
}

func testPaging(b *bundle) {
	lab := b.account(gantry.TypeOrganization, "lab")
	b.write(func(tx *store.Tx) error {
		for i := range 7 {
			a := &gantry.Account{Type: gantry.TypeUser, Login: fmt.Sprintf("u%d", i), CreatedAt: when, UpdatedAt: when}
			if err := errors.Join(tx.InsertAccount(a), tx.SetMembership(gantry.Membership{OrgID: lab.ID, UserID: a.ID, Role: gantry.RoleMember})); err != nil {
				return err
			}
		}
		return nil
	})
	logins := func(list []gantry.Account) (words []string) {
		for _, a := range list {
			words = append(words, a.Login)
		}
		return words
	}
	for page, want := range map[gantry.Page][]string{
		{Number: 1, Size: 3}: {"u0", "u1", "u2"},
		{Number: 3, Size: 3}: {"u6"},
		{Number: 4, Size: 3}: nil,
		{}:                   {"u0", "u1", "u2", "u3", "u4", "u5", "u6"},
	} {
		b.read(func(tx *store.Tx) error {
			list, n, err := tx.Members(lab.ID, page)
			same(b, logins(list), want)
			same(b, n, 7)
			return err
		})
	}
	b.read(func(tx *store.Tx) error {
		list, err := tx.Users(0, 2)
		same(b, logins(list), []string{"u0", "u1"})
		if err != nil {
			return err
		}
		list, err = tx.Users(list[1].ID, 2)
		same(b, logins(list), []string{"u2", "u3"})
		return err
	})
}

func (b *bundle) logins() (words []string) {
	b.read(func(tx *store.Tx) error {
		words = nil
		list, err := tx.Users(0, gantry.MaxPageSize)
		for _, a := range list {
			words = append(words, a.Login)
		}
		return err
	})
	slices.Sort(words)
	return words
}

func insert(tx *store.Tx, login string) error {
	return tx.InsertAccount(&gantry.Account{Type: gantry.TypeUser, Login: login, CreatedAt: when, UpdatedAt: when})
}

func testWriteUndoesErrors(b *bundle) {
	undone := errors.New("undone")
	err := b.db.Write(b.Context(), func(tx *store.Tx) error { return errors.Join(insert(tx, "ada"), undone) })
	if !errors.Is(err, undone) {
		b.Errorf("error is %v", err)
	}
	same(b, b.logins(), []string(nil))
}

func testWriteUndoesPanics(b *bundle) {
	func() {
		defer func() {
			if recover() == nil {
				b.Error("the panic did not reach the caller")
			}
		}()
		_ = b.db.Write(b.Context(), func(tx *store.Tx) error {
			_ = insert(tx, "ada")
			panic("a fault")
		})
	}()
	b.write(func(tx *store.Tx) error { return insert(tx, "bob") }) // writing goes on
	same(b, b.logins(), []string{"bob"})
}

// Functions that run at once may share a commit, but neither their errors nor what they wrote.
func testWritersAtOnce(b *bundle) {
	var wg sync.WaitGroup
	var want []string
	for i := range 60 {
		login := fmt.Sprintf("u%02d", i)
		if i%3 != 0 {
			want = append(want, login)
		}
		wg.Go(func() {
			err := b.db.Write(b.Context(), func(tx *store.Tx) error {
				if err := insert(tx, login); err != nil {
					return err
				}
				switch {
				case i%6 == 0:
					return insert(tx, login) // a conflict
				case i%3 == 0:
					return errors.New("undone")
				}
				return nil
			})
			if (err != nil) != (i%3 == 0) {
				b.Errorf("%s: %v", login, err)
			}
		})
	}
	wg.Wait()
	same(b, b.logins(), want)
}

// What a function has read stays true until its commit: no increment is lost.
func testWriteIsAlone(b *bundle) {
	owner := b.account(gantry.TypeUser, "ada")
	r := b.repository(owner, "counter", false)
	var wg sync.WaitGroup
	const writers, rounds = 8, 5
	for range writers {
		wg.Go(func() {
			for range rounds {
				err := b.db.Write(b.Context(), func(tx *store.Tx) error {
					a, err := tx.Repository(0, r.ID)
					if err != nil {
						return err
					}
					return tx.RecordPush(r.ID, when, a.Repository.Size+1, "main")
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.read(func(tx *store.Tx) error {
		a, err := tx.Repository(0, r.ID)
		if err == nil && a.Repository.Size != writers*rounds {
			b.Errorf("counted to %d, want %d", a.Repository.Size, writers*rounds)
		}
		return err
	})
}

// A caller that has gone away writes nothing, and does not harm those who write at the same time.
func testEndedContexts(b *bundle) {
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	if err := b.db.Write(ended, func(tx *store.Tx) error { return insert(tx, "gone") }); !errors.Is(err, context.Canceled) {
		b.Errorf("write: %v", err)
	}
	if err := b.db.Read(ended, func(tx *store.Tx) error { _, err := tx.Users(0, 1); return err }); !errors.Is(err, context.Canceled) {
		b.Errorf("read: %v", err)
	}
	var wg sync.WaitGroup
	var want []string
	for i := range 40 {
		login := fmt.Sprintf("u%02d", i)
		ctx, cancel := context.WithCancel(b.Context())
		if i%2 == 0 {
			want = append(want, login)
		}
		wg.Go(func() {
			defer cancel()
			err := b.db.Write(ctx, func(tx *store.Tx) error {
				if err := insert(tx, login); err != nil {
					return err
				}
				if i%2 == 1 {
					cancel() // in the middle
					return ctx.Err()
				}
				return nil
			})
			if (err != nil) != (i%2 == 1) {
				b.Errorf("%s: %v", login, err)
			}
		})
	}
	wg.Wait()
	same(b, b.logins(), want)
}

// Directories are named by ids, so that an id must never come back.
func testIDsAreNotReused(b *bundle) {
	owner := b.account(gantry.TypeUser, "ada")
	first := b.repository(owner, "engine", false)
	b.write(func(tx *store.Tx) error { return tx.DeleteRepository(first.ID) })
	if second := b.repository(owner, "engine", false); second.ID <= first.ID {
		b.Errorf("id %d after %d", second.ID, first.ID)
	}
}
