package gantry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table that was written reads back, as spreadsheets save it; what is wrong with one is told with its line.
func TestAuthorsTable(t *testing.T) {
	authors := []Author{
		{RemoteID: "a@1", RemoteName: "a", Email: "a@example.org", Name: "Ann, the first"},
		{RemoteID: "b@1", RemoteName: "b\nc", Email: "b@example.org", Name: `"Bob"`},
	}
	var table strings.Builder
	if err := WriteAuthors(&table, authors); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadAuthors(strings.NewReader(byteOrderMark + table.String()))
	if err != nil {
		t.Fatal(err)
	}
	want := []AuthorRow{
		{RemoteID: "a@1", RemoteName: "a", Email: "a@example.org", Name: "Ann, the first", Line: 2},
		{RemoteID: "b@1", RemoteName: "b\nc", Email: "b@example.org", Name: `"Bob"`, Line: 3},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}

	const header = "remote_id,remote_name,email,name\n"
	for text, fault := range map[string]string{
		"":                               "line 1: the table is empty",
		"id,name\n":                      "line 1: the first row has to be",
		"a,b,c,d\n":                      "line 1: the first row has to be",
		header + "a,b,c\n":               "line 2: a row has remote_id",
		header + "a,b,,d\n":              "line 2: a needs an email and a name",
		header + "a,b,c,d\nx,\"y,z,w\n":  "line 3: ",
		header + "a,b,c,d\n\na,b,e,f\n":  "line 4: a is there twice",
		header + "a,b,c,d\nb,b,c,d,e\n":  "line 3: a row has remote_id",
		header + "a,b,c,d\n\"b\"c,b,,\n": "line 3: ",
	} {
		if _, err := ReadAuthors(strings.NewReader(text)); err == nil || KindOf(err) != Invalid || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %s", text, err, fault)
		}
	}
}

func FuzzReadAuthors(f *testing.F) {
	f.Add("remote_id,remote_name,email,name\na@u,a,a@b,A\n")
	f.Add("remote_id,remote_name,email,name\n\"a")
	f.Fuzz(func(t *testing.T, table string) {
		if _, err := ReadAuthors(strings.NewReader(table)); err != nil && KindOf(err) != Invalid {
			t.Errorf("a bad table is its writer's fault, but was told as %v", err)
		}
	})
}
