package git

import (
	"context"
	"fmt"
	"io"
	"strings"

	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// PackWriter returns a function for gitdir.Push and gitdir.Install that sends all objects reachable from tips in the
// repository at dir, without what is reachable from have; ids in have that are not there are ignored. Progress, which may
// be nil, counts objects written.
func PackWriter(g *gitdir.Git, dir string, tips, have []pack.ID, progress func(done, total int64)) func(ctx context.Context, w io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		known, err := present(ctx, g, dir, have)
		if err != nil {
			return err
		}
		var ends strings.Builder
		for _, id := range tips {
			fmt.Fprintln(&ends, id)
		}
		for _, id := range known {
			fmt.Fprintf(&ends, "^%s\n", id)
		}
		cmd := g.Command(ctx, dir, "pack-objects", "--revs", "--stdout", "--delta-base-offset", "--progress", "--all-progress")
		cmd.Stdin, cmd.Stdout = strings.NewReader(ends.String()), w
		said := new(progressWriter)
		if progress != nil {
			said.report = func(p Progress) {
				if p.Phase == Writing {
					progress(p.Done, p.Total)
				}
			}
		}
		cmd.Stderr = said
		if err := gitdir.Run(cmd); err != nil {
			return fmt.Errorf("git: send objects of %s: %w: %s", dir, err, said)
		}
		return nil
	}
}

// present returns those of ids that the repository has.
func present(ctx context.Context, g *gitdir.Git, dir string, ids []pack.ID) ([]pack.ID, error) {
	var names strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&names, id)
	}
	var known []pack.ID
	cmd := g.Command(ctx, dir, "cat-file", "--batch-check=%(objectname) there")
	cmd.Stdin = strings.NewReader(names.String())
	cmd.Stdout = &lineWriter{limit: maxRefLine, each: func(line []byte) error {
		name, ok := strings.CutSuffix(string(line), " there")
		if !ok {
			return nil
		}
		id, err := pack.ParseID(name)
		known = append(known, id)
		return err
	}}
	return known, gitdir.Run(cmd)
}
