package hgjudge

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// namespace is the refs below a prefix.
type namespace struct {
	prefix string
	at     map[string]string // commits, by what follows the prefix
	meant  map[string]bool   // commits that something has led to
	claims []claim
}

// claim is something that has a name in Mercurial.
type claim struct {
	what, name string
	commit     string
}

// checkRefs compares what has a name in Mercurial, and what is a head there, with the refs.
func (c *check) checkRefs(ctx context.Context) error {
	heads, tags, archive := newNamespace("refs/heads/"), newNamespace("refs/tags/"), newNamespace("refs/archive/")
	out, err := c.git(ctx, "", "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		for _, n := range []*namespace{heads, tags, archive} {
			if name, ok := strings.CutPrefix(ref, n.prefix); ok {
				n.at[name] = commit
			}
		}
	}
	c.claimBranches(heads, archive)
	for _, name := range slices.Sorted(maps.Keys(c.Bookmarks)) {
		heads.claims = append(heads.claims, claim{"bookmark", name, c.commitOf[c.Bookmarks[name]]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tags)) {
		tags.claims = append(tags.claims, claim{"tag", name, c.commitOf[c.Tags[name]]})
	}
	for _, n := range []*namespace{heads, tags, archive} {
		n.check(&c.faults)
	}
	if err := c.checkHead(ctx, heads); err != nil {
		return err
	}
	return c.checkReachable(ctx)
}

func newNamespace(prefix string) *namespace {
	return &namespace{prefix: prefix, at: map[string]string{}, meant: map[string]bool{}}
}

// claimBranches claims the branch's name for its newest open head, and some ref for every other one.
func (c *check) claimBranches(heads, archive *namespace) {
	open := slices.ContainsFunc(c.Branches, func(b Branch) bool { return len(b.Open) > 0 })
	for _, b := range c.Branches {
		for i, node := range b.Open {
			name := b.Name
			if i < len(b.Open)-1 {
				name = "" // only the last one has the name
			} else if name == "default" {
				name = mainBranch
			}
			heads.claims = append(heads.claims, claim{"head of branch " + b.Name, name, c.commitOf[node]})
		}
		for _, node := range b.Closed {
			commit := c.commitOf[node]
			if !open && slices.Contains(slices.Collect(maps.Values(heads.at)), commit) {
				heads.meant[commit] = true // something has to be shown
				continue
			}
			archive.claims = append(archive.claims, claim{"closed head of branch " + b.Name, "", commit})
		}
	}
}

const mainBranch = "main"

// check looks for a ref of each claim, and for refs that nothing claims.
func (n *namespace) check(found *faults) {
	for _, c := range n.claims {
		n.meant[c.commit] = true
		switch {
		case n.isFree(c):
			if n.at[c.name] != c.commit {
				found.add("%s %s: %s%s is at %q, want %s", c.what, c.name, n.prefix, c.name, n.at[c.name], c.commit)
			}
		case !slices.Contains(slices.Collect(maps.Values(n.at)), c.commit):
			found.add("%s %q: nothing below %s is at %s", c.what, c.name, n.prefix, c.commit)
		}
	}
	for name, commit := range n.at {
		if !n.meant[commit] {
			found.add("%s%s, at %s, is of nothing in Mercurial", n.prefix, name, commit)
		}
	}
}

// plainName is a name that a ref can have as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*$`)

// isFree reports whether nothing hinders a claim from having its very name.
func (n *namespace) isFree(c claim) bool {
	if !plainName.MatchString(c.name) || len(c.name) >= 40 || c.name == "HEAD" || strings.HasSuffix(c.name, ".lock") || strings.Contains(c.name, ".lock/") {
		return false
	}
	name := strings.ToLower(c.name)
	return !slices.ContainsFunc(n.claims, func(other claim) bool {
		theirs := strings.ToLower(other.name)
		return other.commit != c.commit && theirs == name || strings.HasPrefix(theirs, name+"/") || strings.HasPrefix(name, theirs+"/")
	})
}

// checkHead makes sure that HEAD is the branch default where that is open, and else some branch.
func (c *check) checkHead(ctx context.Context, heads *namespace) error {
	out, err := c.git(ctx, "", "symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(strings.TrimSpace(out), heads.prefix)
	main := slices.ContainsFunc(c.Branches, func(b Branch) bool { return b.Name == "default" && len(b.Open) > 0 })
	if (main || len(c.Changesets) == 0) && name != mainBranch {
		c.faults.add("HEAD is %s, want %s", name, mainBranch)
	}
	if len(c.Changesets) > 0 && heads.at[name] == "" {
		c.faults.add("HEAD is %s, which is no branch", name)
	}
	return nil
}

// checkReachable makes sure that no commit is lost.
func (c *check) checkReachable(ctx context.Context) error {
	out, err := c.git(ctx, "", "rev-list", "--all")
	if err != nil {
		return err
	}
	reached := map[string]bool{}
	for line := range strings.Lines(out) {
		reached[strings.TrimSuffix(line, "\n")] = true
	}
	for _, changeset := range c.Changesets {
		if commit := c.commitOf[changeset.Node]; commit != "" && !reached[commit] {
			c.faults.add("changeset %s: no ref reaches its commit %s", changeset.Node, commit)
		}
	}
	return nil
}

func (c *check) git(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", c.gitDir}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", args[0], c.gitDir, err)
	}
	return string(out), nil
}
