package convert

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "gantry/internal/gantrytest/svnfixture"
)

// Histories in which anything is merged into anything, judged by the definition itself: sets of ancestors, and for every
// commit of every other branch the question whether all that leads to it is in.
func TestRandomMerges(t *testing.T) {
	t.Parallel()
	var found int
	for seed := range uint64(25) {
		m := newMergeModel(seed)
		for range 150 {
			m.step()
		}
		var got []string
		for _, merge := range convertDump(t, m.history.Bytes()).result.Report.Merges {
			got = append(got, fmt.Sprintf("r%d %s < %s@%d", merge.Revision, merge.Path, merge.Source, merge.Upto))
		}
		if diff := cmp.Diff(m.merges, got); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
		found += len(got)
	}
	if found < 300 {
		t.Errorf("only %d merges were made", found)
	}
}

// mergeModel is a history in the making. A revision makes one commit at most, so that revisions stand for commits.
type mergeModel struct {
	*rand.Rand
	history *History
	lines   []*mergeLine
	of      map[int64]*mergeLine // by commit
	before  map[int64]int64      // first parent, 0 for none
	known   map[int64]revisions  // a commit and all its ancestors
	merges  []string
}

type revisions map[int64]bool

type mergeLine struct {
	path    string
	commits []int64
	tip     int64
	info    map[string]revisions
	dead    bool
}

func newMergeModel(seed uint64) *mergeModel {
	m := &mergeModel{
		Rand: rand.New(rand.NewPCG(seed, 3)), history: NewHistory(mapUUID),
		of: map[int64]*mergeLine{}, before: map[int64]int64{}, known: map[int64]revisions{},
	}
	m.history.Commit("a", "begin", Mkdir("trunk"), Mkdir("branches"), Put("trunk/1", ""))
	trunk := &mergeLine{path: "trunk", info: map[string]revisions{}}
	m.lines = append(m.lines, trunk)
	m.commit(trunk, 1, nil)
	return m
}

func (m *mergeModel) living() []*mergeLine {
	return slices.DeleteFunc(slices.Clone(m.lines), func(l *mergeLine) bool { return l.dead })
}

func (m *mergeModel) step() {
	living, next := m.living(), m.history.Head()+1
	line := living[m.IntN(len(living))]
	file := Put(fmt.Sprintf("%s/%d", line.path, next), "")
	switch dice := m.IntN(10); {
	case dice == 0 && line.path != "trunk":
		m.history.Commit("a", "delete", Delete(line.path))
		line.dead = true
	case dice < 2:
		path := fmt.Sprintf("branches/b%d", m.IntN(6))
		if slices.ContainsFunc(living, func(l *mergeLine) bool { return l.path == path }) {
			return
		}
		child := &mergeLine{path: path, tip: line.tip, info: maps.Clone(line.info)}
		nodes := []Node{CopyDir(line.path, next-1, path)}
		edited := m.IntN(2) == 0
		if edited {
			nodes = append(nodes, Put(fmt.Sprintf("%s/%d", path, next), ""))
		}
		m.history.Commit("a", "copy", nodes...)
		m.lines = append(m.lines, child)
		if edited {
			m.commit(child, next, nil)
		}
	case dice < 6:
		m.history.Commit("a", "edit", file)
		m.commit(line, next, nil)
	default:
		m.merge(line, next, file)
	}
}

// merge names revisions of another line: all that lead to one of its commits, or some.
func (m *mergeModel) merge(into *mergeLine, next int64, file Node) {
	from := m.lines[m.IntN(len(m.lines))]
	if from == into || len(from.commits) == 0 {
		return
	}
	info := maps.Clone(into.info)
	name := func(path string, number int64) {
		info[path] = maps.Clone(info[path])
		if info[path] == nil {
			info[path] = revisions{}
		}
		info[path][number] = true
	}
	upto := from.commits[m.IntN(len(from.commits))]
	sparse, transitive := m.IntN(3) == 0, m.IntN(2) == 0
	for c := upto; c != 0 && !m.known[into.tip][c]; c = m.before[c] {
		if !sparse || m.IntN(2) == 0 {
			name(m.of[c].path, c)
		}
	}
	if transitive {
		for path, named := range from.info {
			for c := range named {
				name(path, c)
			}
		}
	}
	before := mergeinfo(into.info)
	into.info = info
	value := mergeinfo(info)
	if value == before {
		return
	}
	nodes := []Node{TouchDir(into.path).With("svn:mergeinfo", value)}
	edited := m.IntN(3) > 0
	if edited {
		nodes = append(nodes, file)
	}
	m.history.Commit("a", "merge", nodes...)
	parents := m.complete(into)
	if edited || len(parents) > 0 {
		m.commit(into, next, parents)
	}
}

// complete is the newest commit of each other line that is all in, and was not before, unless another one brings it along.
func (m *mergeModel) complete(into *mergeLine) []int64 {
	isIn := func(c int64) bool {
		for ; c != 0 && !m.known[into.tip][c]; c = m.before[c] {
			if !into.info[m.of[c].path][c] {
				return false
			}
		}
		return true
	}
	var tips []int64
	for _, l := range m.lines {
		for _, c := range slices.Backward(l.commits) {
			if !m.known[into.tip][c] && isIn(c) {
				tips = append(tips, c)
				break
			}
		}
	}
	tips = slices.DeleteFunc(slices.Clone(tips), func(c int64) bool {
		return slices.ContainsFunc(tips, func(other int64) bool { return other != c && m.known[other][c] })
	})
	slices.SortFunc(tips, func(a, b int64) int {
		if order := strings.Compare(m.of[a].path, m.of[b].path); order != 0 {
			return order
		}
		return int(a - b)
	})
	return tips
}

func (m *mergeModel) commit(l *mergeLine, number int64, parents []int64) {
	all := revisions{number: true}
	for _, p := range append([]int64{l.tip}, parents...) {
		maps.Copy(all, m.known[p])
	}
	for _, p := range parents {
		m.merges = append(m.merges, fmt.Sprintf("r%d %s < %s@%d", number, l.path, m.of[p].path, p))
	}
	m.known[number], m.before[number], m.of[number] = all, l.tip, l
	l.tip, l.commits = number, append(l.commits, number)
}

// mergeinfo writes what is named in a way that Subversion reads.
func mergeinfo(info map[string]revisions) string {
	var lines []string
	for path, named := range info {
		var all []string
		for _, c := range slices.Sorted(maps.Keys(named)) {
			all = append(all, fmt.Sprint(c))
		}
		lines = append(lines, "/"+path+":"+strings.Join(all, ","))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
