package gitdir

import (
	"bufio"
	"context"
	"fmt"

	"gantry/internal/pack"
)

// Reachable returns all objects that the refs of the repository at dir lead to.
func (g *Git) Reachable(ctx context.Context, dir string) (pack.IDSet, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.Command(ctx, dir, "rev-list", "--objects", "--all", "--no-object-names", "--use-bitmap-index")
	var said Tail
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return pack.IDSet{}, err
	}
	if err := cmd.Start(); err != nil {
		return pack.IDSet{}, err
	}
	var ids []pack.ID
	for lines := bufio.NewScanner(out); err == nil && lines.Scan(); {
		var id pack.ID
		id, err = pack.ParseID(lines.Text())
		ids = append(ids, id)
	}
	if err != nil {
		cancel() // it may still be writing
	}
	if exit := cmd.Wait(); err == nil && exit != nil {
		err = &ExitError{Command: "rev-list", Stderr: said.String(), Err: exit}
	}
	if err != nil {
		return pack.IDSet{}, fmt.Errorf("gitdir: objects of %s: %w", dir, err)
	}
	return pack.NewIDSet(ids), nil
}
