package svndump

import "testing"

func TestMergeinfo(t *testing.T) {
	t.Parallel()
	var m mergeinfo
	m = m.with("branches/b", span{5, 7})
	older := m
	m = m.with("branches/b", span{8, 9}, span{20, 20}, span{6, 6}).with("branches/a", span{3, 3}).with("trunk", span{1, 4}, span{2, 3})
	if got, want := m.String(), "/branches/a:3\n/branches/b:5-9,20\n/trunk:1-4"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := older.String(), "/branches/b:5-7"; got != want {
		t.Errorf("an older value has changed to %s, it was %s", got, want)
	}
}
