package gitfixture_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gantry/internal/gantrytest/gitfixture"
)

// The published figures are what other tests count on.
func TestFigures(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(gitfixture.Repository(t, "sample.git"), "sample.git")
	count := func(args ...string) int { return len(strings.Split(gitfixture.Git(t, dir, args...), "\n")) }
	if n := count("rev-list", "--branches", "--tags"); n != gitfixture.Commits {
		t.Errorf("%d commits", n)
	}
	if n := count("for-each-ref", "refs/heads"); n != gitfixture.Branches {
		t.Errorf("%d branches", n)
	}
	if n := count("for-each-ref", "refs/tags"); n != gitfixture.Tags {
		t.Errorf("%d tags", n)
	}
	authors := map[string]bool{}
	for _, a := range strings.Split(gitfixture.Git(t, dir, "log", "--branches", "--format=%an <%ae>"), "\n") {
		authors[a] = true
	}
	if len(authors) != gitfixture.Authors {
		t.Errorf("authors: %v", authors)
	}
	gitfixture.Git(t, dir, "fsck", "--strict")
}
