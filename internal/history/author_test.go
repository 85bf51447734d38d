package history

import "testing"

// Users of changesets are free text; whatever they say becomes an identity that Git takes.
func TestAuthorOfChangeset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ user, name, email string }{
		{"Ann Lee <ann@example.com>", "Ann Lee", "ann@example.com"},
		{"  Ann Lee   <ann@example.com> ", "Ann Lee", "ann@example.com"},
		{`"Lee, \"A\"" <ann@example.com>`, `Lee, "A"`, "ann@example.com"},
		{"Ann <<ann@example.com>>", "Ann", "ann@example.com"},
		{"Ann <ann@example.com", "Ann", "ann@example.com"},
		{"Ann <ann@example.com> (work)", "Ann", "ann@example.com"},
		{"<ann@example.com>", "ann@example.com", "ann@example.com"},
		{"ann@example.com", "ann@example.com", "ann@example.com"},
		{"Ann at home", "Ann at home", "Ann at home"},
		{"ann>", "ann", "ann"},
		{"<>", "unknown", "unknown"},
		{"J\xf6rg <j@example.com>", "Jörg", "j@example.com"},
		{"", "(no author)", "(no author)"},
	} {
		got := authorOf(&Record{Author: []byte(c.user), Changeset: &Changeset{}}, "uuid")
		want := Author{RemoteID: c.email, RemoteName: c.name, Default: Identity{Name: c.name, Email: c.email}}
		if got != want {
			t.Errorf("%q: %+v, want %+v", c.user, got, want)
		}
	}
}
