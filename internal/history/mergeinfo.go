package history

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gantry/internal/origin"
)

// Properties that say what was merged. The grammar of the first is told in Subversion's svn_mergeinfo.h; the others are
// those of svnmerge.py, the script that people used before.
const (
	propMergeinfo  = "svn:mergeinfo"
	propIntegrated = "svnmerge-integrated"
	propBlocked    = "svnmerge-blocked"
)

// mergeinfo says which revisions of which paths were merged into a directory or file: sorted by path, one entry for each.
// It is never changed.
type mergeinfo []mergedPath

type mergedPath struct {
	path      string // in the repository, without slashes at its ends
	revisions string // as they are written
}

// readMergeinfo collects what the properties of a directory or file in a repository say. What svnmerge.py was told never
// to merge counts as merged, as Subversion records it itself. A line that makes no sense stands for revisions that make
// none.
func readMergeinfo(props []origin.Prop, uuid string) mergeinfo {
	var info mergeinfo
	for _, p := range props {
		switch p.Name {
		case propMergeinfo:
			for line := range strings.SplitSeq(string(p.Value), "\n") {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				at := max(strings.LastIndexByte(line, ':'), 0)
				info = append(info, mergedPath{strings.Trim(line[:at], "/"), strings.TrimPrefix(line[at:], ":")})
			}
		case propIntegrated, propBlocked:
			for word := range strings.FieldsSeq(string(p.Value)) {
				info = append(info, readIntegrated(word, uuid))
			}
		}
	}
	return info.normal()
}

// readIntegrated reads PATH:REVISIONS, where the path is that of a URL and may begin with the repository's UUID.
func readIntegrated(word, uuid string) mergedPath {
	at := max(strings.LastIndexByte(word, ':'), 0)
	path, err := url.PathUnescape(strings.TrimPrefix(word[:at], "uuid://"+uuid+"/"))
	if err != nil || strings.Contains(path, "://") {
		return mergedPath{revisions: word}
	}
	return mergedPath{strings.Trim(path, "/"), strings.TrimPrefix(word[at:], ":")}
}

// normal sorts entries, and joins those of the same path.
func (info mergeinfo) normal() mergeinfo {
	byPath := func(a, b mergedPath) int { return cmp.Compare(a.path, b.path) }
	if !slices.IsSortedFunc(info, byPath) {
		slices.SortStableFunc(info, byPath)
	}
	joined := info[:0]
	for len(info) > 0 {
		entry, same := info[0], 1
		for same < len(info) && info[same].path == entry.path {
			same++
		}
		if same > 1 {
			var all strings.Builder
			for _, one := range info[:same] {
				all.WriteString(one.revisions + ",")
			}
			entry.revisions = all.String()
		}
		joined, info = append(joined, entry), info[same:]
	}
	return joined
}

// of returns the revisions of a path, those that were merged with all below it.
func (info mergeinfo) of(path string) revisions {
	at := sort.Search(len(info), func(i int) bool { return info[i].path >= path })
	if at == len(info) || info[at].path != path {
		return nil
	}
	whole, _, _ := parseRevisions(info[at].revisions)
	return whole
}

// addition is what one state of mergeinfo has of a path and another has not.
type addition struct {
	path      string
	revisions revisions // also those that were merged without what is below
}

// since returns what info has and older has not, and how many revisions it cannot read.
func (info mergeinfo) since(older mergeinfo) (added []addition, malformed int64) {
	for _, entry := range info {
		for len(older) > 0 && older[0].path < entry.path {
			older = older[1:]
		}
		var before mergedPath
		if len(older) > 0 && older[0].path == entry.path {
			before = older[0]
		}
		if entry.revisions == before.revisions {
			continue
		}
		whole, shallow, bad := parseRevisions(entry.revisions)
		wholeBefore, shallowBefore, _ := parseRevisions(before.revisions)
		malformed += bad
		if more := whole.union(shallow).minus(wholeBefore.union(shallowBefore)); len(more) > 0 {
			added = append(added, addition{strings.Clone(entry.path), more}) // it may be kept: the whole value shall not be
		}
	}
	return added, malformed
}

// undone are the revisions that were merged and are named no more, by path. It is never changed.
type undone map[string]revisions

// after returns what is undone when some revisions are named no more and others are named.
func (u undone) after(removed, added []addition) undone {
	if len(removed) == 0 && !slices.ContainsFunc(added, func(a addition) bool { return len(u[a.path]) > 0 }) {
		return u
	}
	now := maps.Clone(u)
	if now == nil {
		now = undone{}
	}
	for _, a := range removed {
		now[a.path] = now[a.path].union(a.revisions)
	}
	for _, a := range added {
		if left := now[a.path].minus(a.revisions); len(left) > 0 {
			now[a.path] = left
		} else {
			delete(now, a.path)
		}
	}
	return now
}

// revisions is a set of revisions: spans in their order, which neither overlap nor touch.
type revisions []span

type span struct{ first, last int64 }

// parseRevisions reads spans like "3,5-7,9*". Those with an asterisk were merged into a directory without what is below
// it: they are shallow. Anything else, as a span that runs backwards, is left out and counted.
func parseRevisions(text string) (whole, shallow revisions, malformed int64) {
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		word, isShallow := strings.CutSuffix(word, "*")
		first, last, isSpan := strings.Cut(word, "-")
		if !isSpan {
			last = first
		}
		s := span{parseRevision(first), parseRevision(last)}
		if s.first < 0 || s.last < s.first {
			malformed++
			continue
		}
		if isShallow {
			shallow = append(shallow, s)
		} else {
			whole = append(whole, s)
		}
	}
	return whole.normal(), shallow.normal(), malformed
}

// parseRevision returns -1 for what is no revision. Those beyond any repository's are none, so that sums cannot overflow.
func parseRevision(word string) int64 {
	n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 62)
	if err != nil {
		return -1
	}
	return int64(n)
}

func (rs revisions) normal() revisions {
	inOrder := func(a, b span) int { return cmp.Compare(a.first, b.first) }
	if !slices.IsSortedFunc(rs, inOrder) {
		slices.SortFunc(rs, inOrder)
	}
	joined := rs[:0]
	for _, s := range rs {
		if last := len(joined) - 1; last >= 0 && s.first-1 <= joined[last].last {
			joined[last].last = max(joined[last].last, s.last)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

func (rs revisions) union(more revisions) revisions {
	if len(more) == 0 {
		return rs
	}
	return slices.Concat(rs, more).normal()
}

// minus returns the revisions that are not in others.
func (rs revisions) minus(others revisions) revisions {
	var left revisions
next:
	for _, s := range rs {
		for len(others) > 0 && others[0].last < s.first {
			others = others[1:]
		}
		for _, o := range others {
			if o.first > s.last {
				break
			}
			if o.first > s.first {
				left = append(left, span{s.first, o.first - 1})
			}
			if o.last >= s.last {
				continue next
			}
			s.first = o.last + 1
		}
		left = append(left, s)
	}
	return left
}

// meets reports whether a revision of a span is in the set.
func (rs revisions) meets(s span) bool {
	at := sort.Search(len(rs), func(i int) bool { return rs[i].last >= s.first })
	return at < len(rs) && rs[at].first <= s.last
}

func (rs revisions) has(revision int64) bool { return rs.meets(span{revision, revision}) }

// String is the way that Subversion writes revisions.
func (rs revisions) String() string {
	var text []byte
	for i, s := range rs {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, s.first, 10)
		if s.last > s.first {
			text = strconv.AppendInt(append(text, '-'), s.last, 10)
		}
	}
	return string(text)
}
