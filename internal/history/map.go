package history

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// MapOptions say how a raw log becomes commits.
type MapOptions struct {
	UUID          string                // of the repository, the domain of its authors
	Identity      func(Author) Identity // what commits of an author carry
	Base          string                // path of the root that was read, in the repository
	Root          string                // of the project, below the root that was read
	DefaultBranch string                // name of trunk's branch
	Layout        *Rules                // nil: found out
	KeepEmpty     bool                  // a revision that changes nothing in a branch's tree makes a commit, too
	Dress         gantry.Dressing       // what is added to trees and messages
	Commit        func(Commit) error    // told of every commit in their order; nil for none
	Progress      func(revision int64)  // told of every revision; nil for none
}

// Commit tells where a commit comes from.
type Commit struct {
	ID       pack.ID
	Path     string // of the branch at the origin
	Revision int64
	Node     revlog.Node // of a changeset
}

// Ref is a Git ref of the result.
type Ref struct {
	Name string
	ID   pack.ID
}

// Tip is what a ref leads to.
type Tip struct {
	Ref    string
	Commit pack.ID
	Tree   pack.ID // of the commit
	Node   Node    // the branch at the origin, as it was last
}

// HeldFile is a large file that the result holds, or holds no more when Ref is empty.
type HeldFile struct {
	LargeFile        // with its path in the commit
	Ref       string // one that reaches it
}

// Mapping is what a raw log became.
type Mapping struct {
	Refs     []Ref // sorted by name
	Tips     []Tip // in the same order
	Head     string
	Commits  int64
	Branches int64
	Tags     int64
	Archived int64
	Unmapped int64 // revisions that changed files outside of all branches only
	Renames  []Rename
	Large    []HeldFile

	Layout      string       // what was decided, in the language of ParseRules
	Merges      []Merge      // in the order of their commits, at most MaxFindings
	CherryPicks []CherryPick // in the order of their commits, at most MaxFindings
	Malformed   int64        // parts of svn:mergeinfo that make no sense
	Externals   []External   // those that are no submodules, in the order of the revisions, at most MaxFindings
	Sources     []Source     // in the order of the revisions
	Outside     []Outside    // in the order of the paths

	// Of a graph of changesets.
	Changesets      int64            // that are shown
	Twins           []Twin           // at most MaxFindings
	Redated         int64            // changesets whose date, or its zone, Git cannot hold
	Retold          int64            // changesets whose user or message Git cannot hold as it is
	Extras          map[string]int64 // how many changesets have which
	Subrepositories []Subrepository  // of the branches, at most MaxFindings
}

// Map turns a raw log into commits, tags and refs, and writes the commits and tags into the store. It is a pure function
// of the log and the options.
//
// A branch is a path from the revision that made it until the one that deleted it: a life. A life that began as a copy
// continues the history of what was copied. A revision makes one commit on each branch whose tree it changed.
func Map(ctx context.Context, log *Log, store *pack.Store, opt MapOptions) (*Mapping, error) {
	rules := opt.Layout
	if rules == nil {
		survey, err := NewSurvey(ctx, log, store)
		if err != nil {
			return nil, err
		}
		if rules, err = survey.Detect(opt.Root); err != nil {
			return nil, err
		}
	}
	m := &mapper{
		store: store, opt: opt, layout: newLayout(rules, opt.Root), merges: newMerges(), dress: newDresser(store, opt.Dress),
		alive: map[string]*life{}, lives: map[string][]*life{}, fresh: map[*life]*fresh{}, looseDirs: map[string]bool{}, outside: Copies{},
		commits: newCommits(log.dir), further: map[index][]index{}, signer: newSigner(opt.UUID, opt.Identity), root: EmptyNode,
	}
	defer m.commits.ids.Close()
	if _, err := store.Put(pack.Tree, nil); err != nil { // a branch may be empty
		return nil, err
	}
	for r, err := range log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = m.revision(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return m.finish()
}

type mapper struct {
	store  *pack.Store
	opt    MapOptions
	layout *layout
	era    int // of the layout, that the last revision was in

	alive   map[string]*life   // by path
	lives   map[string][]*life // all of a path, in their order
	all     []*life            // in the order of their beginnings
	outside Copies             // of directories that are in no branch
	commits commits
	further map[index][]index // parents of commits after their first: what was merged
	merges  merges
	dress   dresser
	large   []heldFile

	root      Node  // of the last revision
	seconds   int64 // date of the last revision
	touched   []*life
	fresh     map[*life]*fresh // those of touched that the revision begins
	mapped    bool             // the revision changed a branch
	unmapped  int64
	stirred   bool            // files above all branches may have changed
	looseDirs map[string]bool // where such files were
	chosen    []Source
	signer    signer
	buf       bytes.Buffer
}

// life is a branch from its creation to its deletion.
type life struct {
	number   int32 // its place in mapper.all
	path     string
	kind     kind
	rule     int   // that made it, noRule for none
	outside  bool  // no rule made it
	from, to int64 // first and last revision; to is endless while it lives
	start    index // the commit that it began at, none for nothing
	copied   place // the branch root that it is a copy of
	own      []index
	node     Node
	merged   lineage

	by      signature // who made it; of tags
	message string
}

const endless = math.MaxInt64

// place is a branch as it was in a revision; without a branch it is nowhere.
type place struct {
	branch   *life
	revision int64
}

// at is the newest commit of a branch as of a revision.
func (m *mapper) at(b *life, revision int64) index {
	n := sort.Search(len(b.own), func(i int) bool { return m.commits.at(b.own[i]).revision > revision })
	if n == 0 {
		return b.start
	}
	return b.own[n-1]
}

// within returns the own commits of a branch in a span of revisions, from the n-th on.
func (m *mapper) within(b *life, n int, s span) []index {
	from := sort.Search(len(b.own), func(i int) bool { return m.commits.at(b.own[i]).revision >= s.first })
	to := sort.Search(len(b.own), func(i int) bool { return m.commits.at(b.own[i]).revision > s.last })
	return b.own[min(max(n, from), to):to]
}

// tip is the newest commit of the branch.
func (b *life) tip() index {
	if len(b.own) == 0 {
		return b.start
	}
	return b.own[len(b.own)-1]
}

// shown is the path, or what stands for it.
func (b *life) shown() string {
	if b.path == loose {
		return LoosePath
	}
	return b.path
}

type heldFile struct {
	LargeFile
	commit index
}

func (m *mapper) revision(r *Record) error {
	m.seconds = gitSeconds(r.Time, m.seconds)
	m.touched, m.mapped = m.touched[:0], false
	if err := m.branches(r); err != nil {
		return fmt.Errorf("history: map r%d: %w", r.Number, err)
	}
	for _, b := range m.touched {
		if b.to < r.Number { // ended by the revision that began it
			continue
		}
		if err := m.commit(r, b); err != nil {
			return fmt.Errorf("history: map r%d: %w", r.Number, err)
		}
	}
	for _, f := range r.Large {
		m.hold(f, r.Number)
	}
	if !m.mapped && r.Root.Tree != m.root.Tree && len(r.Dirs) > 0 {
		m.unmapped++
	}
	m.root = r.Root
	if m.opt.Progress != nil {
		m.opt.Progress(r.Number)
	}
	return nil
}

// branches finds out which branches a revision begins, changes and ends.
func (m *mapper) branches(r *Record) error {
	if err := m.turn(r); err != nil {
		return err
	}
	for i := range r.Dirs {
		if err := m.directory(r, &r.Dirs[i]); err != nil {
			return err
		}
	}
	if m.opt.KeepEmpty {
		for _, dir := range r.Unchanged {
			if at := m.layout.at(dir, r.Number); at.in && m.alive[at.root] != nil {
				m.touch(m.alive[at.root])
			}
		}
	}
	if err := m.looseFiles(r); err != nil {
		return err
	}
	return m.settle(r)
}

// directory applies the change of a directory.
func (m *mapper) directory(r *Record, c *DirChange) error {
	at := m.layout.at(c.Path, r.Number)
	m.mapped = m.mapped || at.in
	m.stirred = m.stirred || at.root == loose && (c.Action != origin.Modify || !c.SameFiles)
	switch {
	case at.in && at.rest != "":
		return nil // its branch is listed as well
	case at.in:
		m.branch(r, c, at)
		return nil
	case c.Action == origin.Modify:
		return nil
	}
	m.outside.add(r.Number, c)
	if !at.above {
		return nil
	}
	for _, b := range m.below(c.Path) {
		m.end(b, r.Number)
		m.mapped = true
	}
	if c.Copied {
		m.mapped = true
		return m.arrive(r, c)
	}
	return nil
}

func (m *mapper) branch(r *Record, c *DirChange, at location) {
	b := m.alive[at.root]
	if b != nil && c.Action != origin.Modify {
		m.end(b, r.Number)
	}
	switch {
	case c.Action == origin.Delete:
		return
	case b == nil || c.Action != origin.Modify:
		b = m.begin(r, at)
		if c.Copied {
			from := m.source(c.CopyPath, c.CopyRev, false)
			b.copied = from.whole
			m.comeFrom(b, from)
		}
	}
	b.node = c.Node
	m.touch(b)
}

func (m *mapper) touch(b *life) {
	if !slices.Contains(m.touched, b) {
		m.touched = append(m.touched, b)
	}
}

func (m *mapper) begin(r *Record, at location) *life {
	b := &life{number: int32(len(m.all)), path: at.root, kind: at.kind, rule: at.rule, outside: at.outside, from: r.Number, to: endless, start: none}
	if b.kind == tag {
		b.by, b.message = m.signature(r), gitMessage(r.Message)
	}
	m.all = append(m.all, b)
	m.alive[b.path] = b
	m.lives[b.path] = append(m.lives[b.path], b)
	m.fresh[b] = &fresh{known: map[index]int{}}
	return b
}

func (m *mapper) end(b *life, revision int64) {
	b.to = revision - 1
	delete(m.alive, b.path)
}

// below returns the living branches below a path, in order.
func (m *mapper) below(dir string) []*life {
	var found []*life
	for root, b := range m.alive {
		if _, ok := cutDir(root, dir); ok {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, inOrder)
	return found
}

// lifeAt returns the life that a branch root had in a revision, nil for none.
func (m *mapper) lifeAt(root string, revision int64) *life {
	for _, b := range slices.Backward(m.lives[root]) {
		if b.from <= revision && revision <= b.to {
			return b
		}
	}
	return nil
}

// arrive begins the branches that came within the copy of a directory above them. Those that the revision itself puts
// there are listed on their own.
func (m *mapper) arrive(r *Record, c *DirChange) error {
	roots, err := m.rootsBelow(r.Root, c.Path, r.Number)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for i := range r.Dirs {
		if d := &r.Dirs[i]; d.Action != origin.Modify {
			listed[d.Path] = true
		}
	}
	for _, root := range roots {
		if listed[root] {
			continue
		}
		below, _ := cutDir(root, c.Path)
		if err := m.appear(r, r.Root, root, path.Join(c.CopyPath, below), c.CopyRev); err != nil {
			return err
		}
	}
	return nil
}

// appear begins a branch that a copy brought.
func (m *mapper) appear(r *Record, tree Node, root, from string, fromRev int64) error {
	e, err := Walk(m.store, tree, root)
	if err != nil || !e.IsDir() {
		return err
	}
	m.mapped = true
	c := DirChange{Path: root, Action: origin.Add, Node: e.Node(), Copied: true, CopyPath: from, CopyRev: fromRev}
	m.branch(r, &c, m.layout.at(root, r.Number))
	return nil
}

// commit writes the commit that a revision is on a branch, unless it changes and merges nothing there.
func (m *mapper) commit(r *Record, b *life) error {
	tip := b.tip()
	if tip == none && b.outside && b.node.Tree == pack.EmptyTree {
		return nil // only the name of a directory speaks for an empty branch
	}
	merge, err := m.merge(r, b)
	if err != nil {
		return err
	}
	tree, err := m.dressed(r, b)
	if err != nil {
		return err
	}
	keep := m.opt.KeepEmpty && (b.kind != tag || b.from < r.Number)
	at := link{revision: r.Number, parent: tip, branch: b.number}
	var parents []pack.ID
	if tip != none {
		before, err := m.commits.made(tip)
		if err != nil {
			return err
		}
		if at.same = before.tree == tree; at.same && len(merge.sources) == 0 && !keep {
			return m.picked(r, b, merge, pack.Zero)
		}
		parents = append(parents, before.id)
	}
	for _, s := range merge.sources {
		id, err := m.commits.id(s.commit())
		if err != nil {
			return err
		}
		parents = append(parents, id)
	}
	id, err := m.store.Put(pack.Commit, encodeCommit(&m.buf, tree, parents, m.signature(r), m.message(r, b)))
	if err != nil {
		return err
	}
	i, err := m.commits.add(at, made{id, tree})
	if err != nil {
		return err
	}
	b.own = append(b.own, i)
	if err := m.join(r, b, merge); err != nil {
		return err
	}
	if err := m.picked(r, b, merge, id); err != nil {
		return err
	}
	if m.opt.Commit == nil {
		return nil
	}
	return m.opt.Commit(Commit{ID: id, Path: b.shown(), Revision: r.Number})
}

func (m *mapper) signature(r *Record) signature {
	return signature{Identity: m.signer.identity(r), seconds: m.seconds}
}

// hold notes which commit a large file came with.
func (m *mapper) hold(f LargeFile, revision int64) {
	held := heldFile{LargeFile: f, commit: none}
	at := m.layout.fileAt(f.Path, revision)
	if b := m.alive[at.root]; b != nil && (at.in || at.root == loose) {
		held.Path, held.commit = at.rest, b.tip()
	}
	m.large = append(m.large, held)
}

// inOrder sorts lives the way their refs are made: trunk, branches, tags, what lies outside, each by path.
func inOrder(a, b *life) int {
	outside := func(b *life) int {
		switch {
		case b.path == loose:
			return 2
		case b.outside:
			return 1
		}
		return 0
	}
	return cmp.Or(outside(a)-outside(b), int(a.kind)-int(b.kind), cmp.Compare(a.path, b.path))
}
