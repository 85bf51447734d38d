package gantry_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers is the plan of the house: what packages of each layer may import of this module, besides the root package, which
// all may. A package belongs to the layer with the longest matching prefix. Test files may import what they like.
var layers = []struct {
	name     string
	packages []string
	imports  []string // names of layers
}{
	{"root", []string{"gantry"}, nil},
	{"command", []string{"gantry/cmd"}, []string{"server", "service", "engine", "foundation", "egress", "secret", "config"}},
	{"server", []string{"gantry/internal/server"}, []string{"edge", "service", "engine", "foundation", "egress", "secret", "config"}},
	{"edge", []string{"gantry/internal/api", "gantry/internal/githttp"}, []string{"service"}},
	{
		"service",
		[]string{"gantry/internal/accounts", "gantry/internal/auth", "gantry/internal/repos", "gantry/internal/imports"},
		[]string{"service", "engine", "foundation", "egress", "secret"},
	},
	{
		"engine",
		[]string{
			"gantry/internal/origin", "gantry/internal/history", "gantry/internal/convert", "gantry/internal/delta", "gantry/internal/pack", "gantry/internal/revlog", "gantry/internal/rows",
			"gantry/internal/gitdir", "gantry/internal/githelper", "gantry/internal/lfs", "gantry/internal/sshdial", "gantry/internal/lift",
		},
		[]string{"engine", "egress"},
	},
	{"foundation", []string{"gantry/internal/store", "gantry/internal/jobs"}, []string{"foundation"}},
	{"egress", []string{"gantry/internal/egress"}, nil},
	{"secret", []string{"gantry/internal/secret"}, nil},
	{"config", []string{"gantry/internal/config"}, nil},
	{
		"test help",
		[]string{"gantry/internal/gantrytest", "gantry/internal/store/storetest", "gantry/bench"},
		[]string{"test help", "server", "edge", "service", "engine", "foundation", "egress", "secret", "config"},
	},
}

// allowed are single edges that the table would refuse.
var allowed = []struct{ from, to, why string }{
	{"gantry/internal/githttp", "gantry/internal/gitdir", "serving Git over HTTP is running git with the request as its input"},
}

// forbidden are single edges within a layer or against it that the table alone would let through.
var forbidden = []struct{ from, to, why string }{
	{"gantry/internal/origin/svn", "gantry/internal/origin/git", "readers do not know each other"},
	{"gantry/internal/origin/git", "gantry/internal/origin/svn", "readers do not know each other"},
	{"gantry/internal/origin/hg", "gantry/internal/origin/svn", "readers do not know each other"},
	{"gantry/internal/origin/hg", "gantry/internal/origin/git", "readers do not know each other"},
	{"gantry/internal/revlog", "gantry/internal/pack", "Mercurial's texts know nothing of Git"},
	{"gantry/internal/pack", "gantry/internal/convert", "the pack is below the conversion"},
	{"gantry/internal/delta", "gantry/internal/pack", "deltas are below packs"},
	{"gantry/internal/store", "gantry/internal/jobs", "jobs are above the store"},
}

// Imports go one way, so that each part can be read, tested and replaced without those above it.
func TestImportDirections(t *testing.T) {
	for _, p := range modulePackages(t) {
		from := layerOf(p.ImportPath)
		if from < 0 {
			t.Errorf("%s is in no layer: add it to the table, or move it", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if !inModule(imported) || imported == "gantry" {
				continue
			}
			to := layerOf(imported)
			ok := to < 0 || slices.Contains(layers[from].imports, layers[to].name)
			for _, a := range allowed {
				ok = ok || within(p.ImportPath, a.from) && within(imported, a.to)
			}
			if !ok {
				t.Errorf("%s (%s) imports %s (%s)", p.ImportPath, layers[from].name, imported, layers[to].name)
			}
			for _, f := range forbidden {
				if within(p.ImportPath, f.from) && within(imported, f.to) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, f.why)
				}
			}
		}
	}
}

// The root package holds nouns and rules: it needs the standard library only.
func TestRootNeedsStandardLibraryOnly(t *testing.T) {
	for _, p := range modulePackages(t) {
		if p.ImportPath != "gantry" {
			continue
		}
		for _, imported := range p.Imports {
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") || inModule(imported) {
				t.Errorf("the root package imports %s", imported)
			}
		}
	}
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func modulePackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func inModule(path string) bool { return within(path, "gantry") }

func within(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// layerOf returns the index of a package's layer, -1 when it has none.
func layerOf(path string) int {
	best, length := -1, 0
	for i, layer := range layers {
		for _, prefix := range layer.packages {
			if prefix == "gantry" && path != prefix {
				continue // the root package stands for itself, not for all of the module
			}
			if within(path, prefix) && len(prefix) > length {
				best, length = i, len(prefix)
			}
		}
	}
	return best
}
