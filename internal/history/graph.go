package history

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"gantry"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// GraphOptions say how the raw log of a graph of changesets becomes commits.
type GraphOptions struct {
	Heads     []revlog.Node          // changesets that are shown, with all their ancestors
	Bookmarks map[string]revlog.Node // these are shown as well

	Identity      func(Author) Identity // what commits of an author carry
	DefaultBranch string                // name of the branch that Mercurial calls default
	Trailers      bool                  // messages end in what else a changeset says of itself
	Submodules    bool                  // subrepositories become submodules, those of Git at once, others when Submodule knows them
	Attributes    bool                  // files of attributes say which files are pointers to objects of Git LFS
	Commit        func(Commit) error    // told of every changeset in the order of reading; nil for none
	Progress      func(number int64)    // told of every record; nil for none

	// Submodule tells what a changeset of another repository is in Git; nil when nobody knows.
	Submodule func(source, revision string) (Submodule, bool)
}

// MapGraph turns a raw log of changesets into commits and refs, and writes the commits into the store. It is a pure
// function of the log and the options.
//
// A changeset makes one commit, whose id follows from itself and its ancestors alone. Changesets that differ in nothing
// that a commit says make the same one.
func MapGraph(ctx context.Context, log *Log, store *pack.Store, opt GraphOptions) (*Mapping, error) {
	g := &grapher{
		store: store, opt: opt, branchOf: map[string]int32{}, dress: newDresser(store, gantry.Dressing{}), signer: newSigner("", opt.Identity), byNode: map[revlog.Node]index{}, attributed: map[pack.ID]pack.ID{},
		result: &Mapping{Extras: map[string]int64{}},
	}
	for _, n := range opt.Heads {
		g.byNode[n] = none
	}
	for _, n := range opt.Bookmarks {
		g.byNode[n] = none
	}
	if _, err := store.Put(pack.Tree, nil); err != nil { // a changeset may be empty
		return nil, err
	}
	if err := g.pass(ctx, log, g.enter); err != nil {
		return nil, err
	}
	if err := g.show(); err != nil {
		return nil, err
	}
	if err := g.pass(ctx, log, g.commit); err != nil {
		return nil, err
	}
	g.findTwins()
	return g.finish()
}

func (g *grapher) pass(ctx context.Context, log *Log, do func(*Record) error) error {
	for r, err := range log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = do(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grapher goes through the log twice: what is shown is known only when all of it was seen.
type grapher struct {
	store      *pack.Store
	opt        GraphOptions
	changesets []changeset // by Number - 1
	branches   []namedBranch
	branchOf   map[string]int32
	byNode     map[revlog.Node]index // heads and bookmarks
	signer     signer
	dress      dresser
	attributed map[pack.ID]pack.ID // trees, with files of attributes
	large      []heldFile
	result     *Mapping
	buf        bytes.Buffer
}

// changeset is what is remembered of each: it is kept small.
type changeset struct {
	node    revlog.Node
	parents [2]index // none for no parent
	branch  int32
	owner   int32 // 1 + the place of the first ref that reaches it, 0 for none
	closes  bool
	shown   bool
	id      pack.ID // of the commit
}

// namedBranch is a branch as Mercurial has it: a name that each changeset carries.
type namedBranch struct {
	name  string
	heads []index // shown changesets without a shown descendant on the same branch, in order
}

// enter takes down a changeset's place in the graph.
func (g *grapher) enter(r *Record) error {
	number := int64(len(g.changesets) + 1)
	if r.Changeset == nil || r.Number != number {
		return fmt.Errorf("history: %w: the record of r%d stands where changeset %d is to be", ErrCorrupt, r.Number, number)
	}
	c := changeset{node: r.Changeset.Node, parents: [2]index{none, none}, closes: r.Changeset.extra("close") != nil}
	if len(r.Changeset.Parents) > len(c.parents) {
		return fmt.Errorf("history: %w: changeset %s has %d parents", ErrCorrupt, c.node, len(r.Changeset.Parents))
	}
	for i, p := range r.Changeset.Parents {
		if p < 1 || p >= number {
			return fmt.Errorf("history: %w: changeset %s stands before its parent", ErrCorrupt, c.node)
		}
		c.parents[i] = index(p - 1)
	}
	name := r.Changeset.branch()
	if _, known := g.branchOf[name]; !known {
		g.branchOf[name] = int32(len(g.branches))
		g.branches = append(g.branches, namedBranch{name: name})
	}
	c.branch = g.branchOf[name]
	if _, wanted := g.byNode[c.node]; wanted {
		g.byNode[c.node] = index(len(g.changesets))
	}
	g.changesets = append(g.changesets, c)
	return nil
}

func (c *Changeset) extra(name string) []byte {
	for _, e := range c.Extras {
		if e.Name == name {
			return e.Value
		}
	}
	return nil
}

// branch is the name of the branch that a changeset is on.
func (c *Changeset) branch() string {
	if name := c.extra("branch"); name != nil {
		return string(name)
	}
	return revlog.DefaultBranch
}

// commit writes the commit of a changeset.
func (g *grapher) commit(r *Record) error {
	i := index(r.Number - 1)
	c := &g.changesets[i]
	if c.shown {
		if err := g.write(r, c); err != nil {
			return fmt.Errorf("history: map changeset %s: %w", c.node, err)
		}
		for _, f := range r.Large {
			g.large = append(g.large, heldFile{f, i})
		}
	}
	if g.opt.Progress != nil {
		g.opt.Progress(r.Number)
	}
	return nil
}

func (g *grapher) write(r *Record, c *changeset) error {
	var parents []pack.ID
	for _, p := range c.parents {
		// Two parents may be one commit.
		if p != none && !slices.Contains(parents, g.changesets[p].id) {
			parents = append(parents, g.changesets[p].id)
		}
	}
	tree := r.Root.Tree
	if g.opt.Submodules {
		var err error
		if tree, err = g.withSubmodules(tree); err != nil {
			return err
		}
	}
	if g.opt.Attributes {
		var err error
		if tree, err = g.withAttributes(tree); err != nil {
			return err
		}
	}
	by := signature{g.signer.identity(r), gitSeconds(r.Time, 0), r.Changeset.Zone}
	id, err := g.store.Put(pack.Commit, encodeCommit(&g.buf, tree, parents, by, g.message(r)))
	if err != nil {
		return err
	}
	c.id = id
	g.count(r)
	if g.opt.Commit == nil {
		return nil
	}
	return g.opt.Commit(Commit{ID: id, Path: g.branches[c.branch].name, Revision: r.Number, Node: c.node})
}

// count takes down what a commit does not say as its changeset does.
func (g *grapher) count(r *Record) {
	m := g.result
	m.Changesets++
	if r.Time.Before(time.Unix(0, 0)) || gitZone(r.Changeset.Zone) != r.Changeset.Zone {
		m.Redated++
	}
	if !isGitText(r.Message) || !isGitText(r.Author) {
		m.Retold++
	}
	for _, e := range r.Changeset.Extras {
		if _, known := m.Extras[e.Name]; known || len(m.Extras) < MaxFindings {
			m.Extras[e.Name]++
		}
	}
}

// isGitText reports whether a text is in a commit as it is.
func isGitText(text []byte) bool { return utf8.Valid(text) && !bytes.ContainsAny(text, "\x00\r") }

// findTwins finds the changesets that are one commit with an earlier one.
func (g *grapher) findTwins() {
	order := make([]index, 0, len(g.changesets))
	for i := range g.changesets {
		if g.changesets[i].shown {
			order = append(order, index(i))
		}
	}
	slices.SortStableFunc(order, func(a, b index) int { return bytes.Compare(g.changesets[a].id[:], g.changesets[b].id[:]) })
	m := g.result
	for n, i := range order {
		if n == 0 || g.changesets[order[n-1]].id != g.changesets[i].id {
			m.Commits++
		} else if len(m.Twins) < MaxFindings {
			m.Twins = append(m.Twins, Twin{Commit: g.changesets[i].id, Node: g.changesets[i].node})
		}
	}
}
