package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gantry/internal/origin"
)

const mergeUUID = "0f1e2d3c-0000-4000-8000-000000000001"

func TestReadMergeinfo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, prop, value string
		path              string
		whole, shallow    string
		malformed         int64
	}{
		{"one", propMergeinfo, "/trunk:3", "trunk", "3", "", 0},
		{"spans", propMergeinfo, "/branches/a:1\n/trunk:7,3-5,6\n", "trunk", "3-7", "", 0},
		{"not for what is below", propMergeinfo, "/trunk:3,5-7*,9*", "trunk", "3", "5-7,9", 0},
		{"spaces", propMergeinfo, " /trunk: 3 , 5 - 7 \r\n\n", "trunk", "3,5-7", "", 0},
		{"colons and commas in a path", propMergeinfo, "/a:b,c:3-4", "a:b,c", "3-4", "", 0},
		{"spaces in a path", propMergeinfo, "/a b/c d:3", "a b/c d", "3", "", 0},
		{"the same path twice", propMergeinfo, "/trunk:3\n/a:1\n/trunk:4", "trunk", "3-4", "", 0},
		{"without a slash", propMergeinfo, "trunk:3", "trunk", "3", "", 0},
		{"the root", propMergeinfo, "/:3-4", "", "3-4", "", 0},
		{"backwards", propMergeinfo, "/trunk:7-3,9", "trunk", "9", "", 1},
		{"revision zero", propMergeinfo, "/trunk:0-2", "trunk", "0-2", "", 0},
		{"no revisions", propMergeinfo, "/trunk:", "trunk", "", "", 0},
		{"no number", propMergeinfo, "/trunk:HEAD,4,-5,6-", "trunk", "4", "", 3},
		{"beyond all numbers", propMergeinfo, "/trunk:1-9223372036854775807,2-99999999999999999999,3", "trunk", "3", "", 2},
		{"no colon", propMergeinfo, "what is this?\n/trunk:3", "trunk", "3", "", 1},
		{"svnmerge", propIntegrated, "/branches/a:1-3 /trunk:1-90,95", "trunk", "1-90,95", "", 0},
		{"svnmerge blocked", propBlocked, "/trunk:7", "trunk", "7", "", 0},
		{"svnmerge escapes", propIntegrated, "/branches/a%20b:5", "branches/a b", "5", "", 0},
		{"svnmerge with a repository", propIntegrated, "uuid://" + mergeUUID + "/trunk:5", "trunk", "5", "", 0},
		{"svnmerge with another", propIntegrated, "uuid://other/trunk:5 http://example.org/trunk:6", "trunk", "", "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			info := readMergeinfo([]origin.Prop{{Name: "svn:ignore", Value: []byte("/trunk:99")}, {Name: tt.prop, Value: []byte(tt.value)}}, mergeUUID)
			if got := info.of(tt.path).String(); got != tt.whole {
				t.Errorf("merged is %s, want %s", got, tt.whole)
			}
			added, malformed := info.since(nil)
			var all revisions
			for _, a := range added {
				if a.path == tt.path {
					all = a.revisions
				}
			}
			whole, _, _ := parseRevisions(tt.whole)
			shallow, _, _ := parseRevisions(tt.shallow)
			if want := whole.union(shallow); all.String() != want.String() || malformed != tt.malformed {
				t.Errorf("added is %s with %d parts malformed, want %s with %d", all, malformed, want, tt.malformed)
			}
		})
	}
}

// Values that follow each other differ in little, and only that is told.
func TestMergeinfoSince(t *testing.T) {
	t.Parallel()
	read := func(value string) mergeinfo {
		return readMergeinfo([]origin.Prop{{Name: propMergeinfo, Value: []byte(value)}}, "")
	}
	older := read("/b:1-5,9*\n/c:3\n/d:7\n/e:broken")
	newer := read("/a:2\n/b:1-3,5-6,9\n/d:7\n/e:broken,4")
	added, malformed := newer.since(older)
	var got []string
	for _, a := range added {
		got = append(got, a.path+":"+a.revisions.String())
	}
	if want := []string{"a:2", "b:6", "e:4"}; !slices.Equal(got, want) || malformed != 1 {
		t.Errorf("added is %q with %d malformed, want %q", got, malformed, want)
	}
}

// Sets of revisions agree with sets made in the simplest way.
func TestRevisions(t *testing.T) {
	t.Parallel()
	const limit = 40
	random := rand.New(rand.NewPCG(1, 2))
	set := func() (revisions, [limit]bool) {
		var rs revisions
		var all [limit]bool
		for range random.IntN(8) {
			first := random.IntN(limit)
			last := min(limit-1, first+random.IntN(6))
			rs = append(rs, span{int64(first), int64(last)})
			for i := first; i <= last; i++ {
				all[i] = true
			}
		}
		return rs.normal(), all
	}
	for range 2000 {
		a, inA := set()
		b, inB := set()
		union, minus := a.union(b), a.minus(b)
		first := int64(random.IntN(limit))
		s := span{first, min(limit-1, first+int64(random.IntN(5)))}
		meets := false
		for i := range int64(limit) {
			if union.has(i) != (inA[i] || inB[i]) || minus.has(i) != (inA[i] && !inB[i]) {
				t.Fatalf("%s and %s: union is %s, difference %s", a, b, union, minus)
			}
			meets = meets || inA[i] && s.first <= i && i <= s.last
		}
		if a.meets(s) != meets {
			t.Fatalf("%s meets %v: %v", a, s, !meets)
		}
		if again, _, _ := parseRevisions(minus.String()); !slices.Equal(again, minus) {
			t.Fatalf("%s is read as %s", minus, again)
		}
	}
}

// Nothing that a repository holds makes reading fail, or answer with what is no set.
func FuzzMergeinfo(f *testing.F) {
	f.Add("/trunk:1-3,5*\n/branches/a:7", "/trunk:1-3")
	f.Add("/a:b:3 , 4\r\nnonsense\n/a:9-2", "uuid://x/trunk:5 /b:1")
	f.Add("/t:4611686018427387903,0-4611686018427387902", "/t:1-1,1-1\n/t:2*")
	f.Fuzz(func(t *testing.T, older, newer string) {
		var infos [2]mergeinfo
		for i, value := range []string{older, newer} {
			infos[i] = readMergeinfo([]origin.Prop{{Name: propMergeinfo, Value: []byte(value)}, {Name: propIntegrated, Value: []byte(value)}}, mergeUUID)
			if !slices.IsSortedFunc(infos[i], func(a, b mergedPath) int { return strings.Compare(a.path, b.path) }) {
				t.Fatalf("%q is not in order", infos[i])
			}
		}
		added, _ := infos[1].since(infos[0])
		for _, a := range added {
			last := int64(-2)
			for _, s := range a.revisions {
				if s.first <= last+1 || s.last < s.first {
					t.Fatalf("%s is no set", fmt.Sprint(a.revisions))
				}
				last = s.last
			}
			if left := a.revisions.minus(infos[0].of(a.path)); left.String() != a.revisions.String() {
				t.Fatalf("%s of %s were there before", a.revisions, a.path)
			}
		}
		if again, _ := infos[1].since(infos[1]); len(again) > 0 {
			t.Fatalf("a value has more than itself: %v", again)
		}
	})
}
