package history

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"gantry/internal/origin"
)

// Directories of the standard layout.
const (
	trunkDir    = "trunk"
	branchesDir = "branches"
	tagsDir     = "tags"
)

// kind is what a branch root becomes.
type kind uint8

const (
	trunk kind = iota // the default branch
	branch
	tag
)

// layout says which directories are branch roots.
type layout struct {
	root     string // of the project, below the root that was read
	standard bool   // trunk, branches and tags at root; else root itself is the one branch
}

// branchOf returns the branch root at or above a path, and the rest of the path below it.
func (l layout) branchOf(p string) (root, rest string, k kind, ok bool) {
	below, ok := cutDir(p, l.root)
	if !ok {
		return "", "", 0, false
	}
	if !l.standard {
		return l.root, below, trunk, true
	}
	first, rest, _ := strings.Cut(below, "/")
	switch first {
	case trunkDir:
		return path.Join(l.root, trunkDir), rest, trunk, true
	case branchesDir, tagsDir:
		name, rest, _ := strings.Cut(rest, "/")
		k = branch
		if first == tagsDir {
			k = tag
		}
		return path.Join(l.root, first, name), rest, k, name != ""
	}
	return "", "", 0, false
}

// above reports whether branch roots may lie below a path that is none itself.
func (l layout) above(p string) bool {
	if _, ok := cutDir(l.root, p); ok {
		return l.standard || p != l.root
	}
	below, ok := cutDir(p, l.root)
	return ok && l.standard && (below == branchesDir || below == tagsDir)
}

// cutDir returns the part of a path below a directory, "" for the directory itself.
func cutDir(p, dir string) (below string, ok bool) {
	switch {
	case dir == "":
		return p, true
	case p == dir:
		return "", true
	}
	return strings.CutPrefix(p, dir+"/")
}

// Survey is what a raw log says of the projects in it: directories that have a trunk.
type Survey struct {
	rootTrunk bool            // the root that was read had a trunk at some time
	seen      map[string]bool // directories that had a trunk at some time; true while they have
	siblings  map[string]bool // directories that had branches or tags at some time
}

// maxProjectDepth is how deep projects are looked for. Deeper ones are directories that happen to have that name.
const maxProjectDepth = 3

// NewSurvey reads a raw log.
func NewSurvey(ctx context.Context, log *Log) (*Survey, error) {
	s := &Survey{seen: map[string]bool{}, siblings: map[string]bool{}}
	for r, err := range log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		for i := range r.Dirs {
			s.add(&r.Dirs[i])
		}
	}
	return s, nil
}

func (s *Survey) add(c *DirChange) {
	if c.Action == origin.Delete || c.Action == origin.Replace {
		for project := range s.seen {
			if _, gone := cutDir(path.Join(project, trunkDir), c.Path); gone {
				s.seen[project] = false
			}
		}
	}
	if c.Action == origin.Delete {
		return
	}
	if c.Copied {
		s.copied(c)
	}
	project, name := split(c.Path)
	if !isProject(project) {
		return
	}
	switch name {
	case trunkDir:
		s.found(project)
	case branchesDir, tagsDir:
		s.siblings[project] = true
	}
}

// copied finds the projects that arrive within a copied directory.
func (s *Survey) copied(c *DirChange) {
	for _, project := range slices.Collect(maps.Keys(s.seen)) {
		below, ok := cutDir(project, c.CopyPath)
		if !ok {
			continue
		}
		if to := path.Join(c.Path, below); isProject(to) {
			s.found(to)
			s.siblings[to] = s.siblings[to] || s.siblings[project]
		}
	}
}

func (s *Survey) found(project string) {
	s.seen[project] = true
	s.rootTrunk = s.rootTrunk || project == ""
}

// isProject reports whether a directory may be one of several projects: not too deep, and not within another's layout.
func isProject(dir string) bool {
	parts := strings.Split(dir, "/")
	return len(parts) <= maxProjectDepth && !slices.ContainsFunc(parts, func(name string) bool {
		return name == trunkDir || name == branchesDir || name == tagsDir
	})
}

// Projects returns the paths of several projects, each with a trunk, below the root that was read; none when that is
// one project itself.
func (s *Survey) Projects() []string {
	projects := s.living()
	if s.rootTrunk || len(projects) < 2 {
		return nil
	}
	return projects
}

func (s *Survey) living() []string {
	var projects []string
	for project, lives := range s.seen {
		if lives {
			projects = append(projects, project)
		}
	}
	slices.Sort(projects)
	return projects
}

// layout chooses the layout of a project. A directory that never had a trunk is one branch, unless it holds exactly one
// project with a trunk and branches or tags.
func (s *Survey) layout(root string) layout {
	if _, ok := s.seen[root]; ok {
		return layout{root: root, standard: true}
	}
	if projects := s.living(); root == "" && len(projects) == 1 && s.siblings[projects[0]] {
		return layout{root: projects[0], standard: true}
	}
	return layout{root: root}
}

// split cuts the last name off a path.
func split(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p
	}
	return p[:i], p[i+1:]
}
