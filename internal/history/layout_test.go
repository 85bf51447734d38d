package history

import (
	"slices"
	"testing"

	"gantry/internal/origin"
)

func TestSurvey(t *testing.T) {
	t.Parallel()
	add := func(path string) DirChange { return DirChange{Path: path, Action: origin.Add} }
	remove := func(path string) DirChange { return DirChange{Path: path, Action: origin.Delete} }
	copied := func(from, to string) DirChange {
		return DirChange{Path: to, Action: origin.Add, Copied: true, CopyPath: from, CopyRev: 1}
	}
	for _, tt := range []struct {
		name     string
		changes  []DirChange
		projects []string
		layout   layout // of everything
	}{
		{"nothing", nil, nil, layout{}},
		{"no trunk", []DirChange{add("src"), add("branches")}, nil, layout{}},
		{"standard", []DirChange{add("trunk"), add("branches"), add("tags")}, nil, layout{standard: true}},
		{"trunk only", []DirChange{add("trunk")}, nil, layout{standard: true}},
		{"trunk was deleted", []DirChange{add("trunk"), remove("trunk")}, nil, layout{standard: true}},
		{"two projects", []DirChange{add("b/trunk"), add("a/trunk")}, []string{"a", "b"}, layout{}},
		{"one of two deleted", []DirChange{add("a/trunk"), add("b/trunk"), add("b/tags"), remove("a")}, nil, layout{root: "b", standard: true}},
		{"one below", []DirChange{add("p/trunk"), add("p/branches")}, nil, layout{root: "p", standard: true}},
		{"a directory called trunk", []DirChange{add("src/trunk")}, nil, layout{}},
		{"a project copied", []DirChange{add("a/trunk"), copied("a", "b")}, []string{"a", "b"}, layout{}},
		{"a project moved", []DirChange{add("a/trunk"), add("a/tags"), copied("a", "g/b"), remove("a")}, nil, layout{root: "g/b", standard: true}},
		{"trunk in trunk", []DirChange{add("trunk"), add("trunk/x/trunk"), add("tags/y/trunk")}, nil, layout{standard: true}},
		{"too deep", []DirChange{add("1/2/3/4/trunk"), add("1/2/3/5/trunk")}, nil, layout{}},
		{"three deep", []DirChange{add("1/2/3/trunk"), add("1/2/4/trunk")}, []string{"1/2/3", "1/2/4"}, layout{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &Survey{seen: map[string]bool{}, siblings: map[string]bool{}}
			for i := range tt.changes {
				s.add(&tt.changes[i])
			}
			if got := s.Projects(); !slices.Equal(got, tt.projects) {
				t.Errorf("projects are %q, want %q", got, tt.projects)
			}
			if got := s.layout(""); got != tt.layout {
				t.Errorf("layout is %+v, want %+v", got, tt.layout)
			}
		})
	}
}

func TestBranchOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		layout     layout
		path       string
		root, rest string
		kind       kind
		ok, above  bool
	}{
		{layout{standard: true}, "", "", "", 0, false, true},
		{layout{standard: true}, "trunk", "trunk", "", trunk, true, false},
		{layout{standard: true}, "trunk/a/b", "trunk", "a/b", trunk, true, false},
		{layout{standard: true}, "trunks", "", "", 0, false, false},
		{layout{standard: true}, "branches", "branches", "", branch, false, true},
		{layout{standard: true}, "branches/x", "branches/x", "", branch, true, false},
		{layout{standard: true}, "branches/x/y", "branches/x", "y", branch, true, false},
		{layout{standard: true}, "tags/x", "tags/x", "", tag, true, false},
		{layout{root: "p/q", standard: true}, "p", "", "", 0, false, true},
		{layout{root: "p/q", standard: true}, "p/q/trunk/a", "p/q/trunk", "a", trunk, true, false},
		{layout{root: "p/q", standard: true}, "trunk", "", "", 0, false, false},
		{layout{}, "", "", "", trunk, true, false},
		{layout{}, "trunk/a", "", "trunk/a", trunk, true, false},
		{layout{root: "p"}, "p/a", "p", "a", trunk, true, false},
		{layout{root: "p"}, "", "", "", 0, false, true},
	} {
		root, rest, kind, ok := tt.layout.branchOf(tt.path)
		if ok != tt.ok || ok && (root != tt.root || rest != tt.rest || kind != tt.kind) {
			t.Errorf("%+v: %q is %q, %q, %d, %v", tt.layout, tt.path, root, rest, kind, ok)
		}
		if above := !ok && tt.layout.above(tt.path); above != tt.above {
			t.Errorf("%+v: %q is above: %v", tt.layout, tt.path, above)
		}
	}
}
