package history

import (
	"strings"
	"testing"
)

func TestParseExternal(t *testing.T) {
	t.Parallel()
	const dir = "project/trunk/sub"
	for _, tt := range []struct {
		line string
		ok   bool
		want definition
		from string // "-" for none
	}{
		{"^/lib/trunk lib", true, definition{"^/lib/trunk", "lib", -1, -1}, "lib/trunk"},
		{"^/lib/trunk@7 lib", true, definition{"^/lib/trunk", "lib", 7, 7}, "lib/trunk"},
		{"-r 5 ^/lib/trunk@7 lib", true, definition{"^/lib/trunk", "lib", 5, 7}, "lib/trunk"},
		{"-r5 ^/lib/trunk lib", true, definition{"^/lib/trunk", "lib", 5, -1}, "lib/trunk"},
		{"-rHEAD ^/lib/trunk lib", true, definition{"^/lib/trunk", "lib", -1, -1}, "lib/trunk"},
		{"../../lib lib", true, definition{"../../lib", "lib", -1, -1}, "project/lib"},
		{"../../../../lib lib", true, definition{"../../../../lib", "lib", -1, -1}, "-"},
		{"^/../other/trunk lib", true, definition{"^/../other/trunk", "lib", -1, -1}, "-"},
		{"^/a\\ b 'c d'", true, definition{"^/a b", "c d", -1, -1}, "a b"},
		{`"^/a b/" "c\"d"`, true, definition{"^/a b/", `c"d`, -1, -1}, "a b"},
		{"lib http://example.org/lib@x", true, definition{"http://example.org/lib@x", "lib", -1, -1}, "-"},
		{"lib -r 9 http://example.org/lib", true, definition{"http://example.org/lib", "lib", 9, -1}, "-"},
		{"http://example.org/lib@4 lib", true, definition{"http://example.org/lib", "lib", 4, 4}, "-"},
		{"/svn/lib lib", true, definition{"/svn/lib", "lib", -1, -1}, "-"},
		{"^/lib@x lib", false, definition{}, ""},
		{"-r ^/lib lib", false, definition{}, ""},
		{"^/lib", false, definition{}, ""},
		{"^/lib one two", false, definition{}, ""},
		{"^/lib 'open", false, definition{}, ""},
	} {
		got, ok := parseExternal(tt.line)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v, %v", tt.line, got, ok)
			continue
		}
		if from, isPath := got.pathFrom(dir); ok && (isPath != (tt.from != "-") || isPath && from != tt.from) {
			t.Errorf("%s is %q, %v", tt.line, from, isPath)
		}
	}
}

// Nothing that a property holds leads out of the tree, or makes reading fail.
func FuzzExternal(f *testing.F) {
	f.Add("-r 5 ^/lib@7 'a b'", "trunk")
	f.Add("lib http://example.org/x", "")
	f.Add(`../..\ /x "..`, "a/b")
	f.Fuzz(func(t *testing.T, line, dir string) {
		d, ok := parseExternal(line)
		if !ok {
			return
		}
		if d.revision < -1 || d.peg < -1 {
			t.Errorf("%q has revision %d and peg %d", line, d.revision, d.peg)
		}
		if p, ok := d.pathFrom(strings.Trim(dir, "/")); ok && (strings.HasPrefix(p, "../") || p == ".." || strings.HasPrefix(p, "/")) {
			t.Errorf("%q in %q is %q", line, dir, p)
		}
		if isModulePath(d.target) && (strings.Contains("/"+d.target+"/", "/../") || strings.HasPrefix(d.target, "/")) {
			t.Errorf("%q is a place for a submodule", d.target)
		}
	})
}
