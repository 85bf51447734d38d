package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"gantry/internal/convert"
)

type reportLine struct {
	Type string `json:"type"`
	Dir  string `json:"dir"`
	*convert.Report
}

// report tells what a complete conversion made.
func (o *convertOutput) report(r *convert.Report, dir string) error {
	o.stop()
	if o.asJSON {
		return o.writeLine(reportLine{"report", dir, r})
	}
	w := o.con.out
	fmt.Fprintf(w, "%s is complete: %d commits on %d branches, %d tags, %d authors, from %d revisions\n", dir, r.Commits, r.Branches, r.Tags, r.Authors, r.Revisions)
	if r.Files > 0 {
		fmt.Fprintf(w, "%d file versions (%s) read, %d checked against the origin's checksums\n", r.Files, formatBytes(r.Bytes), r.VerifiedTexts)
		if r.ComparedEntries > 0 {
			fmt.Fprintf(w, "%d files and directories agree with the origin's own listing\n", r.ComparedEntries)
		}
	}
	note(w, r.UncheckedText, "file versions that the origin gives no checksum of")
	note(w, r.Unmapped, "revisions change nothing on any branch")
	note(w, r.Malformed, "parts of svn:mergeinfo make no sense and were left out")
	note(w, r.Archived, "refs below refs/archive keep what was deleted or closed at the origin")
	note(w, r.RenamedPaths, "path names that Git cannot hold were encoded")
	note(w, r.EmptyDirectories, "empty directories were left out, as Git has none")
	note(w, int64(len(r.Twins)), "changesets are one commit with another, as they differ in nothing that Git keeps")
	note(w, r.Redated, "changesets have another date or time zone, as Git cannot hold theirs")
	note(w, r.Retold, "changesets have their user or message in UTF-8 with plain line ends")
	note(w, r.DroppedSignatures, "signatures were dropped, as what they signed has changed")
	tell(w, "branches and tags with other names", r.Renamed, func(f convert.Rename) string {
		if f.Ref == "" {
			return fmt.Sprintf("%s was left out: %s", f.Path, f.Reason)
		}
		return fmt.Sprintf("%s is called %s, as Git cannot hold its name beside the others", f.Path, f.Ref)
	})
	tell(w, "merges", r.Merges, func(f convert.Merge) string {
		return fmt.Sprintf("r%d of %s merges %s up to r%d", f.Revision, f.Path, f.Source, f.Upto)
	})
	tell(w, "cherry-picks", r.CherryPicks, func(f convert.CherryPick) string {
		return fmt.Sprintf("r%d of %s takes r%s of %s", f.Revision, f.Path, f.Revisions, f.Source)
	})
	tell(w, "externals that are no submodules", r.Externals, func(f convert.External) string {
		return fmt.Sprintf("%s, since r%d of %s: %s", cmp.Or(f.Path, "/"), f.Revision, f.Branch, f.Definition)
	})
	tell(w, "branches copied together from several places", r.Sources, func(f convert.Source) string {
		return fmt.Sprintf("%s in r%d continues %s, not %s", f.Path, f.Revision, f.Taken, strings.Join(f.Others, ", "))
	})
	tell(w, "paths outside of every branch", r.Outside, func(f convert.Outside) string {
		if f.Ref == "" {
			return f.Path + " is on no branch"
		}
		return f.Path + " is on " + f.Ref
	})
	tell(w, "subrepositories", r.Subrepositories, func(f convert.Subrepository) string {
		if f.Submodule {
			return fmt.Sprintf("%s (%s) is a submodule, from %s", f.Path, f.Source, f.Ref)
		}
		return fmt.Sprintf("%s (%s, %s) is not in %s", f.Path, f.Kind, f.Source, f.Ref)
	})
	tell(w, "large contents that are not there", r.Absent, func(f convert.Absent) string {
		return fmt.Sprintf("%s (%s): %s", f.Path, f.OID, f.Reason)
	})
	tell(w, "paths that the origin does not show", r.Hidden, func(path string) string { return path })
	return nil
}

// maxTold is how many entries of a list people are told; all of them are in the JSON report.
const maxTold = 10

// tell writes a list in words, or nothing when it is empty.
func tell[F any](w io.Writer, what string, list []F, line func(F) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "%s: %d\n", what, len(list))
	for _, f := range list[:min(len(list), maxTold)] {
		fmt.Fprintf(w, "  %s\n", line(f))
	}
	if more := len(list) - maxTold; more > 0 {
		fmt.Fprintf(w, "  and %d more; --json lists them all\n", more)
	}
}

func note(w io.Writer, n int64, text string) {
	if n > 0 {
		fmt.Fprintf(w, "%d %s\n", n, text)
	}
}
