package repos_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/gitdir"
	"gantry/internal/repos"
	"gantry/internal/store"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// bundle is a service on a database and a directory of its own, with a cast of users.
type bundle struct {
	*testing.T
	*repos.Service
	db       *store.DB
	git      *gitdir.Git
	accounts *accounts.Service
	root     string

	// ada owns; lab is an organization that owner owns and member belongs to; admin administers the site.
	ada, bob, owner, member, admin, lab *gantry.Account
}

func each(t *testing.T, test func(b *bundle)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) { test(newBundle(t, dsn)) })
}

func newBundle(t *testing.T, dsn string) *bundle {
	t.Helper()
	git, err := gitdir.New(gitdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return now }
	b := &bundle{T: t, db: storetest.Open(t, dsn), git: git, root: t.TempDir()}
	b.Service = repos.New(b.db, git, b.root, clock)
	b.accounts = accounts.New(b.db, clock)
	for login, account := range map[string]**gantry.Account{"ada": &b.ada, "bob": &b.bob, "owner": &b.owner, "member": &b.member, "boss": &b.admin} {
		if *account, err = b.accounts.CreateUser(t.Context(), accounts.NewUser{Login: login, SiteAdmin: login == "boss"}); err != nil {
			t.Fatal(err)
		}
	}
	if b.lab, err = b.accounts.CreateOrganization(t.Context(), accounts.NewOrganization{Login: "lab", Owner: "owner"}); err != nil {
		t.Fatal(err)
	}
	if err := b.accounts.SetMembership(t.Context(), gantry.Membership{OrgID: b.lab.ID, UserID: b.member.ID, Role: gantry.RoleMember}); err != nil {
		t.Fatal(err)
	}
	return b
}

func byPassword(a *gantry.Account) gantry.Principal {
	return gantry.Principal{User: a, Credential: gantry.CredPassword}
}

func byToken(a *gantry.Account, scopes ...gantry.Scope) gantry.Principal {
	return gantry.Principal{User: a, Credential: gantry.CredToken, Scopes: gantry.NewScopeSet(scopes...)}
}

func (b *bundle) create(owner *gantry.Account, name string, private bool) *repos.View {
	b.Helper()
	creator := owner
	if owner == b.lab {
		creator = b.owner
	}
	v, err := b.Create(b.Context(), byPassword(creator), owner.Login, repos.NewRepository{Name: name, Private: private})
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (b *bundle) kind(what string, err error, want gantry.Kind, fields ...string) {
	b.Helper()
	var e *gantry.Error
	if !errors.As(err, &e) || e.Kind != want {
		b.Errorf("%s: %v (%v), want %v", what, err, gantry.KindOf(err), want)
		return
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Field)
	}
	if !slices.Equal(got, fields) {
		b.Errorf("%s: fields %v, want %v", what, got, fields)
	}
}

func TestCreate(t *testing.T) {
	each(t, func(b *bundle) {
		v, err := b.Create(b.Context(), byToken(b.ada, "public_repo"), "ADA", repos.NewRepository{Name: "engine", Description: "d", Homepage: "h"})
		if err != nil {
			b.Fatal(err)
		}
		want := repos.View{
			Repository: gantry.Repository{ID: v.Repository.ID, OwnerID: b.ada.ID, Name: "engine", Description: "d", Homepage: "h", DefaultBranch: "main", CreatedAt: now, UpdatedAt: now},
			Owner:      *b.ada, Permission: gantry.PermAdmin,
		}
		if *v != want {
			b.Errorf("created %+v, want %+v", *v, want)
		}
		if got, err := b.Get(b.Context(), byPassword(b.ada), "Ada", "ENGINE"); err != nil || *got != want {
			b.Errorf("found %+v, %v", got, err)
		}
		b.create(b.lab, "engine", true)
		ada := byPassword(b.ada)
		long := strings.Repeat("x", 1001)
		for what, c := range map[string]struct {
			p     gantry.Principal
			owner string
			in    repos.NewRepository
			kind  gantry.Kind
			field []string
		}{
			"taken name":             {ada, "ada", repos.NewRepository{Name: "Engine"}, gantry.Conflict, []string{"name"}},
			"no name":                {ada, "ada", repos.NewRepository{}, gantry.Invalid, []string{"name"}},
			"several fields":         {ada, "ada", repos.NewRepository{Name: "a.git", Description: long, Homepage: "a\x00", DefaultBranch: "a..b"}, gantry.Invalid, []string{"name", "description", "homepage", "default_branch"}},
			"nobody":                 {gantry.Principal{}, "ada", repos.NewRepository{Name: "x"}, gantry.NotFound, nil},
			"missing owner":          {ada, "nobody", repos.NewRepository{Name: "x"}, gantry.NotFound, nil},
			"another user":           {ada, "bob", repos.NewRepository{Name: "x"}, gantry.Forbidden, nil},
			"stranger to the org":    {ada, "lab", repos.NewRepository{Name: "x"}, gantry.Forbidden, nil},
			"member of the org":      {byPassword(b.member), "lab", repos.NewRepository{Name: "x"}, gantry.Forbidden, nil},
			"token without scope":    {byToken(b.ada, "user"), "ada", repos.NewRepository{Name: "x"}, gantry.Forbidden, nil},
			"private, public scope":  {byToken(b.ada, "public_repo"), "ada", repos.NewRepository{Name: "x", Private: true}, gantry.Forbidden, nil},
			"admin, without a scope": {byToken(b.admin, "repo"), "ada", repos.NewRepository{Name: "x"}, gantry.Forbidden, nil},
		} {
			_, err := b.Create(b.Context(), c.p, c.owner, c.in)
			b.kind(what, err, c.kind, c.field...)
		}
		if _, err := b.Create(b.Context(), byToken(b.admin, "repo", "site_admin"), "lab", repos.NewRepository{Name: "by-admin"}); err != nil {
			b.Errorf("site administrator: %v", err)
		}
	})
}

// Who may do what: every part that a caller can have, on a public and on a private repository.
func TestPermissions(t *testing.T) {
	each(t, func(b *bundle) {
		for _, owner := range []*gantry.Account{b.ada, b.lab} {
			for _, private := range []bool{false, true} {
				v := b.create(owner, map[bool]string{false: "public", true: "private"}[private], private)
				for _, perm := range []gantry.Permission{gantry.PermRead, gantry.PermWrite, gantry.PermAdmin} {
					if err := b.SetCollaborator(b.Context(), byPassword(b.ada), v, "bob", perm); err != nil {
						b.Fatal(err)
					}
					b.permission(v, "collaborator", byPassword(b.bob), perm)
				}
				if err := b.RemoveCollaborator(b.Context(), byPassword(b.bob), v, "bob"); err != nil { // oneself, without being an administrator
					b.Fatal(err)
				}
				stranger, member := gantry.PermRead, gantry.PermRead
				if private {
					stranger = gantry.PermNone
				}
				if owner == b.ada {
					member = stranger
				}
				adas, owners := gantry.PermAdmin, stranger
				if owner == b.lab {
					adas, owners = stranger, gantry.PermAdmin
				}
				b.permission(v, "nobody", gantry.Principal{}, stranger)
				b.permission(v, "former collaborator", byPassword(b.bob), stranger)
				b.permission(v, "ada", byPassword(b.ada), adas)
				b.permission(v, "owner of lab", byPassword(b.owner), owners)
				b.permission(v, "member of lab", byPassword(b.member), member)
				b.permission(v, "administrator", byPassword(b.admin), gantry.PermAdmin)
				b.permission(v, "administrator with a poor token", byToken(b.admin, "repo"), stranger)
			}
		}
	})
}

func (b *bundle) permission(v *repos.View, who string, p gantry.Principal, want gantry.Permission) {
	b.Helper()
	what := who + " on " + v.Owner.Login + "/" + v.Repository.Name
	for _, find := range []func() (*repos.View, error){
		func() (*repos.View, error) { return b.Get(b.Context(), p, v.Owner.Login, v.Repository.Name) },
		func() (*repos.View, error) { return b.GetByID(b.Context(), p, v.Repository.ID) },
	} {
		got, err := find()
		if want == gantry.PermNone {
			_, missing := b.Get(b.Context(), p, v.Owner.Login, "missing")
			b.kind(what, err, gantry.NotFound)
			if err == nil || err.Error() != missing.Error() {
				b.Errorf("%s: %q tells it from one that does not exist: %q", what, err, missing)
			}
			continue
		}
		if err != nil || got.Permission != want {
			b.Errorf("%s: %+v, %v; want %v", what, got, err, want)
			continue
		}
		for _, perm := range []gantry.Permission{gantry.PermRead, gantry.PermWrite, gantry.PermAdmin} {
			if err := repos.Require(got, perm); (err == nil) != (perm <= want) {
				b.Errorf("%s: Require(%v): %v", what, perm, err)
			} else if err != nil {
				b.kind(what, err, gantry.Forbidden)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		private, write bool
		token          gantry.Scope
		want           bool
	}{
		{false, false, "user", true},
		{false, true, "user", false},
		{false, true, "public_repo", true},
		{false, true, "repo", true},
		{true, false, "public_repo", false},
		{true, false, "repo", true},
		{true, true, "public_repo", false},
		{true, true, "repo", true},
	} {
		v := &repos.View{Repository: gantry.Repository{Private: c.private}}
		if got := byToken(&gantry.Account{}, c.token).Allows(repos.Scopes(v, c.write)...); got != c.want {
			t.Errorf("private %v, write %v, token of %s: allowed %v", c.private, c.write, c.token, got)
		}
	}
}

// Lists hold what the caller may see, and what the token covers.
func TestLists(t *testing.T) {
	each(t, func(b *bundle) {
		b.create(b.ada, "public", false)
		shared := b.create(b.ada, "private", true)
		b.create(b.lab, "secret", true)
		if err := b.SetCollaborator(b.Context(), byPassword(b.ada), shared, "member", gantry.PermWrite); err != nil {
			b.Fatal(err)
		}
		names := func(list []repos.View, total int, err error) string {
			b.Helper()
			if err != nil || total != len(list) {
				b.Errorf("%d of %d, %v", len(list), total, err)
			}
			var words []string
			for _, v := range list {
				words = append(words, v.Repository.Name+":"+v.Permission.String())
			}
			return strings.Join(words, " ")
		}
		ctx, page := b.Context(), gantry.Page{}
		for _, c := range []struct{ what, got, want string }{
			{"ada's", names(b.ListForUser(ctx, byPassword(b.ada), page)), "private:admin public:admin"},
			{"ada's, public token", names(b.ListForUser(ctx, byToken(b.ada, "public_repo"), page)), "public:admin"},
			{"member's", names(b.ListForUser(ctx, byPassword(b.member), page)), "private:push secret:pull"},
			{"nobody's", names(b.ListForUser(ctx, gantry.Principal{}, page)), ""},
			{"of ada, for nobody", names(b.ListForOwner(ctx, gantry.Principal{}, "ada", page)), "public:pull"},
			{"of ada, for the member", names(b.ListForOwner(ctx, byPassword(b.member), "ADA", page)), "private:push public:pull"},
			{"of ada, for the administrator", names(b.ListForOwner(ctx, byPassword(b.admin), "ada", page)), "private:admin public:admin"},
			{"of ada, for a public token", names(b.ListForOwner(ctx, byToken(b.ada), "ada", page)), "public:admin"},
			{"of lab, for its owner", names(b.ListForOwner(ctx, byToken(b.owner, "repo"), "lab", page)), "secret:admin"},
			{"of lab, for bob", names(b.ListForOwner(ctx, byPassword(b.bob), "lab", page)), ""},
		} {
			if c.got != c.want {
				b.Errorf("%s: %q, want %q", c.what, c.got, c.want)
			}
		}
		_, _, err := b.ListForOwner(ctx, byPassword(b.ada), "nobody", page)
		b.kind("list of nobody", err, gantry.NotFound)
	})
}

func TestCollaborators(t *testing.T) {
	each(t, func(b *bundle) {
		v := b.create(b.ada, "engine", true)
		ada := byPassword(b.ada)
		if err := b.SetCollaborator(b.Context(), ada, v, "BOB", gantry.PermRead); err != nil {
			b.Fatal(err)
		}
		list, n, err := b.Collaborators(b.Context(), ada, v, gantry.Page{})
		if err != nil || n != 1 || len(list) != 1 || list[0] != (repos.Collaborator{User: *b.bob, Permission: gantry.PermRead}) {
			b.Errorf("%+v of %d, %v", list, n, err)
		}
		for login, want := range map[string]gantry.Permission{"ada": gantry.PermAdmin, "bob": gantry.PermRead, "member": gantry.PermNone, "boss": gantry.PermAdmin} {
			if c, err := b.Collaborator(b.Context(), ada, v, login); err != nil || c.Permission != want {
				b.Errorf("%s: %+v, %v", login, c, err)
			}
		}
		b.kind("the owner", b.SetCollaborator(b.Context(), ada, v, "ada", gantry.PermRead), gantry.Invalid, "login")
		b.kind("an organization", b.SetCollaborator(b.Context(), ada, v, "lab", gantry.PermRead), gantry.Invalid, "login")
		b.kind("nobody", b.SetCollaborator(b.Context(), ada, v, "nobody", gantry.PermRead), gantry.NotFound)
		b.kind("no permission", b.SetCollaborator(b.Context(), ada, v, "bob", gantry.PermNone), gantry.Invalid, "permission")

		bob := byPassword(b.bob)
		seen, err := b.Get(b.Context(), bob, "ada", "engine")
		if err != nil {
			b.Fatal(err)
		}
		_, _, err = b.Collaborators(b.Context(), bob, seen, gantry.Page{})
		b.kind("list by a reader", err, gantry.Forbidden)
		_, err = b.Collaborator(b.Context(), bob, seen, "ada")
		b.kind("look by a reader", err, gantry.Forbidden)
		b.kind("grant by a reader", b.SetCollaborator(b.Context(), bob, seen, "member", gantry.PermRead), gantry.Forbidden)
		b.kind("removal by a reader", b.RemoveCollaborator(b.Context(), bob, seen, "member"), gantry.Forbidden)
		if err := b.RemoveCollaborator(b.Context(), ada, v, "bob"); err != nil {
			b.Fatal(err)
		}
		_, err = b.Get(b.Context(), bob, "ada", "engine")
		b.kind("after removal", err, gantry.NotFound)
	})
}
