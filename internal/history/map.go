package history

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/pack"
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
}

// Map turns a raw log into commits, tags and refs, and writes the commits and tags into the store. It is a pure function
// of the log and the options.
//
// A branch is a path from the revision that made it until the one that deleted it: a life. A life that began as a copy
// continues the history of what was copied. A revision makes one commit on each branch whose tree it changed.
func Map(ctx context.Context, log *Log, store *pack.Store, opt MapOptions) (*Mapping, error) {
	survey, err := NewSurvey(ctx, log)
	if err != nil {
		return nil, err
	}
	m := &mapper{
		store: store, opt: opt, layout: survey.layout(opt.Root), merges: newMerges(), dress: newDresser(store, opt.Dress),
		alive: map[string]*life{}, further: map[index][]index{}, outside: copies{}, lives: map[string][]*life{}, identities: map[string]Identity{},
	}
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
	layout layout

	alive   map[string]*life   // by path
	lives   map[string][]*life // all of a path, in their order
	outside copies             // of directories outside of all branches
	commits []commit
	further map[index][]index // parents of commits after their first: what was merged
	merges  merges
	dress   dresser
	large   []heldFile

	root       Node  // of the last revision
	seconds    int64 // date of the last revision
	touched    []*life
	unmapped   int64
	identities map[string]Identity // by raw author
	buf        bytes.Buffer
}

// commit is a commit that was written.
type commit struct {
	id     pack.ID
	tree   pack.ID
	branch *life
	parent index // the first one; others are in mapper.further
	owner  int32 // 1 + the place of the first ref that reaches it, 0 for none
}

// index is a commit's place in mapper.commits.
type index int32

const none index = -1

// life is a branch from its creation to its deletion.
type life struct {
	path     string
	kind     kind
	from, to int64 // first and last revision; to is endless while it lives
	start    index // the commit that it began at, none for nothing
	copied   place // the branch root that it is a copy of
	own      []ownCommit
	node     Node
	merged   lineage

	by      signature // who made it; of tags
	message string
}

const endless = math.MaxInt64

type ownCommit struct {
	revision int64
	commit   index
}

// place is a branch as it was in a revision; without a branch it is nowhere.
type place struct {
	branch   *life
	revision int64
}

// at is the newest commit of the branch as of a revision.
func (b *life) at(revision int64) index {
	n := sort.Search(len(b.own), func(i int) bool { return b.own[i].revision > revision })
	if n == 0 {
		return b.start
	}
	return b.own[n-1].commit
}

func (b *life) tip() index { return b.at(endless) }

type heldFile struct {
	LargeFile
	commit index
}

func (m *mapper) revision(r *Record) error {
	m.seconds = gitSeconds(r.Time, m.seconds)
	m.touched = m.touched[:0]
	mapped := false
	for i := range r.Dirs {
		hit, err := m.directory(r, &r.Dirs[i])
		if err != nil {
			return fmt.Errorf("history: map r%d: %w", r.Number, err)
		}
		mapped = mapped || hit
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
		m.hold(f)
	}
	if !mapped && r.Root.Tree != m.root.Tree && len(r.Dirs) > 0 {
		m.unmapped++
	}
	m.root = r.Root
	if m.opt.Progress != nil {
		m.opt.Progress(r.Number)
	}
	return nil
}

// directory applies the change of a directory; hit tells whether it changed a branch.
func (m *mapper) directory(r *Record, c *DirChange) (hit bool, err error) {
	root, rest, kind, ok := m.layout.branchOf(c.Path)
	switch {
	case ok && rest != "":
		return true, nil // its branch is listed as well
	case ok:
		m.branch(r, c, root, kind)
		return true, nil
	case c.Action == origin.Modify:
		return false, nil
	}
	m.outside.add(r.Number, c)
	if !m.layout.above(c.Path) {
		return false, nil
	}
	for _, b := range m.below(c.Path) {
		m.end(b, r.Number)
		hit = true
	}
	if c.Copied {
		return true, m.arrive(r, c)
	}
	return hit, nil
}

func (m *mapper) branch(r *Record, c *DirChange, root string, kind kind) {
	b := m.alive[root]
	if b != nil && c.Action != origin.Modify {
		m.end(b, r.Number)
	}
	switch {
	case c.Action == origin.Delete:
		return
	case b == nil || c.Action != origin.Modify:
		b = m.begin(r, root, kind)
		if c.Copied {
			b.start, b.copied = m.source(c.CopyPath, c.CopyRev)
		}
	}
	b.node = c.Node
	if !slices.Contains(m.touched, b) {
		m.touched = append(m.touched, b)
	}
}

func (m *mapper) begin(r *Record, root string, kind kind) *life {
	b := &life{path: root, kind: kind, from: r.Number, to: endless, start: none}
	if kind == tag {
		b.by, b.message = m.signature(r), gitMessage(r.Message)
	}
	m.alive[root] = b
	m.lives[root] = append(m.lives[root], b)
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

// source finds the commit that a copy continues: the newest, as of a revision, of the branch that a path lies in. When
// the path is that branch's root, from is the branch.
func (m *mapper) source(p string, revision int64) (start index, from place) {
	root, rest, _, ok := m.layout.branchOf(p)
	if !ok {
		if p, revision, ok = m.outside.source(p, revision); !ok {
			return none, place{}
		}
		return m.source(p, revision)
	}
	if b := m.lifeAt(root, revision); b != nil {
		if rest == "" {
			from = place{b, revision}
		}
		return b.at(revision), from
	}
	return none, place{}
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
	roots, err := m.rootsBelow(r.Root, c.Path)
	if err != nil {
		return err
	}
	for _, root := range roots {
		listed := slices.ContainsFunc(r.Dirs, func(d DirChange) bool {
			return d.Path == root && (d.Action == origin.Add || d.Action == origin.Replace)
		})
		if listed {
			continue
		}
		e, err := Walk(m.store, r.Root, root)
		if err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		_, _, kind, _ := m.layout.branchOf(root)
		below, _ := cutDir(root, c.Path)
		m.branch(r, &DirChange{
			Path: root, Action: origin.Add, Node: e.Node(),
			Copied: true, CopyPath: path.Join(c.CopyPath, below), CopyRev: c.CopyRev,
		}, root, kind)
	}
	return nil
}

// rootsBelow lists where branch roots may be below a directory: some of them may not exist.
func (m *mapper) rootsBelow(tree Node, dir string) ([]string, error) {
	if !m.layout.standard {
		return []string{m.layout.root}, nil
	}
	var roots []string
	if trunkRoot := path.Join(m.layout.root, trunkDir); isBelow(trunkRoot, dir) {
		roots = append(roots, trunkRoot)
	}
	for _, name := range []string{branchesDir, tagsDir} {
		container := path.Join(m.layout.root, name)
		if !isBelow(container, dir) {
			continue
		}
		e, err := Walk(m.store, tree, container)
		if err != nil {
			return nil, err
		}
		names, err := subdirectories(m.store, e)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			roots = append(roots, container+"/"+name)
		}
	}
	return roots, nil
}

func isBelow(p, dir string) bool {
	_, ok := cutDir(p, dir)
	return ok
}

// commit writes the commit that a revision is on a branch, unless it changes and merges nothing there.
func (m *mapper) commit(r *Record, b *life) error {
	tip := b.tip()
	merge, err := m.merge(r, b)
	if err != nil {
		return err
	}
	tree, err := m.dressed(r, b)
	if err != nil {
		return err
	}
	if tip != none && m.commits[tip].tree == tree && len(merge.sources) == 0 && !m.opt.KeepEmpty {
		return m.picked(r, b, merge, pack.Zero)
	}
	var parents []pack.ID
	if tip != none {
		parents = append(parents, m.commits[tip].id)
	}
	for _, s := range merge.sources {
		parents = append(parents, m.commits[s.commit()].id)
	}
	id, err := m.store.Put(pack.Commit, encodeCommit(&m.buf, tree, parents, m.signature(r), m.message(r, b)))
	if err != nil {
		return err
	}
	b.own = append(b.own, ownCommit{r.Number, index(len(m.commits))})
	m.commits = append(m.commits, commit{id: id, tree: tree, branch: b, parent: tip})
	m.join(r, b, merge)
	if err := m.picked(r, b, merge, id); err != nil {
		return err
	}
	if m.opt.Commit == nil {
		return nil
	}
	return m.opt.Commit(Commit{ID: id, Path: b.path, Revision: r.Number})
}

func (m *mapper) signature(r *Record) signature {
	identity, ok := m.identities[string(r.Author)]
	if !ok {
		identity = m.opt.Identity(authorOf(r, m.opt.UUID)).Clean()
		m.identities[string(r.Author)] = identity
	}
	return signature{identity, m.seconds}
}

// hold notes which commit a large file came with.
func (m *mapper) hold(f LargeFile) {
	held := heldFile{LargeFile: f, commit: none}
	if root, rest, _, ok := m.layout.branchOf(f.Path); ok {
		if b := m.alive[root]; b != nil {
			held.Path, held.commit = rest, b.tip()
		}
	}
	m.large = append(m.large, held)
}

// inOrder sorts lives the way their refs are made: trunk, branches, tags, each by path.
func inOrder(a, b *life) int {
	if a.kind != b.kind {
		return int(a.kind) - int(b.kind)
	}
	return bytes.Compare([]byte(a.path), []byte(b.path))
}
