package accounts_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// bundle is a service on a database of its own.
type bundle struct {
	*testing.T
	*accounts.Service
}

func each(t *testing.T, test func(b *bundle)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		test(&bundle{t, accounts.New(storetest.Open(t, dsn), func() time.Time { return now })})
	})
}

func (b *bundle) user(login string) *gantry.Account {
	b.Helper()
	a, err := b.CreateUser(b.Context(), accounts.NewUser{Login: login, Email: login + "@example.com"})
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func principal(a *gantry.Account) gantry.Principal {
	return gantry.Principal{User: a, Credential: gantry.CredPassword}
}

// refused checks the kind of an error and the fields that it names.
func refused(t *testing.T, err error, kind gantry.Kind, fields ...string) {
	t.Helper()
	var e *gantry.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error is %v (%v), want kind %v", err, gantry.KindOf(err), kind)
		return
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Field)
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("fields of %v (-want +got):\n%s", err, diff)
	}
}

func TestCreateUser(t *testing.T) {
	each(t, func(b *bundle) {
		created, err := b.CreateUser(b.Context(), accounts.NewUser{Login: "Ada", Name: "Ada L.", Email: "ada@example.com", SiteAdmin: true})
		if err != nil {
			b.Fatal(err)
		}
		want := &gantry.Account{ID: created.ID, Type: gantry.TypeUser, Login: "Ada", Name: "Ada L.", Email: "ada@example.com", SiteAdmin: true, CreatedAt: now, UpdatedAt: now}
		if diff := cmp.Diff(want, created); diff != "" {
			b.Errorf("created (-want +got):\n%s", diff)
		}
		found, err := b.ByLogin(b.Context(), "aDa")
		if err != nil {
			b.Fatal(err)
		}
		if diff := cmp.Diff(want, found); diff != "" {
			b.Errorf("found by login (-want +got):\n%s", diff)
		}
		if _, err := b.ByID(b.Context(), created.ID); err != nil {
			b.Error(err)
		}
		for name, c := range map[string]struct {
			in    accounts.NewUser
			kind  gantry.Kind
			field string
		}{
			"no login":        {accounts.NewUser{}, gantry.Invalid, "login"},
			"bad login":       {accounts.NewUser{Login: "a--b"}, gantry.Invalid, "login"},
			"reserved login":  {accounts.NewUser{Login: "Repos"}, gantry.Invalid, "login"},
			"taken login":     {accounts.NewUser{Login: "ADA"}, gantry.Conflict, "login"},
			"taken address":   {accounts.NewUser{Login: "other", Email: "Ada@Example.com"}, gantry.Conflict, "email"},
			"bad address":     {accounts.NewUser{Login: "other", Email: "ada"}, gantry.Invalid, "email"},
			"name of lines":   {accounts.NewUser{Login: "other", Name: "a\nb"}, gantry.Invalid, "name"},
			"name too long":   {accounts.NewUser{Login: "other", Name: strings.Repeat("x", 256)}, gantry.Invalid, "name"},
			"name not UTF-8":  {accounts.NewUser{Login: "other", Name: "\xff"}, gantry.Invalid, "name"},
			"address of 255":  {accounts.NewUser{Login: "other", Email: "a@" + strings.Repeat("b.", 126) + "c"}, gantry.Invalid, "email"},
			"local part long": {accounts.NewUser{Login: "other", Email: strings.Repeat("a", 65) + "@b.c"}, gantry.Invalid, "email"},
		} {
			b.Run(name, func(t *testing.T) {
				_, err := b.CreateUser(t.Context(), c.in)
				refused(t, err, c.kind, c.field)
			})
		}
		_, err = b.ByLogin(b.Context(), "other")
		refused(b.T, err, gantry.NotFound)
	})
}

func TestAddresses(t *testing.T) {
	each(t, func(b *bundle) {
		ada := principal(b.user("ada"))
		for address, ok := range map[string]bool{
			"a@b": true, "a.b+c@d-e.example": true, "o'neil@example.com": true,
			"":   true, // none
			"@b": false, "a@": false, "a b@c": false, "a@b..c": false, "a..b@c": false, ".a@b": false, "a@-b": false,
			"a@b\n": false, "a@b@c": false, "<a@b>": false, "\"a\"@b": false, "a@[1.2.3.4]": false, "ä@b": false,
		} {
			_, err := b.UpdateProfile(b.Context(), ada, accounts.Profile{Email: &address})
			if (err == nil) != ok {
				b.Errorf("%q: %v", address, err)
			}
		}
	})
}

func TestUpdateProfile(t *testing.T) {
	each(t, func(b *bundle) {
		ada := b.user("ada")
		b.user("bob")
		name := "Ada"
		changed, err := b.UpdateProfile(b.Context(), principal(ada), accounts.Profile{Name: &name})
		if err != nil || changed.Name != "Ada" || changed.Email != "ada@example.com" {
			b.Errorf("changed: %+v, %v", changed, err)
		}
		taken := "bob@example.com"
		_, err = b.UpdateProfile(b.Context(), principal(ada), accounts.Profile{Email: &taken})
		refused(b.T, err, gantry.Conflict, "email")
		_, err = b.UpdateProfile(b.Context(), gantry.Principal{}, accounts.Profile{Name: &name})
		refused(b.T, err, gantry.NotFound)
	})
}

func TestOrganizations(t *testing.T) {
	each(t, func(b *bundle) {
		ada, bob, eve := b.user("ada"), b.user("bob"), b.user("eve")
		lab, err := b.CreateOrganization(b.Context(), accounts.NewOrganization{Login: "lab", Name: "The Lab", Owner: "ADA"})
		if err != nil {
			b.Fatal(err)
		}
		for name, in := range map[string]accounts.NewOrganization{
			"no owner":      {Login: "lab2", Owner: "nobody"},
			"owned by lab":  {Login: "lab2", Owner: "lab"},
			"owner unnamed": {Login: "lab2"},
		} {
			b.Run(name, func(t *testing.T) {
				_, err := b.CreateOrganization(t.Context(), in)
				refused(t, err, gantry.Invalid, "admin")
			})
		}
		_, err = b.CreateOrganization(b.Context(), accounts.NewOrganization{Login: "Bob", Owner: "ada"})
		refused(b.T, err, gantry.Conflict, "login") // one name space for users and organizations

		m, err := b.Membership(b.Context(), lab.ID, ada.ID)
		if err != nil || m.Role != gantry.RoleOwner {
			b.Errorf("the first owner: %+v, %v", m, err)
		}
		if err := b.SetMembership(b.Context(), gantry.Membership{OrgID: lab.ID, UserID: bob.ID, Role: gantry.RoleMember}); err != nil {
			b.Fatal(err)
		}
		refused(b.T, b.SetMembership(b.Context(), gantry.Membership{OrgID: bob.ID, UserID: ada.ID, Role: gantry.RoleMember}), gantry.Invalid)

		orgs, n, err := b.Organizations(b.Context(), bob.ID, gantry.Page{})
		if err != nil || n != 1 || len(orgs) != 1 || orgs[0].Login != "lab" {
			b.Errorf("organizations: %v of %d, %v", orgs, n, err)
		}
		admin := *eve
		admin.SiteAdmin = true
		for name, c := range map[string]struct {
			p    gantry.Principal
			want int
		}{
			"a member":              {principal(bob), 2},
			"a stranger":            {principal(eve), 0},
			"nobody":                {gantry.Principal{}, 0},
			"an administrator":      {principal(&admin), 2},
			"one with a poor token": {gantry.Principal{User: &admin, Credential: gantry.CredToken}, 0},
		} {
			list, n, err := b.Members(b.Context(), c.p, lab.ID, gantry.Page{})
			if err != nil || n != c.want || len(list) != c.want {
				b.Errorf("%s sees %d of %d members, %v; want %d", name, len(list), n, err, c.want)
			}
		}
		users, err := b.ListUsers(b.Context(), ada.ID, 1)
		if err != nil || len(users) != 1 || users[0].Login != "bob" {
			b.Errorf("users after ada: %v, %v", users, err)
		}
	})
}
