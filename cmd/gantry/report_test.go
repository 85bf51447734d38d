package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/convert"
)

// People are told what was decided in words, and the beginning of long lists; JSON has everything.
func TestReportInWords(t *testing.T) {
	t.Parallel()
	report := &convert.Report{
		Revisions: 9, Commits: 8, Branches: 2, Tags: 1, Authors: 3,
		Renamed: []convert.Rename{
			{Path: "branches/a b", Ref: "refs/heads/a_b"},
			{Path: "refs/odd", Reason: "it is no branch"},
		},
		Merges:      []convert.Merge{{Path: "trunk", Revision: 7, Source: "branches/x", Upto: 6}},
		CherryPicks: []convert.CherryPick{{Path: "trunk", Revision: 8, Source: "branches/y", Revisions: "3,5-6"}},
		Malformed:   2,
		Externals:   []convert.External{{Path: "lib", Definition: "http://svn.example.org/x y", Branch: "trunk", Revision: 4}},
		Sources:     []convert.Source{{Path: "tags/mixed", Revision: 9, Taken: "trunk@8", Others: []string{"trunk@4", "branches/x@6"}}},
		Outside:     []convert.Outside{{Path: "docs", Ref: "refs/heads/docs"}, {Path: "note"}},
		Hidden:      strings.Split("abcdefghijkl", ""),
	}
	var text bytes.Buffer
	if err := newConvertOutput(console{out: &text}, false).report(report, "r.git"); err != nil {
		t.Fatal(err)
	}
	want := `r.git is complete: 8 commits on 2 branches, 1 tags, 3 authors, from 9 revisions
2 parts of svn:mergeinfo make no sense and were left out
branches and tags with other names: 2
  branches/a b is called refs/heads/a_b, as Git cannot hold its name beside the others
  refs/odd was left out: it is no branch
merges: 1
  r7 of trunk merges branches/x up to r6
cherry-picks: 1
  r8 of trunk takes r3,5-6 of branches/y
externals that are no submodules: 1
  lib, since r4 of trunk: http://svn.example.org/x y
branches copied together from several places: 1
  tags/mixed in r9 continues trunk@8, not trunk@4, branches/x@6
paths outside of every branch: 2
  docs is on refs/heads/docs
  note is on no branch
paths that the origin does not show: 12
  a
  b
  c
  d
  e
  f
  g
  h
  i
  j
  and 2 more; --json lists them all
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}
