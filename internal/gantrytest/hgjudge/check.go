package hgjudge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Check judges a conversion: a bare Git repository, and the map file that came with it, whose lines have a commit first
// and the node of its changeset last. Each changeset that the repository shows has to have a commit with its files,
// parents, user, date and description, and no other has one; every branch, head, bookmark and tag has its ref, and no ref
// is of anything else. It returns the number of changesets and an error that names the first disagreements.
func (j *Judge) Check(ctx context.Context, mapFile, gitDir string) (changesets int, err error) {
	c := &check{Judge: j, gitDir: gitDir}
	if c.commitOf, err = readMap(mapFile); err != nil {
		return 0, err
	}
	for _, step := range []func(context.Context) error{c.checkCommits, c.checkRefs} {
		if err := step(ctx); err != nil {
			return 0, err
		}
	}
	return len(j.Changesets), c.faults.error()
}

type check struct {
	*Judge
	gitDir   string
	commitOf map[string]string // by node
	faults   faults
}

// faults are disagreements between Mercurial and a conversion.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f faults) error() error {
	const shown = 10
	if len(f) > shown {
		return errors.Join(errors.Join(f[:shown]...), fmt.Errorf("and %d more", len(f)-shown))
	}
	return errors.Join(f...)
}

func readMap(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	commitOf := map[string]string{}
	for line := range strings.Lines(string(data)) {
		commit, rest, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		node := rest[strings.LastIndexByte(rest, '\t')+1:]
		if !found || len(node) != 40 {
			return nil, fmt.Errorf("%s: %q does not begin with a commit and end with a node", file, line)
		}
		if commitOf[node] != "" {
			return nil, fmt.Errorf("%s: %s has two lines", file, node)
		}
		commitOf[node] = commit
	}
	return commitOf, nil
}

// checkCommits compares each changeset with its commit.
func (c *check) checkCommits(ctx context.Context) error {
	var wanted []Changeset
	for _, changeset := range c.Changesets {
		if c.commitOf[changeset.Node] == "" {
			c.faults.add("changeset %s has no commit", changeset.Node)
		} else {
			wanted = append(wanted, changeset)
		}
	}
	if len(wanted) == len(c.Changesets) && len(c.commitOf) != len(c.Changesets) {
		c.faults.add("%d changesets have commits, and %d are to be shown", len(c.commitOf), len(c.Changesets))
	}
	var names bytes.Buffer
	for _, changeset := range wanted {
		fmt.Fprintln(&names, c.commitOf[changeset.Node])
	}
	out, err := c.git(ctx, names.String(), "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, changeset := range wanted {
		line, rest, _ := strings.Cut(out, "\n")
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "commit" {
			return fmt.Errorf("hgjudge: changeset %s: git says %q of its commit", changeset.Node, line)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size > len(rest) {
			return fmt.Errorf("hgjudge: git says %q", line)
		}
		c.checkCommit(changeset, rest[:size])
		out = rest[size+1:]
	}
	return nil
}

func (c *check) checkCommit(want Changeset, commit string) {
	header, message, _ := strings.Cut(commit, "\n\n")
	got := map[string]string{}
	for line := range strings.SplitSeq(header, "\n") {
		name, value, _ := strings.Cut(line, " ")
		got[name] += value + "\n"
	}
	var parents string
	for _, p := range want.Parents {
		if commit := c.commitOf[p] + "\n"; !strings.Contains(parents, commit) {
			parents += commit
		}
	}
	for _, field := range []struct{ name, have, want string }{
		{"tree", got["tree"], want.Tree + "\n"},
		{"parents", got["parent"], parents},
		{"committer", got["committer"], got["author"]},
		{"message", message, want.message()},
		{"date", date(got["author"]), want.date()},
	} {
		if field.have != field.want {
			c.faults.add("changeset %s: its commit has the %s %q, want %q", want.Node, field.name, field.have, field.want)
		}
	}
	author, _, _ := strings.Cut(got["author"], "> ")
	if plainUser.MatchString(want.User) && author+">" != want.User || !plainUser.MatchString(author+">") {
		c.faults.add("changeset %s: its commit has the author %q, want %q", want.Node, author+">", want.User)
	}
}

// plainUser is a user that Git can hold as it is.
var plainUser = regexp.MustCompile(`^[^\s<>"\pC]+( [^\s<>"\pC]+)* <[^\s<>\pC]+( [^\s<>\pC]+)*>$`)

// message is the description with line ends as Git has them.
func (c *Changeset) message() string {
	text := strings.NewReplacer("\x00", "", "\r\n", "\n", "\r", "\n").Replace(c.Description)
	if text = strings.TrimRight(text, "\n"); text != "" {
		text += "\n"
	}
	return text
}

// date is the part of an author's line behind the address.
func date(author string) string { return author[strings.LastIndexByte(author, '>')+1:] }

// date is the changeset's as far as Git can hold it.
func (c *Changeset) date() string {
	minutes, sign := -c.West/60, '+'
	if minutes < 0 {
		minutes, sign = -minutes, '-'
	}
	if minutes >= 100*60 {
		minutes, sign = 0, '+'
	}
	if minutes == 0 {
		sign = '+'
	}
	return fmt.Sprintf(" %d %c%02d%02d\n", max(c.Seconds, 0), sign, minutes/60, minutes%60)
}
