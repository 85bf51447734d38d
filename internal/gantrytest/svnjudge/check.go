package svnjudge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mapping is a map file: which commit shows which path of which revision.
type mapping struct {
	commits []mapped
	at      map[Place]string // commit ids
	paths   []string         // all paths but outside, sorted
	within  []string         // those of them that hold no other
	last    map[string]int64 // the newest revision with a commit, by path
}

// CheckTrees is the part of Check that compares trees, of at most so many commits in even distances and the last one: for
// histories that are too big to be looked at as a whole.
func (j *Judge) CheckTrees(ctx context.Context, mapFile, gitDir string, most int) (commits int, err error) {
	m, err := readMapping(mapFile)
	if err != nil || len(m.commits) == 0 {
		return 0, err
	}
	all := m.commits
	m.commits = nil
	for i := range min(most, len(all)) {
		m.commits = append(m.commits, all[len(all)-1-i*len(all)/most])
	}
	var found faults
	if err := j.checkTrees(ctx, m, gitDir, &found); err != nil {
		return 0, err
	}
	return len(m.commits), found.error()
}

// outside stands in a map file for the branch of files that are in no directory that is a branch.
const outside = "(outside)"

type mapped struct {
	Place
	commit string
}

// Check judges a conversion of the whole repository: a bare Git repository and the map file that came with it. Each
// commit's tree must be what Subversion has there; each revision that changes a branch must have its commit, and what is
// in no branch must be in commits of its own; each living branch and tag must have its ref with its tree. It returns the
// number of commits seen and an error that names the first disagreements.
//
// Branches are the paths in the map file. One that holds others is a branch until its last commit, and they are from then
// on: it is where files were before there was a trunk.
func (j *Judge) Check(ctx context.Context, mapFile, gitDir string) (commits int, err error) {
	m, err := readMapping(mapFile)
	if err != nil {
		return 0, err
	}
	var found faults
	if err := j.addCopies(m); err != nil {
		return 0, err
	}
	if err := j.checkTrees(ctx, m, gitDir, &found); err != nil {
		return 0, err
	}
	if err := j.checkComplete(m, &found); err != nil {
		return 0, err
	}
	if err := j.checkRefs(ctx, m, gitDir, &found); err != nil {
		return 0, err
	}
	return len(m.commits), found.error()
}

// faults are disagreements between Subversion and a conversion.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f faults) error() error {
	const shown = 10
	if len(f) > shown {
		return errors.Join(errors.Join(f[:shown]...), fmt.Errorf("and %d more", len(f)-shown))
	}
	return errors.Join(f...)
}

func readMapping(file string) (*mapping, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &mapping{at: map[Place]string{}, last: map[string]int64{}}
	for line := range strings.Lines(string(data)) {
		commit, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		tab := strings.LastIndexByte(rest, '\t') // the path may have some, too
		if tab < 0 {
			return nil, fmt.Errorf("%s: %q is not a line of three fields", file, line)
		}
		revision, err := strconv.ParseInt(rest[tab+1:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: the revision is not a number", file, line)
		}
		place := Place{rest[:tab], revision}
		if other, double := m.at[place]; double {
			return nil, fmt.Errorf("%s: %s and %s both are %s in r%d", file, other, commit, place.Path, place.Revision)
		}
		m.commits = append(m.commits, mapped{place, commit})
		m.at[place] = commit
		m.last[place.Path] = max(m.last[place.Path], revision)
	}
	m.paths = slices.Sorted(maps.Keys(m.last))
	m.paths = slices.DeleteFunc(m.paths, func(path string) bool { return path == outside })
	return m, nil
}

// addCopies finds the branches without a commit: copies of others that nobody changed.
func (j *Judge) addCopies(m *mapping) error {
	head, err := j.Head()
	if err != nil {
		return err
	}
	for revision := int64(1); revision <= head; revision++ {
		changes, err := j.Changes(revision)
		if err != nil {
			return err
		}
		for _, to := range changes {
			moved, err := j.isMoved(m, to, revision)
			if err != nil {
				return err
			}
			if moved {
				m.paths = append(m.paths, to)
				continue
			}
			source, err := j.Source(to, revision)
			if err != nil {
				return err
			}
			if source == nil || slices.ContainsFunc(m.paths, func(path string) bool { return path != "" && within(to, path) }) {
				continue
			}
			for _, path := range slices.Clone(m.paths) {
				arrived := to + strings.TrimPrefix(path, source.Path)
				inOther := func(other string) bool {
					return other != "" && other != arrived && m.last[other] >= revision && within(arrived, other)
				}
				if path != "" && within(path, source.Path) && !slices.ContainsFunc(m.paths, inOther) {
					m.paths = append(m.paths, arrived)
				}
			}
		}
	}
	slices.Sort(m.paths)
	m.paths = slices.Compact(m.paths)
	for _, path := range m.paths {
		if !slices.ContainsFunc(m.paths, func(other string) bool { return other != path && within(other, path) }) {
			m.within = append(m.within, path)
		}
	}
	return nil
}

// isMoved reports whether all that was at the root is in another directory now: a trunk was made of it.
func (j *Judge) isMoved(m *mapping, to string, revision int64) (bool, error) {
	if m.last[""] == 0 || m.last[""] >= revision || to == "" || slices.Contains(m.paths, to) {
		return false, nil
	}
	before, err := j.Tree("", revision-1)
	if err != nil || before == EmptyTree {
		return false, err
	}
	now, err := j.Tree(to, revision)
	return now == before, err
}

// isBranch reports whether a path is a branch in a revision.
func (m *mapping) isBranch(path string, revision int64) bool {
	if !slices.Contains(m.within, path) {
		return revision <= m.last[path]
	}
	return !slices.ContainsFunc(m.paths, func(other string) bool { return other != path && within(path, other) && revision <= m.last[other] })
}

// tree is what a commit must have.
func (j *Judge) tree(m *mapping, place Place) (string, error) {
	if place.Path == outside {
		return j.Outside(m.within, place.Revision)
	}
	return j.Tree(place.Path, place.Revision)
}

// checkTrees compares the tree of every commit.
func (j *Judge) checkTrees(ctx context.Context, m *mapping, gitDir string, found *faults) error {
	var names bytes.Buffer
	for _, c := range m.commits {
		fmt.Fprintf(&names, "%s^{tree}\n", c.commit)
	}
	trees, err := git(ctx, gitDir, &names, "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return err
	}
	if len(trees) != len(m.commits) {
		return fmt.Errorf("svnjudge: git told %d trees of %d commits", len(trees), len(m.commits))
	}
	for i, c := range m.commits {
		want, err := j.tree(m, c.Place)
		if err != nil {
			return err
		}
		if trees[i] != want {
			found.add("%s in r%d: commit %s has tree %s, Subversion %s", c.Path, c.Revision, c.commit, trees[i], want)
		}
	}
	return nil
}

// checkComplete looks for revisions of mapped paths that have no commit.
func (j *Judge) checkComplete(m *mapping, found *faults) error {
	head, err := j.Head()
	if err != nil {
		return err
	}
	before := EmptyTree
	for revision := int64(1); revision <= head; revision++ {
		changes, err := j.Changes(revision)
		if err != nil {
			return err
		}
		if before, err = j.checkOutside(m, revision, before, found); err != nil {
			return err
		}
		for _, path := range m.touched(changes) {
			if m.at[Place{path, revision}] != "" || !m.isBranch(path, revision) {
				continue
			}
			wanted, err := j.needsCommit(m, path, revision)
			if err != nil {
				return err
			}
			if wanted {
				found.add("%s in r%d has no commit", path, revision)
			}
		}
	}
	return nil
}

// checkOutside looks for the commit of what is in no branch, and returns what that is.
func (j *Judge) checkOutside(m *mapping, revision int64, before string, found *faults) (string, error) {
	now, err := j.Outside(m.within, revision)
	if err != nil || now == before || now == EmptyTree || m.at[Place{outside, revision}] != "" {
		return now, err
	}
	inBranch := slices.ContainsFunc(m.paths, func(path string) bool { return !slices.Contains(m.within, path) && m.isBranch(path, revision) })
	if inBranch {
		return now, nil
	}
	restored, err := j.isRestored(m, revision, now)
	if err == nil && !restored {
		found.add("what is in no branch in r%d has no commit", revision)
	}
	return now, err
}

// isRestored reports whether what is in no branch came back unchanged with a copy of a directory above it: as that of a branch,
// its ref leads to the commit that it had.
func (j *Judge) isRestored(m *mapping, revision int64, now string) (bool, error) {
	changes, err := j.Changes(revision)
	if err != nil {
		return false, err
	}
	for _, path := range changes {
		source, err := j.Source(path, revision)
		if err != nil {
			return false, err
		}
		if source == nil || source.Path != path {
			continue
		}
		then, err := j.Outside(m.within, source.Revision)
		if err != nil || then == now {
			return err == nil, err
		}
	}
	return false, nil
}

// touched returns the mapped paths that are one of the changed paths, contain one, or are in one.
func (m *mapping) touched(changes []string) []string {
	hit := map[string]bool{}
	for _, change := range changes {
		for _, path := range m.paths {
			if within(change, path) || within(path, change) {
				hit[path] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(m.paths), func(path string) bool { return !hit[path] })
}

// within reports whether path is dir or something in it; everything is in "".
func within(path, dir string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir+"/")
}

// needsCommit reports whether a branch's files in a revision are neither what they were before it nor what was copied there.
func (j *Judge) needsCommit(m *mapping, path string, revision int64) (bool, error) {
	now, err := j.Tree(path, revision)
	if err != nil || now == "" || now == EmptyTree {
		return false, err
	}
	if m.last[""] > 0 && path != "" { // it continues what the root was
		if before, err := j.Tree("", revision-1); err != nil || now == before {
			return false, err
		}
	}
	before := Place{path, revision - 1}
	source, err := j.Source(path, revision)
	if err != nil {
		return false, err
	}
	if source != nil {
		before = *source
	}
	then, err := j.Tree(before.Path, before.Revision)
	if err != nil || now == then {
		return false, err
	}
	put, err := j.isPutTogether(m, path, revision, now)
	return !put, err
}

// isPutTogether reports whether what a revision copied into a branch, part by part, is all of another.
func (j *Judge) isPutTogether(m *mapping, path string, revision int64, tree string) (bool, error) {
	changes, err := j.Changes(revision)
	if err != nil {
		return false, err
	}
	for _, change := range changes {
		if !within(change, path) {
			continue
		}
		source, err := j.Source(change, revision)
		if err != nil {
			return false, err
		}
		for _, other := range m.paths {
			if source == nil || !within(source.Path, other) {
				continue
			}
			if all, err := j.Tree(other, source.Revision); err != nil || all == tree {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// checkRefs looks for the ref of everything that is alive at the newest revision.
func (j *Judge) checkRefs(ctx context.Context, m *mapping, gitDir string, found *faults) error {
	head, err := j.Head()
	if err != nil {
		return err
	}
	lines, err := git(ctx, gitDir, nil, "for-each-ref", "--format=%(refname) %(tree)%(*tree)")
	if err != nil {
		return err
	}
	trees := map[string]string{}
	for _, line := range lines {
		name, tree, _ := strings.Cut(line, " ")
		trees[name] = tree
	}
	symbolic, err := git(ctx, gitDir, nil, "symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	refs := map[string]string{} // path in Subversion -> ref
	if slices.Equal(m.paths, []string{""}) {
		refs[""] = symbolic[0]
	} else if m.last["trunk"] > 0 {
		refs["trunk"] = symbolic[0]
		for dir, space := range map[string]string{"branches": "refs/heads/", "tags": "refs/tags/"} {
			names, err := j.Directories(dir, head)
			if err != nil {
				return err
			}
			for _, name := range names {
				if path := dir + "/" + name; !slices.ContainsFunc(m.paths, func(other string) bool { return other != path && within(other, path) }) {
					refs[path] = space + name
				}
			}
		}
	}
	for path, ref := range refs {
		want, err := j.Tree(path, head)
		if err != nil {
			return err
		}
		if want != "" && want != EmptyTree && trees[ref] != want && !renamed(trees, ref, want) {
			found.add("%s: %s has tree %q, Subversion %s", path, ref, trees[ref], want)
		}
	}
	living := slices.Collect(maps.Values(trees))
	for _, path := range m.within {
		want, err := j.Tree(path, head)
		if err != nil {
			return err
		}
		if want != "" && want != EmptyTree && m.isBranch(path, head) && !slices.Contains(living, want) {
			found.add("%s: no ref has tree %s", path, want)
		}
	}
	return nil
}

// plainRef is a ref whose name Git takes as it is.
var plainRef = regexp.MustCompile(`^refs/(heads|tags)/[A-Za-z0-9_]{1,200}$`)

// renamed reports whether a tree has a ref of another name, for a reason: the name that it should have is more than
// letters, or taken.
func renamed(trees map[string]string, ref, tree string) bool {
	for name, t := range trees {
		space, _ := path.Split(ref)
		if t == tree && strings.HasPrefix(name, space) && (!plainRef.MatchString(ref) || strings.HasPrefix(name, ref+"-")) {
			return true
		}
	}
	return false
}

func git(ctx context.Context, dir string, stdin *bytes.Buffer, args ...string) (lines []string, err error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s in %s: %w", args[0], dir, err)
	}
	s := bufio.NewScanner(bytes.NewReader(out))
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	return lines, s.Err()
}
