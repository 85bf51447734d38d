package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// Identity is a name and an e-mail address as they stand in commits. Raw bytes.
type Identity struct {
	Email string
	Name  string
}

// Authors calls each once for every author of a commit in the repository at dir, in the order of their appearance,
// parents before children; the order is the same for the same refs.
func Authors(ctx context.Context, g *gitdir.Git, dir string, each func(Identity) error) error {
	seen := make(map[Identity]bool)
	return eachCommit(ctx, g, dir, func(_ pack.ID, data []byte) error {
		line, ok := headerValue(data, "author")
		if !ok {
			return nil
		}
		id, _ := parseIdentity(line)
		if seen[id] {
			return nil
		}
		seen[id] = true
		return each(id)
	})
}

// headerValue returns the first header of a commit or tag with a name.
func headerValue(data []byte, name string) ([]byte, bool) {
	for len(data) > 0 && data[0] != '\n' {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return value, true
		}
		data = rest
	}
	return nil, false
}

// parseIdentity takes "name <email> date" apart as git does, which forgives much: the address is what stands between the
// first < and the last >, the rest behind it is the date.
func parseIdentity(line []byte) (id Identity, rest []byte) {
	open, end := bytes.IndexByte(line, '<'), bytes.LastIndexByte(line, '>')
	if open < 0 || end < open {
		return Identity{Name: string(bytes.TrimSpace(line))}, nil
	}
	return Identity{Name: string(bytes.TrimSpace(line[:open])), Email: string(bytes.TrimSpace(line[open+1 : end]))}, line[end+1:]
}

// eachCommit calls each with every commit that a branch or tag reaches, parents before children. Data is valid during the
// call only.
func eachCommit(ctx context.Context, g *gitdir.Git, dir string, each func(id pack.ID, data []byte) error) error {
	list := g.Command(ctx, dir, "rev-list", "--topo-order", "--reverse", "--branches", "--tags")
	return eachObject(ctx, g, dir, func(names *os.File) error {
		list.Stdout = names
		return gitdir.Run(list)
	}, func(o *object) error { return each(o.id, o.data) })
}

// writeIDs names objects to eachObject.
func writeIDs(ids []pack.ID) func(*os.File) error {
	return func(names *os.File) error {
		w := bufio.NewWriter(names)
		for _, id := range ids {
			fmt.Fprintln(w, id)
		}
		return w.Flush()
	}
}

// object is what cat-file says of one object. Data is valid until the next one.
type object struct {
	id   pack.ID
	kind string
	data []byte
}

// maxObject bounds commits and tags that are held in memory. Git's own history has none above 20 KiB.
const maxObject = 64 << 20

// eachObject calls each with the commits or tags whose ids, one in a line, name writes to a pipe.
func eachObject(ctx context.Context, g *gitdir.Git, dir string, name func(*os.File) error, each func(*object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	var named error
	namer := make(chan struct{})
	go func() {
		defer close(namer)
		named = name(write)
		write.Close()
	}()
	cat := g.Command(ctx, dir, "cat-file", "--batch", "--buffer")
	cat.Stdin = read
	var said gitdir.Tail
	cat.Stderr = &said
	out, err := cat.StdoutPipe()
	if err == nil {
		err = cat.Start()
	}
	read.Close()
	if err != nil {
		<-namer
		return err
	}
	err = readObjects(bufio.NewReaderSize(out, 256<<10), each)
	if err != nil {
		cancel()
	}
	waitErr := cat.Wait()
	<-namer // cat-file has closed the pipe
	switch {
	case err != nil:
		return err
	case waitErr != nil:
		return &gitdir.ExitError{Command: "cat-file", Stderr: said.String(), Err: waitErr}
	}
	return named
}

func readObjects(r *bufio.Reader, each func(*object) error) error {
	var o object
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		fields := strings.Fields(string(line))
		if len(fields) != 3 {
			return fmt.Errorf("git cat-file: unexpected %q", line)
		}
		if o.id, err = pack.ParseID(fields[0]); err != nil {
			return err
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("git cat-file: unexpected %q", line)
		}
		if size > maxObject {
			return gantry.Errorf(gantry.TooLarge, "git", "%s %s has %d bytes, more than the %d that are read", fields[1], o.id, size, maxObject)
		}
		o.kind = fields[1]
		o.data = slices.Grow(o.data[:0], int(size))[:size]
		if _, err := io.ReadFull(r, o.data); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		if _, err := r.Discard(1); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		if err := each(&o); err != nil {
			return err
		}
	}
}
