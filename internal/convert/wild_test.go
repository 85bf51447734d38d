package convert

import (
	"fmt"
	"testing"

	. "gantry/internal/gantrytest/svnfixture"
)

// Layouts as they are found in repositories of others, and what a careful human makes of each.
func TestWildLayouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []layoutCase{
		{name: "one of many projects", root: "httpd", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("apr"), Mkdir("apr/trunk"), Put("apr/trunk/f", "1"), Mkdir("apr/tags"), Mkdir("httpd"), Mkdir("httpd/trunk"), Put("httpd/trunk/f", "1"), Mkdir("httpd/branches"), Mkdir("httpd/tags"))
			h.Commit("a", "2", CopyDir("httpd/trunk", 1, "httpd/branches/2.0"), CopyDir("apr/trunk", 1, "apr/tags/1"))
			h.Commit("a", "3", Edit("httpd/branches/2.0/f", "3"), CopyDir("apr/trunk", 2, "httpd/trunk/apr"))
			h.Commit("a", "4", CopyDir("httpd/branches/2.0", 3, "httpd/tags/2.0.1"))
		}, refs: "heads/2.0 heads/main tags/2.0.1", logs: "main: 1 3; 2.0: 1 3; tags/2.0.1: 1 3"},
		{name: "projects in the trunk", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Mkdir("trunk/one"), Put("trunk/one/f", "1"), Mkdir("trunk/two"), Put("trunk/two/f", "1"), Mkdir("branches"), Mkdir("tags"))
			h.Commit("a", "2", Mkdir("branches/one"), CopyDir("trunk/one", 1, "branches/one/x"))
			h.Commit("a", "3", Edit("branches/one/x/f", "3"), CopyDir("trunk/one", 2, "branches/one/y"))
			h.Commit("a", "4", Mkdir("tags/one"), CopyDir("branches/one/x", 3, "tags/one/1"), Mkdir("tags/two"), CopyDir("trunk/two", 3, "tags/two/1"))
			h.Commit("a", "5", Edit("branches/one/y/f", "5"))
		}, refs: "heads/main heads/one/x heads/one/y tags/one/1 tags/two/1", logs: "main: 1; one/x: 1 2 3; one/y: 1 3 5; tags/one/1: 1 2 3; tags/two/1: 1 4"},
		{name: "modules of KDE", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Mkdir("trunk/KDE"), Mkdir("trunk/KDE/libs"), Put("trunk/KDE/libs/f", "1"), Mkdir("trunk/KDE/base"), Put("trunk/KDE/base/f", "1"), Mkdir("branches"), Mkdir("tags"))
			h.Commit("a", "2", Mkdir("branches/KDE"), Mkdir("branches/KDE/4.0"), CopyDir("trunk/KDE/libs", 1, "branches/KDE/4.0/libs"))
			h.Commit("a", "3", CopyDir("trunk/KDE/base", 2, "branches/KDE/4.0/base"))
			h.Commit("a", "4", Edit("branches/KDE/4.0/libs/f", "4"), Mkdir("tags/KDE"))
			h.Commit("a", "5", CopyDir("branches/KDE/4.0", 4, "tags/KDE/4.0.1"), CopyDir("trunk/KDE", 4, "branches/KDE/4.1"))
			h.Commit("a", "6", Mkdir("tags/KDE/4.0.2"), CopyDir("branches/KDE/4.0/libs", 5, "tags/KDE/4.0.2/libs"))
		}, refs: "heads/KDE/4.0 heads/KDE/4.1 heads/main tags/KDE/4.0.1 tags/KDE/4.0.2", logs: "KDE/4.0: 1 2 3 4; tags/KDE/4.0.1: 1 2 3 4; tags/KDE/4.0.2: 1 2 3 4 6; KDE/4.1: 1 5"},
		{name: "a project becomes the trunk", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("app"), Put("app/f", "1"))
			h.Commit("a", "2", Edit("app/f", "2"))
			h.Commit("a", "3", CopyDir("app", 2, "trunk"), Delete("app"), Mkdir("tags"))
			h.Commit("a", "4", Edit("trunk/f", "4"), CopyDir("trunk", 3, "tags/1"))
		}, refs: "heads/main tags/1", logs: "main: 1 2 4; tags/1: 1 2", outside: "app>"},
		{name: "a hundred revisions before the trunk", tell: func(h *History) {
			h.Commit("a", "0", Mkdir("src"), Put("src/f", ""), Put("README", ""))
			for i := range 100 {
				h.Commit("a", "x", Edit("src/f", fmt.Sprint(i)))
			}
			h.Commit("a", "102", Mkdir("trunk"), CopyDir("src", h.Head(), "trunk/src"), CopyFile("README", h.Head(), "trunk/README"), Delete("src"), Delete("README"))
			h.Commit("a", "103", Mkdir("branches"), CopyDir("trunk", h.Head(), "branches/b"), Edit("branches/b/src/f", "b"))
		}, refs: "heads/b heads/main"},
		{
			name: "as cvs2svn writes", tell: func(h *History) {
				h.Commit("", "1", Mkdir("trunk"), Mkdir("branches"), Mkdir("tags"))
				h.Commit("a", "2", Put("trunk/a", "2"), Put("trunk/b", "2"), Mkdir("trunk/d"), Put("trunk/d/c", "2"))
				h.Commit("a", "3", Edit("trunk/d/c", "3"))
				h.Commit("a", "4", Edit("trunk/b", "4"))
				h.Commit("", "5", CopyDir("trunk", 2, "branches/unlabeled-1.1.1"), Delete("branches/unlabeled-1.1.1/a"), Delete("branches/unlabeled-1.1.1/d"))
				h.Commit("a", "6", Edit("branches/unlabeled-1.1.1/b", "6"))
				h.Commit("", "7", CopyDir("trunk", 2, "tags/V1"), CopyDir("trunk/d", 3, "tags/V1/d").Replacing(), CopyFile("trunk/b", 2, "tags/V1/b").Replacing(), Delete("tags/V1/a"))
				h.Commit("", "8", CopyFile("trunk/b", 4, "tags/V1/b").Replacing())
				h.Commit("", "9", CopyDir("trunk", 2, "tags/V2"), CopyFile("trunk/d/c", 3, "tags/V2/d/c").Replacing(), CopyFile("trunk/b", 4, "tags/V2/b").Replacing())
			}, refs: "heads/main heads/unlabeled-1.1.1 tags/V1 tags/V2", logs: "unlabeled-1.1.1: 1 2 5 6; tags/V1: 1 2 3 7 8; tags/V2: 1 2 3 4",
			sources: "tags/V1<trunk@3 tags/V2<trunk@4",
		},
		{name: "a working copy of mixed revisions", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Mkdir("trunk/a"), Mkdir("trunk/a/b"), Put("trunk/a/b/f", "1"), Put("trunk/g", "1"), Mkdir("tags"), Mkdir("branches"))
			h.Commit("a", "2", Edit("trunk/a/b/f", "2"))
			h.Commit("a", "3", CopyDir("trunk", 1, "tags/t"), CopyFile("trunk/a/b/f", 2, "tags/t/a/b/f").Replacing())
			h.Commit("a", "4", CopyDir("trunk", 1, "branches/b"), CopyFile("trunk/a/b/f", 2, "branches/b/a/b/f").Replacing().Text("4"))
		}, refs: "heads/b heads/main tags/t", logs: "tags/t: 1 2; b: 1 4", sources: "tags/t<trunk@2 branches/b<trunk@1"},
		{name: "drops of a vendor", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("vendor"), Mkdir("vendor/lib"), Mkdir("vendor/lib/current"), Put("vendor/lib/current/l", "1"))
			h.Commit("a", "2", CopyDir("vendor/lib/current", 1, "vendor/lib/1.0"), CopyDir("vendor/lib/current", 1, "trunk/lib"))
			h.Commit("a", "3", Edit("vendor/lib/current/l", "3"))
			h.Commit("a", "4", Edit("trunk/lib/l", "3"), CopyDir("vendor/lib/current", 3, "vendor/lib/1.1"))
		}, refs: "heads/main heads/vendor", logs: "main: 1 2 4; vendor: 1 2 3 4", outside: "vendor>heads/vendor"},
		{name: "releases and sandboxes", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("releases"), Mkdir("sandbox"))
			h.Commit("a", "2", CopyDir("trunk", 1, "releases/1"), Mkdir("sandbox/ann"), CopyDir("trunk", 1, "sandbox/ann/x"))
			h.Commit("a", "3", Edit("sandbox/ann/x/f", "3"), Mkdir("sandbox/bob"), CopyDir("trunk", 2, "sandbox/bob/y"), CopyDir("trunk", 2, "releases/2"))
			h.Commit("a", "4", CopyDir("sandbox/ann/x", 3, "sandbox/bob/x"), Put("sandbox/bob/notes", "4"))
			h.Commit("a", "5", Edit("sandbox/bob/x/f", "5"))
		}, refs: "heads/main heads/outside heads/sandbox/ann/x heads/sandbox/bob/x heads/sandbox/bob/y tags/1 tags/2", logs: "sandbox/ann/x: 1 3; sandbox/bob/x: 1 3 5; outside: 4", outside: "sandbox/bob/>heads/outside sandbox/bob/x>heads/sandbox/bob/x"},
		{name: "names in other cases", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("TRUNK"), Put("TRUNK/f", "1"), Mkdir("Branch"), Mkdir("TAG"))
			h.Commit("a", "2", CopyDir("TRUNK", 1, "Branch/b"), CopyDir("TRUNK", 1, "TAG/t"), Edit("Branch/b/f", "2"))
		}, refs: "heads/b heads/main tags/t", logs: "main: 1; b: 1 2"},
		{name: "names in another language", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("Stamm"), Put("Stamm/f", "1"), Mkdir("Zweige"), Mkdir("Marken"))
			h.Commit("a", "2", CopyDir("Stamm", 1, "Zweige/b"), CopyDir("Stamm", 1, "Marken/1"))
			h.Commit("a", "3", Edit("Zweige/b/f", "3"), Edit("Stamm/f", "3"))
			h.Commit("a", "4", CopyDir("Stamm", 3, "Marken/2"))
		}, refs: "heads/b heads/main tags/1 tags/2", logs: "main: 1 3; b: 1 3; tags/2: 1 3"},
		{name: "sources that are called tags", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("src"), Put("src/f", "1"), Mkdir("tags"), Mkdir("tags/a"), Put("tags/a/f", "1"), Put("README", "1"))
			h.Commit("a", "2", CopyDir("tags/a", 1, "tags/b"), Edit("tags/b/f", "2"))
			h.Commit("a", "3", Edit("tags/b/f", "3"))
		}, refs: "heads/main", logs: "main: 1 2 3"},
		{name: "a tag of a tag, and one that is worked on", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("tags"))
			h.Commit("a", "2", CopyDir("trunk", 1, "tags/1"))
			h.Commit("a", "3", CopyDir("tags/1", 2, "tags/latest"))
			h.Commit("a", "4", Edit("trunk/f", "4"), Edit("tags/1/f", "4"))
			h.Commit("a", "5", Edit("tags/1/f", "5"), CopyDir("tags/1", 4, "trunk/from-tag"))
			h.Commit("a", "6", CopyDir("tags/1", 5, "tags/latest").Replacing())
		}, refs: "archive/tags/latest@5 heads/main tags/1 tags/latest", logs: "tags/1: 1 4 5; tags/latest: 1 4 5; main: 1 4 5"},
		{name: "renamed and put away", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
			h.Commit("a", "2", CopyDir("trunk", 1, "branches/x"), Edit("branches/x/f", "2"), CopyDir("trunk", 1, "branches/old"), Edit("branches/old/f", "2"))
			h.Commit("a", "3", CopyDir("branches/x", 2, "branches/y"), Delete("branches/x"))
			h.Commit("a", "4", Edit("branches/y/f", "4"))
			h.Commit("a", "5", CopyDir("branches/y", 4, "branches/z"), Delete("branches/y"), Mkdir("branches/archive"), CopyDir("branches/old", 4, "branches/archive/old"), Delete("branches/old"))
			h.Commit("a", "6", Edit("branches/z/f", "6"))
		}, refs: "heads/archive/old heads/main heads/z", logs: "z: 1 2 4 6; archive/old: 1 2"},
		{name: "trunk comes back from long ago", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
			h.Commit("a", "2", Edit("trunk/f", "2"))
			h.Commit("a", "3", Edit("trunk/f", "3"))
			h.Commit("a", "4", CopyDir("trunk", 2, "trunk").Replacing())
			h.Commit("a", "5", Edit("trunk/f", "5"))
		}, refs: "archive/trunk@3 heads/main", logs: "main: 1 2 5; refs/archive/trunk@3: 1 2 3"},
		{name: "renamed back and forth", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
			h.Commit("a", "2", CopyDir("trunk", 1, "Trunk"), Delete("trunk"))
			h.Commit("a", "3", Edit("Trunk/f", "3"))
			h.Commit("a", "4", CopyDir("Trunk", 3, "trunk"), Delete("Trunk"))
			h.Commit("a", "5", Edit("trunk/f", "5"), CopyDir("trunk", 4, "branches/b"))
		}, refs: "heads/b heads/main", logs: "main: 1 3 5; b: 1 3"},
		{name: "beside branches of branches", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"), Mkdir("branches/team"))
			h.Commit("a", "2", Mkdir("branches/team/deep"), CopyDir("trunk", 1, "branches/team/deep/x"))
			h.Commit("a", "3", Mkdir("branches/team/notes"), Put("branches/team/notes/n", "3"))
		}, refs: "heads/branches/team/notes heads/main heads/team/deep/x", logs: "branches/team/notes: 3", outside: "branches/team/notes>heads/branches/team/notes"},
		{name: "a copy that is overwritten by its revision", tell: func(h *History) {
			h.Commit("a", "1", Mkdir("trunk"), Put("trunk/f", "1"), Mkdir("branches"))
			h.Commit("a", "2", Mkdir("branches/b"), CopyFile("trunk/f", 1, "branches/b/f"), Delete("branches/b/f"), Put("branches/b/f", "2"))
		}, refs: "heads/b heads/main", logs: "b: 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.judge(t)
		})
	}
}
