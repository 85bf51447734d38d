package convert

import (
	"strings"
	"testing"

	"gantry"
	"gantry/internal/gantrytest/davfixture"
	. "gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// What is read from below the root of a repository was a file for a time, and files in it are copies of that.
func TestRootThatWasAFile(t *testing.T) {
	t.Parallel()
	h := NewHistory("2f0c61a6-2bd2-4c1f-9d3e-0a7b86e4d212")
	h.Commit("a", "1", Put("p", "first\n").With("svn:keywords", "Id"))
	h.Commit("a", "2", Edit("p", "second\n").With("svn:executable", "*"))
	h.Commit("a", "3", Mkdir("p").Replacing(), Mkdir("p/trunk"), Put("p/trunk/f", "3"))
	h.Commit("a", "4", CopyFile("p", 1, "p/trunk/old"), CopyFile("p", 2, "p/trunk/edited").Text("second and more\n"))
	h.Commit("a", "5", Edit("p/trunk/old", "first and more\n"), CopyFile("p/trunk/old", 4, "p/trunk/again"))
	h.Commit("a", "6", CopyFile("p/trunk/old", 5, "p").Replacing())
	h.Commit("a", "7", Edit("p", "seventh\n"))
	h.Commit("a", "8", Delete("p"))
	h.Commit("a", "9", CopyFile("p", 7, "p").Text("ninth\n"))
	h.Commit("a", "10", CopyDir("p", 5, "p").Replacing(), CopyFile("p", 9, "p/trunk/ninth"), CopyFile("p", 7, "p/trunk/seventh"))
	repo := NewRepo(t)
	repo.Load(t, h.Bytes())
	for way, src := range map[string]origin.PathSource{"svn": dial(t, repo, "/p"), "http": dialHTTP(t, repo, "/p", davfixture.Config{})} {
		c := convertFrom(t, src)
		dir, _ := c.install(t)
		c.judgeTrees(t, repo, dir, "p")
		if got := strings.Join(strings.Fields(c.log(t, "%s", "main")), " "); got != "3 4 5 10" {
			t.Errorf("%s: log is %s", way, got)
		}
		mapped(t, c.Conversion, MapOptions{Shape: gantry.Shape{Dressing: gantry.Dressing{Ignores: true, Attributes: true, Externals: true, EmptyDirs: true}}})
	}
}
