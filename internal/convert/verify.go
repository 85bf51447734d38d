package convert

import (
	"context"
	"fmt"
	"path"
	"slices"

	"gantry/internal/history"
	"gantry/internal/origin"
	"gantry/internal/pack"
)

// How many directories are asked for together, and how many entries these may have.
const (
	listsAtOnce   = 4096
	entriesAtOnce = 1 << 16
)

// verifier compares the newest tree with what the origin shows of it.
type verifier struct {
	origin   origin.Lister
	applier  *applier
	head     int64
	seen     map[version]bool
	compared int64
}

// version is a directory's content, and since when the origin has it.
type version struct {
	node    history.Node
	changed int64
}

// place is a directory where it was first met.
type place struct {
	path string
	node history.Node
	have map[string]history.Entry // what is in it, when its turn has come
}

// verify compares the newest revision, entry by entry: their kinds and the sizes of files. A directory is passed over when
// another one with the same content was compared, and the origin says that both were last changed in the same revision: it
// is in both places by copies. A branch is a change, so that the root of each is compared. What the origin shows and never
// told of was hidden when it came, or lost.
func (c *Conversion) verify(ctx context.Context, src origin.Lister) error {
	v := &verifier{origin: src, applier: c.applier, head: c.state.Head, seen: map[version]bool{}}
	next := []place{{node: c.applier.roots.newest}}
	for len(next) > 0 {
		var dirs []origin.Directory
		for entries := 0; len(dirs) < min(len(next), listsAtOnce) && entries < entriesAtOnce; {
			p := &next[len(dirs)]
			dir, err := v.directory(p)
			if err != nil {
				return err
			}
			dirs = append(dirs, dir)
			entries += len(p.have)
		}
		now := next[:len(dirs)]
		next = slices.Clone(next[len(dirs):])
		lists, err := src.List(ctx, c.state.Head, dirs)
		if err != nil {
			return err
		}
		for i, p := range now {
			below, err := v.compare(ctx, p, lists[i])
			if err != nil {
				return fmt.Errorf("r%d: %w", c.state.Head, err)
			}
			next = append(next, below...)
		}
	}
	c.state.Agreed, c.state.Compared = c.state.Head, v.compared
	return nil
}

// directory looks up what is in a directory. When it was last changed matters for directories only.
func (v *verifier) directory(p *place) (d origin.Directory, err error) {
	d.Path = p.path
	p.have, err = history.Children(v.applier.store, p.node)
	for _, e := range p.have {
		d.Changes = d.Changes || e.IsDir()
	}
	return d, err
}

// compare compares one directory and returns those in it that are still to be compared.
func (v *verifier) compare(ctx context.Context, p place, list []origin.Entry) ([]place, error) {
	if list == nil { // it was shown once
		v.applier.hidden.found[p.path] = source{}
		return nil, nil
	}
	var below []place
	for _, e := range list {
		name := path.Join(p.path, e.Name)
		mine, ok := p.have[e.Name]
		delete(p.have, e.Name)
		if !ok {
			if hid, err := v.applier.hid(name, v.head); err != nil {
				return nil, err
			} else if !hid {
				return nil, v.lost(ctx, p.path, e.Name)
			}
			continue
		}
		v.compared++
		if mine.IsDir() != e.Dir {
			return nil, corrupt("%q is of another kind than the origin shows", name)
		}
		if e.Dir {
			this := version{mine.Node(), e.Changed}
			if !v.seen[this] || e.Changed < 0 {
				v.seen[this] = true
				below = append(below, place{path: name, node: this.node})
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
	for name := range p.have {
		name = path.Join(p.path, name)
		if sight, err := v.applier.hidden.see(name, v.head); err != nil {
			return nil, err
		} else if sight != origin.Refused {
			return nil, corrupt("%q was read, and the origin does not show it", name)
		}
		v.applier.hidden.found[name] = source{}
	}
	return below, nil
}

// lost is the error about an entry of a directory that was never told.
func (v *verifier) lost(ctx context.Context, dir, name string) error {
	lists, err := v.origin.List(ctx, v.head, []origin.Directory{{Path: dir, Changes: true}})
	if err != nil {
		return err
	}
	for _, e := range lists[0] {
		if e.Name == name {
			return corrupt("%q was last changed in r%d at the origin, and was never told", path.Join(dir, name), e.Changed)
		}
	}
	return corrupt("the origin shows %q at one time and not at another", path.Join(dir, name))
}

// size is that of a file at the origin, which writes a symbolic link with words before its target.
func (v *verifier) size(e history.Entry) (int64, error) {
	_, size, err := v.applier.store.Stat(e.ID)
	if e.Mode == pack.ModeLink {
		size += int64(len(linkPrefix))
	}
	return size, err
}
