package history

import (
	"context"
	"path"
	"slices"
	"strings"

	"gantry/internal/origin"
	"gantry/internal/pack"
)

// Survey is what a raw log says of where branches are: the directories that are called as trunks and their companions
// usually are, and all copies of directories.
type Survey struct {
	store  *pack.Store
	parts  map[string]*part // by path
	order  []*part          // as they appeared
	copies []dirCopy
	edited map[string]bool // directories that were copies, and changed afterwards
}

// part is a directory that has the name of a part of a layout.
type part struct {
	path    string
	project string // the directory it is in
	kind    kind
	either  bool // by its name it may hold branches or tags
	lives   bool

	filled bool   // it had files at some time
	moved  int64  // of a trunk: the revision that filled it with what was in its origin; 0 when none did
	origin string // the directory that the files were in before
}

// dirCopy is a copied directory.
type dirCopy struct {
	revision int64
	from     string
	fromRev  int64
	to       string
	root     Node // of the revision
}

// maxProjectDepth is how deep projects are looked for. Deeper ones are directories that happen to have that name.
const maxProjectDepth = 3

// partNames are the names of the parts of a layout, in lower case.
var partNames = map[string]part{
	"trunk":    {kind: trunk},
	"branches": {kind: branch}, "branch": {kind: branch},
	"tags": {kind: tag}, "tag": {kind: tag},
	"releases": {kind: tag, either: true}, "release": {kind: tag, either: true},
}

// NewSurvey reads a raw log.
func NewSurvey(ctx context.Context, log *Log, store *pack.Store) (*Survey, error) {
	s := newSurvey(store)
	for r, err := range log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.add(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newSurvey(store *pack.Store) *Survey {
	return &Survey{store: store, parts: map[string]*part{}, edited: map[string]bool{}}
}

func (s *Survey) add(r *Record) error {
	for i := range r.Dirs {
		s.directory(r, &r.Dirs[i])
	}
	for i := range r.Dirs {
		c := &r.Dirs[i]
		if p := s.parts[c.Path]; p != nil && p.kind == trunk && !p.filled && c.Node.Tree != pack.EmptyTree && c.Action != origin.Delete {
			p.filled = true
			if err := s.filled(r, c, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Survey) directory(r *Record, c *DirChange) {
	if c.Action == origin.Modify {
		if _, ok := s.edited[c.Path]; ok {
			s.edited[c.Path] = true
		}
		return
	}
	if c.Action != origin.Add {
		for _, p := range s.order {
			p.lives = p.lives && !isBelow(p.path, c.Path)
		}
	}
	if c.Action == origin.Delete {
		return
	}
	if c.Copied {
		s.copies = append(s.copies, dirCopy{r.Number, c.CopyPath, c.CopyRev, c.Path, r.Root})
		if !s.edited[c.Path] {
			s.edited[c.Path] = false
		}
		for _, p := range s.order {
			if below, ok := cutDir(p.path, c.CopyPath); ok && below != "" {
				s.found(path.Join(c.Path, below))
			}
		}
	}
	s.found(c.Path)
}

// found enters a directory if it may be a part of a layout: it has the name of one, is not too deep, and not within
// another part.
func (s *Survey) found(dir string) {
	project, name := split(dir)
	p, ok := partNames[strings.ToLower(name)]
	if !ok || strings.Count(project, "/") >= maxProjectDepth {
		return
	}
	for name := range strings.SplitSeq(project, "/") {
		if _, ok := partNames[strings.ToLower(name)]; ok {
			return
		}
	}
	if known := s.parts[dir]; known != nil {
		known.lives = true
		return
	}
	p.path, p.project, p.lives = dir, project, true
	s.parts[dir] = &p
	s.order = append(s.order, &p)
}

// filled finds out whether the first files of a trunk were those of a directory above it: then the layout was made there
// and then.
func (s *Survey) filled(r *Record, c *DirChange, p *part) error {
	if c.Copied {
		if isBelow(p.project, c.CopyPath) {
			p.moved, p.origin = r.Number, c.CopyPath
		}
		return nil
	}
	from := map[string]int{}
	count := func(to, source string) {
		if dir, _ := split(to); dir == c.Path && source != "" {
			if dir, _ := split(source); isBelow(p.project, dir) {
				from[dir]++
			}
		}
	}
	for i := range r.Dirs {
		if r.Dirs[i].Copied {
			count(r.Dirs[i].Path, r.Dirs[i].CopyPath)
		}
	}
	for _, f := range r.Copies {
		count(f.Path, f.From)
	}
	if len(from) == 0 {
		return nil
	}
	tree, err := Load(s.store, c.Node.Tree)
	if err != nil {
		return err
	}
	entries := 0
	for _, err := range pack.TreeEntries(tree) {
		if err != nil {
			return err
		}
		entries++
	}
	for dir, n := range from {
		if 2*n > entries {
			p.moved, p.origin = r.Number, dir
		}
	}
	return nil
}

// Projects returns the paths of several projects, each with a trunk, below the root that was read; none when that is
// one project itself.
func (s *Survey) Projects() []string {
	if projects := s.living(""); len(projects) > 1 && projects[0] != "" {
		return projects
	}
	return nil
}

// living returns the projects at or below a directory that have a trunk, sorted.
func (s *Survey) living(dir string) []string {
	var projects []string
	for _, p := range s.order {
		if p.kind == trunk && p.lives && isBelow(p.project, dir) {
			projects = append(projects, p.project)
		}
	}
	slices.Sort(projects)
	return slices.Compact(projects)
}
