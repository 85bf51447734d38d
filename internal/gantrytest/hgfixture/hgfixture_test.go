package hgfixture

import (
	"strings"
	"testing"
)

// hg finds nothing wrong with what was written down as data, and has all of it.
func TestStandard(t *testing.T) {
	t.Parallel()
	r := NewStandard(t)
	r.Run(t, "verify", "-q")
	h := Standard()
	nodes := strings.Fields(r.Run(t, "log", "-r", "all()", "-T", "{node}\n"))
	if len(nodes) != h.Changesets() {
		t.Fatalf("hg has %d changesets, want %d", len(nodes), h.Changesets())
	}
	for i, node := range nodes {
		if node != h.Node(i+1) {
			t.Fatalf("changeset %d is %s, want %s", i+1, node, h.Node(i+1))
		}
	}
}
