package synth_test

import (
	"maps"
	"path"
	"strings"
	"testing"

	"gantry/bench/synth"
)

// model is the trees of all lines, kept in the simplest way; nil stands for a directory.
type model map[*synth.Line]map[string]*synth.File

// Every step of a history can be done: this is what a writer for any system relies on.
func TestStepsFitTogether(t *testing.T) {
	t.Parallel()
	var merges, picks, moves int
	now := model{}
	past := []model{{}} // by revision; trees are never changed in place
	number := 0
	for r := range synth.Revisions(synth.Params{Seed: 11, Revisions: 1200}) {
		if number++; r.Number != number {
			t.Fatalf("revision %d comes after %d", r.Number, number-1)
		}
		if len(r.Steps) == 0 {
			t.Errorf("r%d: nothing happens", number)
		}
		for _, step := range r.Steps {
			switch s := step.(type) {
			case synth.Fork:
				tree := map[string]*synth.File{}
				if s.From != nil {
					tree = past[s.At][s.From]
				}
				if tree == nil || now[s.Line] != nil {
					t.Fatalf("r%d: %s cannot begin", number, s.Line.Name)
				}
				now[s.Line] = tree
			case synth.Commit:
				now.apply(t, number, s.Line, s.Changes)
			case synth.Merge:
				merges++
				for _, c := range s.Changes {
					if c.Action == synth.Add && c.File != past[s.At][s.From][c.Path] {
						t.Errorf("r%d: %s is not what %s had in r%d", number, c.Path, s.From.Name, s.At)
					}
				}
				now.apply(t, number, s.Into, s.Changes)
			case synth.Pick:
				picks++
				now.apply(t, number, s.Into, s.Changes)
			case synth.Close:
				delete(now, s.Line)
			}
			if c, ok := step.(synth.Commit); ok && c.Changes[0].Action == synth.Move {
				moves++
			}
		}
		past = append(past, maps.Clone(now))
	}
	if number != 1200 || merges < 60 || picks == 0 || moves == 0 {
		t.Errorf("%d revisions with %d merges, %d picks and %d moves", number, merges, picks, moves)
	}
}

func (m model) apply(t *testing.T, number int, l *synth.Line, changes []synth.Change) {
	t.Helper()
	tree := maps.Clone(m[l])
	if tree == nil || len(changes) == 0 {
		t.Fatalf("r%d: nothing can be done on %s", number, l.Name)
	}
	need := func(p string, present bool) {
		if _, ok := tree[p]; ok != present {
			t.Fatalf("r%d: %s/%s is there: %t", number, l.Name, p, ok)
		}
	}
	needParent := func(p string) {
		if dir := path.Dir(p); dir != "." {
			if f, ok := tree[dir]; !ok || f != nil {
				t.Fatalf("r%d: %s/%s is no directory", number, l.Name, dir)
			}
		}
	}
	for _, c := range changes {
		switch c.Action {
		case synth.Add:
			need(c.Path, false)
			needParent(c.Path)
			tree[c.Path] = c.File
		case synth.Edit:
			need(c.Path, true)
			if tree[c.Path] != c.Was {
				t.Fatalf("r%d: %s/%s was something else", number, l.Name, c.Path)
			}
			if c.Was.Kind == c.File.Kind && c.Was.SameContent(c.File) {
				t.Errorf("r%d: %s/%s is edited to what it was", number, l.Name, c.Path)
			}
			tree[c.Path] = c.File
		case synth.Move:
			need(c.From, true)
			need(c.Path, false)
			needParent(c.Path)
			for p, f := range maps.Clone(tree) {
				if p == c.From || strings.HasPrefix(p, c.From+"/") {
					delete(tree, p)
					tree[c.Path+strings.TrimPrefix(p, c.From)] = f
				}
			}
		case synth.Remove:
			need(c.Path, true)
			maps.DeleteFunc(tree, func(p string, _ *synth.File) bool { return p == c.Path || strings.HasPrefix(p, c.Path+"/") })
		}
	}
	m[l] = tree
}
