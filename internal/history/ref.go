package history

import "gantry/internal/pack"

// Ref is a Git ref of the result.
type Ref struct {
	Name string
	ID   pack.ID
}

// Commit tells where a commit comes from.
type Commit struct {
	ID       pack.ID
	Path     string // of the branch at the origin
	Revision int64
}
