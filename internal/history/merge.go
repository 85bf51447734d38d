package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"

	"gantry/internal/origin"
	"gantry/internal/pack"
)

// MaxFindings is how many merges, and how many cherry-picks, a mapping lists: a hostile history has no end of them.
const MaxFindings = 10000

// MaxPicked is how many bytes of revisions a mapping lists in cherry-picks, but for the last one.
const MaxPicked = 8 << 20

// merges finds out which commits are merges. Merging is recorded revision by revision in mergeinfo; in Git a merge is a
// parent, and says that all of it is in. So a source becomes a parent when every commit that it has and the target has
// not, as far back as both have the same, is named by the mergeinfo of the target's root.
type merges struct {
	infos     infoCache
	malformed int64
	found     []Merge
	picks     []CherryPick
	picked    int // bytes of revisions in picks
}

func newMerges() merges {
	return merges{infos: infoCache{known: map[pack.ID]mergeinfo{}}}
}

// lineage is what a branch knows of its merges.
type lineage struct {
	node    Node                // as it was last looked at
	states  []infoState         // of its root, in the order of their revisions
	joins   []join              // in the order of the commits
	sources map[*life][]counted // what joins came from
	undone  undone              // as of now
}

// infoState is the mergeinfo of a branch from a revision on.
type infoState struct {
	revision int64
	props    pack.ID // the blob of its root's kept properties
	pending  []*life // sources of which some revisions are named, and not all are in
}

// join says that from the branch's n-th own commit on the first upto own commits of a source are among its ancestors.
// Those of joins that follow from others are listed as well.
type join struct {
	n int
	source
}

// source is the first upto own commits of a branch.
type source struct {
	branch *life
	upto   int
}

func (s source) commit() index { return s.branch.own[s.upto-1] }

type counted struct{ n, upto int }

// beginning is what a branch began as.
func (m *mapper) beginning(b *life) source {
	if b.start == none {
		return source{}
	}
	from := m.all[m.commits.at(b.start).branch]
	return source{from, sort.Search(len(from.own), func(i int) bool { return from.own[i] > b.start })}
}

// has tells how many own commits of another branch are among the first n of b and their ancestors.
func (m *mapper) has(b *life, n int, other *life) int {
	for b != nil {
		if b == other {
			return n
		}
		counts := b.merged.sources[other]
		if i := sort.Search(len(counts), func(i int) bool { return counts[i].n > n }); i > 0 {
			return counts[i-1].upto
		}
		from := m.beginning(b)
		b, n = from.branch, from.upto
	}
	return 0
}

// learn makes sources, and all that they have, ancestors of b's newest commit.
func (m *mapper) learn(b *life, sources []source) {
	n := len(b.own)
	todo := slices.Clone(sources)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		had := m.has(b, n, s.branch)
		if s.upto <= had {
			continue
		}
		if b.merged.sources == nil {
			b.merged.sources = map[*life][]counted{}
		}
		b.merged.sources[s.branch] = append(b.merged.sources[s.branch], counted{n, s.upto})
		b.merged.joins = append(b.merged.joins, join{n, s})
		if from := m.beginning(s.branch); had == 0 && from.branch != nil {
			todo = append(todo, from)
		}
		joins := s.branch.merged.joins
		for i := sort.Search(len(joins), func(i int) bool { return joins[i].n > had }); i < len(joins) && joins[i].n <= s.upto; i++ {
			todo = append(todo, joins[i].source)
		}
	}
}

// merging is what a revision merged into a branch.
type merging struct {
	info    mergeinfo  // of the branch's root
	added   []addition // to info
	sources []source   // that are complete, in the order of their paths; none is an ancestor of another
	before  Node       // the branch; zero when it has just begun
}

// merge finds out what a revision merged into a branch. What it begins with is not merged by it, except into the copy of
// a branch root that did not have it.
func (m *mapper) merge(r *Record, b *life) (merging, error) {
	merge := merging{before: b.merged.node}
	if b.merged.node = b.node; merge.before.Side == b.node.Side && len(b.merged.states) > 0 {
		return merging{}, nil // as in most revisions
	}
	props, err := ownProps(m.store, b.node)
	if err != nil {
		return merging{}, err
	}
	before, known := b.merged.state(r.Number - 1)
	if !known && b.copied.branch != nil {
		before, known = b.copied.branch.merged.state(b.copied.revision)
		b.merged.undone = b.copied.branch.merged.undone
	}
	now := infoState{r.Number, props, before.pending}
	if known {
		if merge.info, err = m.mergeinfo(props); err != nil {
			return merging{}, err
		}
	}
	if known && before.props != props {
		older, err := m.mergeinfo(before.props)
		if err != nil {
			return merging{}, err
		}
		var malformed int64
		merge.added, malformed = merge.info.since(older)
		m.merges.malformed += malformed
		removed, _ := older.since(merge.info)
		b.merged.undone = b.merged.undone.after(removed, merge.added)
		if b.tip() != none {
			if merge.sources, now.pending = m.complete(r, b, merge, before.pending); slices.Equal(now.pending, before.pending) {
				now.pending = before.pending // there may be thousands of them, and of states
			}
		}
	}
	if len(b.merged.states) == 0 || before.props != props {
		b.merged.states = append(b.merged.states, now)
	}
	return merge, nil
}

// state returns the mergeinfo as of a revision.
func (l *lineage) state(revision int64) (state infoState, known bool) {
	i := sort.Search(len(l.states), func(i int) bool { return l.states[i].revision > revision })
	if i == 0 {
		return infoState{}, false
	}
	return l.states[i-1], true
}

// complete returns the sources of which all is in now and was not before, and those that are still pending.
func (m *mapper) complete(r *Record, b *life, merge merging, candidates []*life) (sources []source, pending []*life) {
	candidates = slices.Clone(candidates)
	known := map[*life]bool{}
	for _, other := range candidates {
		known[other] = true
	}
	for _, a := range merge.added {
		for _, other := range m.named(a) {
			if !known[other] {
				known[other] = true
				candidates = append(candidates, other)
			}
		}
	}
	for _, other := range candidates {
		had := m.has(b, len(b.own), other)
		s, all := m.reached(r, b, other, merge.info)
		if s.upto > had && m.isUndone(b, other, had) {
			all = false
		} else if s.upto > had {
			sources = append(sources, s)
		}
		if !all {
			pending = append(pending, other)
		}
	}
	slices.SortFunc(sources, func(s, t source) int {
		return cmp.Or(cmp.Compare(s.branch.path, t.branch.path), cmp.Compare(s.branch.from, t.branch.from))
	})
	return slices.DeleteFunc(slices.Clone(sources), func(s source) bool {
		return slices.ContainsFunc(sources, func(t source) bool { return t.branch != s.branch && m.has(t.branch, t.upto, s.branch) >= s.upto })
	}), pending
}

// named returns the branches whose root is the path of an addition, in one of its revisions.
func (m *mapper) named(a addition) []*life {
	p, ok := cutDir(a.path, m.opt.Base)
	if !ok {
		return nil
	}
	lives := m.lives[p]
	return slices.DeleteFunc(slices.Clone(lives), func(b *life) bool { return !a.revisions.meets(span{b.from, b.to}) })
}

// reached tells how much of a branch is in b, when what info names is: its commits up to the first that is neither named
// nor an ancestor, and none when something that it was copied from is missing. All says that no commit is named after that.
func (m *mapper) reached(r *Record, b, other *life, info mergeinfo) (s source, all bool) {
	revisions := m.revisionsOf(info, other)
	isNamed := func(c index) bool {
		revision := m.commits.at(c).revision
		return revision < r.Number && revisions.has(revision)
	}
	upto := m.has(b, len(b.own), other)
	if upto > 0 || m.beginsIn(b, other, info) {
		for i := upto; i < len(other.own) && (isNamed(other.own[i]) || m.isEmpty(other.own[i])); i++ {
			if isNamed(other.own[i]) {
				upto = i + 1
			}
		}
	}
	return source{other, upto}, !slices.ContainsFunc(other.own[upto:], isNamed)
}

// isUndone reports whether something among the first commits of another branch was merged into b and taken back. In Git it is an ancestor
// for ever, but what comes after it is no merge before it is merged again.
func (m *mapper) isUndone(b, other *life, upto int) bool {
	revisions := b.merged.undone[path.Join(m.opt.Base, other.path)]
	return len(revisions) > 0 && slices.ContainsFunc(other.own[:upto], func(c index) bool { return revisions.has(m.commits.at(c).revision) })
}

// beginsIn reports whether all that a branch was copied from is in b, when what info names is.
func (m *mapper) beginsIn(b, other *life, info mergeinfo) bool {
	for {
		from := m.beginning(other)
		if from.branch == nil {
			return true
		}
		had := m.has(b, len(b.own), from.branch)
		if had < from.upto {
			revisions := m.revisionsOf(info, from.branch)
			for _, c := range from.branch.own[had:from.upto] {
				if !revisions.has(m.commits.at(c).revision) && !m.isEmpty(c) {
					return false
				}
			}
		}
		if had > 0 {
			return true
		}
		other = from.branch
	}
}

// isEmpty reports whether a commit changes nothing, so that nobody needs to merge it.
func (m *mapper) isEmpty(c index) bool { return m.commits.at(c).same && len(m.further[c]) == 0 }

// revisionsOf returns the revisions of a branch that are named.
func (m *mapper) revisionsOf(info mergeinfo, b *life) revisions {
	return info.of(path.Join(m.opt.Base, b.path))
}

// join records that b's newest commit is a merge.
func (m *mapper) join(r *Record, b *life, merge merging) error {
	newest := b.tip()
	for _, s := range merge.sources {
		m.further[newest] = append(m.further[newest], s.commit())
		if len(m.merges.found) == MaxFindings {
			continue
		}
		commit, err := m.commits.id(newest)
		if err != nil {
			return err
		}
		parent, err := m.commits.id(s.commit())
		if err != nil {
			return err
		}
		m.merges.found = append(m.merges.found, Merge{
			Commit: commit, Path: b.path, Revision: r.Number,
			Parent: parent, Source: s.branch.path, Upto: m.commits.at(s.commit()).revision,
		})
	}
	m.learn(b, merge.sources)
	return nil
}

// infoCache keeps what was read of late: a value is needed again when the next one comes.
type infoCache struct {
	known map[pack.ID]mergeinfo // by the blob of the properties
	size  int                   // bytes of those blobs
}

const infoCacheSize = 8 << 20

// mergeinfo reads the mergeinfo in kept properties.
func (m *mapper) mergeinfo(props pack.ID) (mergeinfo, error) {
	cache := &m.merges.infos
	if info, ok := cache.known[props]; ok || props.IsZero() {
		return info, nil
	}
	kept, size, err := loadProps(m.store, props)
	if err != nil {
		return nil, err
	}
	if cache.size += size; cache.size > infoCacheSize {
		clear(cache.known)
		cache.size = size
	}
	info := readMergeinfo(kept, m.opt.UUID)
	cache.known[props] = info
	return info, nil
}

// ownProps returns the blob of a directory's own kept properties, Zero for none.
func ownProps(store *pack.Store, dir Node) (pack.ID, error) {
	side, err := Load(store, dir.Side)
	if err != nil {
		return pack.Zero, err
	}
	return FindOwn(side)
}

// loadProps reads kept properties, none from Zero, and tells how many bytes they take.
func loadProps(store *pack.Store, id pack.ID) (props []origin.Prop, size int, err error) {
	if id.IsZero() {
		return nil, 0, nil
	}
	_, data, err := store.Get(id)
	if err != nil {
		return nil, 0, fmt.Errorf("history: kept properties: %w", err)
	}
	props, err = DecodeProps(data)
	return props, len(data), err
}
