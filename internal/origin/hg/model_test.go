package hg

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"gantry/internal/delta"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// model is a sink that makes every text and checks it against its node.
type model struct {
	texts map[string]map[revlog.Node][]byte // by changelog (""), manifest ("/", "/dir/") or file
	order []string                          // what came, for comparison
	parts [3]int                            // how many changesets, manifests and files came
	stage int
	known bool // bases and parents may be missing
	heads origin.GraphHeads
}

func newModel() *model { return &model{texts: make(map[string]map[revlog.Node][]byte)} }

func (m *model) Changeset(r *revlog.Revision) error            { return m.add(0, "", r) }
func (m *model) Manifest(dir string, r *revlog.Revision) error { return m.add(1, "/"+dir, r) }
func (m *model) File(path string, r *revlog.Revision) error    { return m.add(2, path, r) }

func (m *model) add(stage int, name string, r *revlog.Revision) error {
	if stage < m.stage && stage > 0 {
		return fmt.Errorf("%s %s after files", name, r.Node)
	}
	m.stage = stage
	texts := m.texts[name]
	if texts == nil {
		texts = make(map[revlog.Node][]byte)
		m.texts[name] = texts
	}
	for _, n := range []revlog.Node{r.P1, r.P2, r.Base} {
		if _, known := texts[n]; !known && !n.IsNull() && !m.known {
			return fmt.Errorf("%s %s needs %s, which did not come before", name, r.Node, n)
		}
	}
	if _, known := m.texts[""][r.Link]; !known && stage > 0 {
		return fmt.Errorf("%s %s is of %s, which is no changeset", name, r.Node, r.Link)
	}
	text, err := delta.Patch(r.Patch).Apply(nil, texts[r.Base], delta.MaxText)
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, r.Node, err)
	}
	if sum := revlog.Sum(r.P1, r.P2, text); sum != r.Node && r.Flags&(revlog.Censored|revlog.External) == 0 {
		return fmt.Errorf("%s %s has a text of %s", name, r.Node, sum)
	}
	texts[r.Node] = text
	m.parts[stage]++
	m.order = append(m.order, fmt.Sprintf("%s %s %s %s %s %d", name, r.Node, r.P1, r.P2, r.Link, r.Flags))
	return nil
}

// told is all that came, in an order of its own.
func (m *model) told() []string { return slices.Sorted(slices.Values(m.order)) }

// pull reads all that a source has.
func pull(t testing.TB, s origin.GraphSource) *model {
	t.Helper()
	m := newModel()
	heads, err := s.Pull(t.Context(), nil, m)
	if err != nil {
		t.Fatal(err)
	}
	m.heads = heads
	return m
}

// entries are all entries of the manifest of a changeset, those of tree manifests below each other.
func (m *model) entries(t *testing.T, changeset revlog.Node) map[string]string {
	t.Helper()
	c, err := revlog.ParseChangeset(m.texts[""][changeset])
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	m.walk(t, "", c.Manifest, all)
	return all
}

func (m *model) walk(t *testing.T, dir string, manifest revlog.Node, all map[string]string) {
	t.Helper()
	text, known := m.texts["/"+dir][manifest]
	if !known && !manifest.IsNull() {
		t.Fatalf("manifest %q %s did not come", dir, manifest)
	}
	for e, err := range revlog.Entries(text) {
		if err != nil {
			t.Fatal(err)
		}
		path := dir + string(e.Path)
		if e.Flag == revlog.Tree {
			m.walk(t, path+"/", e.Node, all)
			continue
		}
		if _, known := m.texts[path][e.Node]; !known {
			t.Errorf("file %q %s did not come", path, e.Node)
		}
		all[path] = fmt.Sprintf("%s %q", e.Node, e.Flag)
	}
}

// changesets are those that came.
func (m *model) changesets() []string {
	var all []string
	for n := range maps.Keys(m.texts[""]) {
		all = append(all, n.String())
	}
	slices.Sort(all)
	return all
}
