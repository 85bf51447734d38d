package svndump

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mergeinfo is the value of svn:mergeinfo: which revisions of which paths are merged. It is never changed: adding makes
// a new one.
type mergeinfo map[string][]span

type span struct{ first, last int }

// with returns m and further revisions of path.
func (m mergeinfo) with(path string, more ...span) mergeinfo {
	n := maps.Clone(m)
	if n == nil {
		n = mergeinfo{}
	}
	n[path] = union(m[path], more)
	return n
}

// union joins sets of revisions; neighbours become one span.
func union(a, b []span) []span {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y span) int { return x.first - y.first })
	joined := all[:1]
	for _, s := range all[1:] {
		if end := &joined[len(joined)-1]; s.first <= end.last+1 {
			end.last = max(end.last, s.last)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

func (m mergeinfo) String() string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(m)) {
		var spans []string
		for _, s := range m[path] {
			if s.first == s.last {
				spans = append(spans, fmt.Sprint(s.first))
			} else {
				spans = append(spans, fmt.Sprintf("%d-%d", s.first, s.last))
			}
		}
		lines = append(lines, "/"+path+":"+strings.Join(spans, ","))
	}
	return strings.Join(lines, "\n")
}
