package convert

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// listsAtOnce is how many directories are asked for together.
const listsAtOnce = 512

// alwaysListed is how deep directories are listed even when another one had the same content: those of branches are.
const alwaysListed = 3

// verifier compares the newest tree with what the origin shows of it.
type verifier struct {
	store    *pack.Store
	seen     map[history.Node]bool
	compared int64
	hidden   []string
}

// place is a directory where it was first met.
type place struct {
	path string
	node history.Node
}

// verify compares the newest revision, entry by entry: their kinds and the sizes of files, in the upper directories and
// in every one below that differs from those compared before. What the origin shows and never told of was hidden when it came, by rules that go
// by path, and has been copied since; it is listed.
func (c *Conversion) verify(ctx context.Context, src origin.Lister) error {
	v := &verifier{store: c.store, seen: map[history.Node]bool{}}
	next := []place{{"", c.applier.rootAt(c.state.Head)}}
	for len(next) > 0 {
		now := next[:min(len(next), listsAtOnce)]
		next = slices.Clone(next[len(now):])
		dirs := make([]string, len(now))
		for i, p := range now {
			dirs[i] = p.path
		}
		lists, err := src.List(ctx, c.state.Head, dirs)
		if err != nil {
			return err
		}
		for i, p := range now {
			below, err := v.compare(p, lists[i])
			if err != nil {
				return fmt.Errorf("r%d: %w", c.state.Head, err)
			}
			next = append(next, below...)
		}
	}
	c.state.Compared = v.compared
	c.listHidden(v.hidden)
	return nil
}

// compare compares one directory and returns those in it that are still to be compared.
func (v *verifier) compare(p place, list []origin.Entry) ([]place, error) {
	if list == nil {
		v.hide(p.path)
		return nil, nil
	}
	have, err := history.Children(v.store, p.node)
	if err != nil {
		return nil, err
	}
	var below []place
	for _, e := range list {
		name := path.Join(p.path, e.Name)
		mine, ok := have[e.Name]
		delete(have, e.Name)
		if !ok {
			v.hide(name)
			continue
		}
		v.compared++
		if mine.IsDir() != e.Dir {
			return nil, corrupt("%q is of another kind than the origin shows", name)
		}
		if e.Dir {
			node := mine.Node()
			if again := v.seen[node]; !again || strings.Count(name, "/") < alwaysListed {
				v.seen[node] = true
				below = append(below, place{name, node})
			}
			continue
		}
		size, err := v.size(mine)
		if err != nil {
			return nil, err
		}
		if e.Size >= 0 && e.Size != size {
			return nil, corrupt("%q has %d bytes, and the origin shows %d", name, size, e.Size)
		}
	}
	for name := range have {
		return nil, corrupt("%q was read, and the origin does not show it", path.Join(p.path, name))
	}
	return below, nil
}

// size is that of a file at the origin, which writes a symbolic link with words before its target.
func (v *verifier) size(e history.Entry) (int64, error) {
	_, size, err := v.store.Stat(e.ID)
	if e.Mode == pack.ModeLink {
		size += int64(len(linkPrefix))
	}
	return size, err
}

func (v *verifier) hide(name string) {
	if len(v.hidden) < maxHidden {
		v.hidden = append(v.hidden, name)
	}
}
