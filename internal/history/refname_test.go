package history

import (
	"os/exec"
	"strings"
	"testing"
)

// Names are given out in order; each must be valid, free, and as near to what was asked for as that allows.
func TestRefNames(t *testing.T) {
	t.Parallel()
	names := newRefNames()
	for _, tt := range []struct{ prefix, name, want string }{
		{heads, "main", "refs/heads/main"},
		{heads, "main", "refs/heads/main-2"},
		{heads, "Main", "refs/heads/Main-3"},
		{tags, "main", "refs/tags/main"},
		{heads, "release/1.0", "refs/heads/release/1.0"},
		{heads, "release", "refs/heads/release-2"},
		{heads, "main/x", "refs/heads/main_x"},
		{heads, "HEAD", "refs/heads/HEAD-2"},
		{tags, "HEAD", "refs/tags/HEAD"},
		{heads, "0123456789012345678901234567890123456789", "refs/heads/0123456789012345678901234567890123456789-2"},
		{heads, "a b~c^d:e?f*g[h\\i", "refs/heads/a_b_c_d_e_f_g_h_i"},
		{heads, "a..b", "refs/heads/a__b"},
		{heads, "...", "refs/heads/___"},
		{heads, ".hidden", "refs/heads/_hidden"},
		{heads, "-rf", "refs/heads/_rf"},
		{heads, "x.lock", "refs/heads/x_lock"},
		{heads, "dot.", "refs/heads/dot_"},
		{heads, "@", "refs/heads/_@"},
		{heads, "x@{1}", "refs/heads/x@_1}"},
		{heads, "caf\xe9", "refs/heads/caf_"},
		{heads, "tab\tnewline\n", "refs/heads/tab_newline_"},
		{heads, "größe", "refs/heads/größe"},
		{heads, "%2Egit", "refs/heads/%2Egit"},
		{heads, strings.Repeat("é", 150), "refs/heads/" + strings.Repeat("é", 100)},
		{heads, "a" + strings.Repeat("é", 150), "refs/heads/a" + strings.Repeat("é", 99)},
		{heads, strings.Repeat("long/", 1000), "refs/heads/" + strings.Repeat("long/", 400) + "_"},
		{archived, "branches/x@7", "refs/archive/branches/x@7"},
	} {
		got := names.claim(tt.prefix, tt.name)
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
		if err := exec.Command("git", "check-ref-format", got).Run(); err != nil {
			t.Errorf("%q: git refuses %q", tt.name, got)
		}
	}
}
