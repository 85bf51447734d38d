package history

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// parsed reads rules that are right.
func parsed(t testing.TB, text string) *Rules {
	t.Helper()
	rules, err := ParseRules(text)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestParseRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"trunk /", "trunk /\n"},
		{"\n# nothing\n  trunk  /a/b/  # here\r\n", "trunk a/b\n"},
		{"branch x\nbranches y/*\ntag z\ntags 1/*/2/a*b*", "branches x\nbranches y/*\ntags z\ntags 1/*/2/a*b*\n"},
		{"branches t/* as team/* until 7", "branches t/* as team/* until 7\n"},
		{"ignore a%20b%2a%25%23 until 1", "ignore a%20b%2A%25%23 until 1\n"},
		{"branches caf%e9/ü/*", "branches caf%E9/ü/*\n"},
	} {
		if got := parsed(t, tt.text).String(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	if rules, err := ParseRules(" \n# nothing\n"); rules != nil || err != nil {
		t.Errorf("nothing: %v, %v", rules, err)
	}
	for _, tt := range []struct{ text, want string }{
		{"trunk /\nbranchs x", `line 2: "branchs" is not trunk, branches, tags or ignore`},
		{"trunk", "line 1: trunk needs a path"},
		{"trunk a b c", `"b" is out of place`},
		{"trunk a as", `something must follow "as"`},
		{"trunk a as b as c", `"as" is out of place`},
		{"ignore a as b", `"as" is out of place`},
		{"trunk a as *", `has more * than`},
		{"trunk a as /", `has the name "" in it`},
		{"trunk a//b", `has the name "" in it`},
		{"trunk a/../b", `has the name ".." in it`},
		{"trunk a until x", `"x" is not a revision`},
		{"trunk a until 0", `"0" is not a revision`},
		{"trunk 100%", "a percent sign is written %25"},
		{"trunk %zz", "a percent sign is written %25"},
		{"trunk a%2Fb", `"%2F" is no escape`},
		{"tags " + strings.Repeat("*a", 17), "more than 16 *"},
		{strings.Repeat("#", maxRules+1), "bytes"},
		{strings.Repeat("trunk a until 1\ntrunk a until 2", 40), "is not a revision"},
		{manyEras(), "different revisions"},
		{rulesOf(maxComparable+1, "tags t/%d*"), "1001 * together"},
		{rulesOf(1<<10, "tags t/%010b", "0", "*/", "1", "a/"), "1023 * together"},
		{"trunk " + strings.Repeat("a/", maxRuleNames) + "a", "more than 131072 names"},
	} {
		_, err := ParseRules(tt.text)
		if err == nil || gantry.KindOf(err) != gantry.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// rulesOf are n rules that differ in a number, whose digits may be replaced.
func rulesOf(n int, format string, digits ...string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.TrimSuffix(strings.NewReplacer(digits...).Replace(fmt.Sprintf(format, i)), "/") + "\n")
	}
	return b.String()
}

// Of however many projects, each with rules of its own, a path is compared with those of one.
func TestManyRules(t *testing.T) {
	t.Parallel()
	l := newLayout(parsed(t, rulesOf(20000, "branches p%d/branches/*")), "")
	if at := l.at("p777/branches/b/file", 1); at.root != "p777/branches/b" || at.rule != 777 {
		t.Errorf("%+v", at)
	}
}

func manyEras() string {
	var b strings.Builder
	for i := range maxEras + 1 {
		r := rule{kind: trunk, until: int64(i + 1)}
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// What is read can be written, and is then read as the same.
func FuzzParseRules(f *testing.F) {
	f.Add("trunk trunk\nbranches branches/*\ntags tags/* as v*\n")
	f.Add("trunk / until 7\nignore a%20b # c\nbranch x*y*z as *-*\n")
	f.Add("tags caf%E9/*\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules(text)
		if err != nil || rules == nil {
			return
		}
		written := rules.String()
		again, err := ParseRules(written)
		if err != nil || again.String() != written {
			t.Fatalf("%q is written %q: %v", text, written, err)
		}
		l := newLayout(rules, "")
		for _, p := range append(strings.Fields(text), "", "trunk", "a/b/c") {
			for _, revision := range []int64{1, 8, 1 << 40} {
				at := l.at(p, revision)
				if at.in {
					l.name(at.root, at.rule)
				}
				if at.in && path.Clean("/"+p) == "/"+p && joined(at.root, at.rest) != p && at.rest != "" {
					t.Fatalf("%q is %+v", p, at)
				}
			}
		}
	})
}

func TestLocations(t *testing.T) {
	t.Parallel()
	const standard = "trunk trunk\nbranches branches/*\ntags tags/*\n"
	for _, tt := range []struct {
		rules, scope, path string
		want               string // kind, root|rest, name; what it is else
	}{
		{standard, "", "", "above"},
		{standard, "", "trunk", "trunk trunk|, "},
		{standard, "", "trunk/a/b", "trunk trunk|a/b, "},
		{standard, "", "trunks/a", "outside trunks|a, trunks"},
		{standard, "", "branches", "above"},
		{standard, "", "branches/x/y", "branches branches/x|y, x"},
		{standard, "", "tags/x", "tags tags/x|, x"},
		{standard, "p", "trunk/a", "trunk trunk|a, "},
		{standard, "p", "q", "nothing"},
		{standard, "p/q", "p", "nothing"},
		{"branches branches/team/* as team/*\n" + standard, "", "branches/team", "above"},
		{"branches branches/team/* as team/*\n" + standard, "", "branches/team/x/f", "branches branches/team/x|f, team/x"},
		{standard + "branches branches/team/*", "", "branches/team/x", "branches branches/team|x, team"},
		{"ignore branches/old\n" + standard, "", "branches/old/x", "ignored"},
		{"ignore branches/old\n" + standard, "", "branches/older", "branches branches/older|, older"},
		{"trunk p/trunk", "", "p", "above"},
		{"trunk p/trunk", "", "p/docs/a", "outside p/docs|a, docs"},
		{"trunk p/trunk", "", "q/docs", "outside q|docs, q"},
		{"trunk p/trunk", "p", "q", "nothing"},
		{"trunk /", "", "a/b", "trunk |a/b, "},
		{"trunk / until 6\ntrunk trunk", "", "a", "outside a|, a"},
		{"trunk / until 7\ntrunk trunk", "", "a", "trunk |a, "},
		{"tags rel-*-x/*/y* as v*/*_*", "", "rel-1-x/b/yc", "tags rel-1-x/b/yc|, v1/b_c"},
		{"tags rel-*-x/*/y*", "", "rel-1/b/yc", "outside rel-1|b/yc, rel-1"},
		{"trunk a/b as main-line", "", "a/b", "trunk a/b|, main-line"},
		{"branch a/b", "", "a/b/c", "branches a/b|c, a/b"},
		{"ignore a", "", "b", "outside |b, "},
	} {
		l := newLayout(parsed(t, tt.rules), tt.scope)
		at := l.at(tt.path, 7)
		var got string
		switch {
		case at.above && at.root == loose:
			got = "above"
		case at.in:
			got = kindNames[at.kind] + " " + at.root + "|" + at.rest + ", " + l.name(at.root, at.rule)
			if at.outside {
				got = "outside" + strings.TrimPrefix(got, kindNames[at.kind])
			}
		case at.rule != noRule:
			got = "ignored"
		default:
			got = "nothing"
		}
		if got != tt.want {
			t.Errorf("%q, %q: %q is %q, want %q", tt.rules, tt.scope, tt.path, got, tt.want)
		}
	}
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	full := Node{Tree: pack.ID{1}}
	add := func(path string) DirChange { return DirChange{Path: path, Action: origin.Add, Node: EmptyNode} }
	remove := func(path string) DirChange { return DirChange{Path: path, Action: origin.Delete} }
	copied := func(from, to string) DirChange {
		return DirChange{Path: to, Action: origin.Add, Node: full, Copied: true, CopyPath: from, CopyRev: 1}
	}
	edit := func(path string) DirChange { return DirChange{Path: path, Action: origin.Modify, Node: full} }
	for _, tt := range []struct {
		name     string
		changes  []DirChange // a revision each
		projects []string
		rules    string // of everything
	}{
		{"nothing", nil, nil, "trunk /"},
		{"no trunk", []DirChange{add("src"), add("branches")}, nil, "trunk /"},
		{"standard", []DirChange{add("trunk"), add("branches"), add("tags")}, nil, "trunk trunk, branches branches/*, tags tags/*"},
		{"trunk only", []DirChange{add("trunk")}, nil, "trunk trunk"},
		{"other words", []DirChange{add("Trunk"), add("Branch"), add("TAGS")}, nil, "trunk Trunk, branches Branch/*, tags TAGS/*"},
		{"trunk was deleted", []DirChange{add("trunk"), remove("trunk")}, nil, "trunk trunk"},
		{"two projects", []DirChange{add("b/trunk"), add("a/trunk")}, []string{"a", "b"}, "trunk /"},
		{"one of two deleted", []DirChange{add("a/trunk"), add("b/trunk"), add("b/tags"), remove("a")}, nil, "trunk b/trunk, tags b/tags/*, branches a/trunk as a/trunk"},
		{"one below", []DirChange{add("p/trunk"), add("p/branches")}, nil, "trunk p/trunk, branches p/branches/*"},
		{"one below and one beside", []DirChange{add("trunk"), add("p/trunk"), add("p/branches")}, nil, "trunk trunk, branches p/trunk as p/trunk, branches p/branches/* as p/*"},
		{"a directory called trunk", []DirChange{add("src/trunk")}, nil, "trunk /"},
		{"a project copied", []DirChange{add("a/trunk"), copied("a", "b")}, []string{"a", "b"}, "trunk /"},
		{"a project moved", []DirChange{add("a/trunk"), add("a/tags"), copied("a", "g/b"), remove("a")}, nil, "trunk g/b/trunk, tags g/b/tags/*, trunk a/trunk, tags a/tags/*"},
		{"trunk moved", []DirChange{add("trunk"), copied("trunk", "p/trunk"), remove("trunk")}, nil, "trunk p/trunk, trunk trunk"},
		{"trunk moved up", []DirChange{add("p/trunk"), copied("p/trunk", "trunk"), remove("p")}, nil, "trunk trunk, trunk p/trunk"},
		{"trunk in trunk", []DirChange{add("trunk"), add("trunk/x/trunk"), add("tags/y/trunk")}, nil, "trunk trunk"},
		{"too deep", []DirChange{add("1/2/3/4/trunk"), add("1/2/3/5/trunk")}, nil, "trunk /"},
		{"three deep", []DirChange{add("1/2/3/trunk"), add("1/2/4/trunk")}, []string{"1/2/3", "1/2/4"}, "trunk /"},
		{"releases that stay", []DirChange{add("trunk"), add("releases"), copied("trunk", "releases/1"), copied("trunk", "releases/2"), edit("releases/2")}, nil, "trunk trunk, tags releases/*"},
		{"releases that are worked on", []DirChange{add("trunk"), add("releases"), copied("trunk", "releases/1"), edit("releases/1")}, nil, "trunk trunk, branches releases/*"},
		{"another word for trunk", []DirChange{add("dev"), add("tags"), copied("dev", "tags/1"), copied("dev", "tags/2"), copied("x", "tags/3")}, nil, "trunk dev, tags tags/*"},
		{"branches only", []DirChange{add("branches"), add("branches/a"), copied("branches/a", "branches/b")}, nil, "branches branches/*"},
		{"odd place", []DirChange{add("trunk"), copied("trunk", "odd/x")}, nil, "branches odd/x as odd/x, trunk trunk"},
		{"odd places", []DirChange{add("trunk"), copied("trunk", "odd/x"), copied("trunk", "odd/y")}, nil, "branches odd/* as odd/*, trunk trunk"},
		{"odd place of a branch in an odd place", []DirChange{add("trunk"), copied("trunk", "odd/x"), copied("odd/x", "even/x")}, nil, "branches even/x as even/x, branches odd/x as odd/x, trunk trunk"},
		{"beside trunk", []DirChange{add("trunk"), copied("trunk", "x")}, nil, "trunk trunk"},
		{"all branches moved", []DirChange{add("trunk"), add("branches"), copied("branches", "attic")}, nil, "branches attic/* as attic/*, trunk trunk, branches branches/*"},
		{"tags in an odd place", []DirChange{add("trunk"), copied("trunk", "old/tags/x")}, nil, "tags old/tags/x as old/tags/x, trunk trunk"},
		{"part of trunk", []DirChange{add("trunk"), copied("trunk/a", "odd/x")}, nil, "trunk trunk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSurvey(nil)
			for i, c := range tt.changes {
				if err := s.add(&Record{Number: int64(i + 2), Dirs: []DirChange{c}}); err != nil && c.Action != origin.Modify {
					t.Fatal(err)
				}
			}
			if got := s.Projects(); !slices.Equal(got, tt.projects) {
				t.Errorf("projects are %q, want %q", got, tt.projects)
			}
			rules, err := s.Detect("")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Split(strings.TrimSpace(rules.String()), "\n"), ", "); got != tt.rules {
				t.Errorf("rules are %q, want %q", got, tt.rules)
			}
		})
	}
}
