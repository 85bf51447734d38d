package gitdir

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gantry"
)

// Installation is what a new repository consists of.
type Installation struct {
	Refs []Ref
	Head string // the branch that HEAD names (refs/heads/main), which need not exist

	// Pack writes a complete pack; nil when there are no refs.
	Pack func(ctx context.Context, w io.Writer) error
	// Index writes the pack's index (version 2) after Pack has returned. When nil, git indexes the pack and checks every
	// object strictly.
	Index func(w io.Writer) error

	// Attach adds to the directory what belongs to the repository beside Git's own; nil for nothing.
	Attach func(dir string) error
}

// Install builds a bare repository beside dir and renames it to dir, which must not exist or be empty: dir is complete
// or untouched at every moment, and nothing is left beside it. One Install of a dir may run at a time.
func (g *Git) Install(ctx context.Context, dir string, in Installation) (err error) {
	head, ok := strings.CutPrefix(in.Head, "refs/heads/")
	if !ok {
		return gantry.Errorf(gantry.Invalid, "gitdir.Install", "HEAD cannot name %q, which is not a branch", in.Head)
	}
	packed, err := packedRefs(in.Refs)
	if err != nil {
		return err
	}
	parent, name := filepath.Split(filepath.Clean(dir))
	temp := filepath.Join(parent, "."+name+".installing")
	if err := os.RemoveAll(temp); err != nil { // of an earlier run that was killed
		return err
	}
	defer func() {
		if removeErr := os.RemoveAll(temp); err == nil {
			err = removeErr
		}
	}()
	if err := g.Init(ctx, temp, head); err != nil {
		return err
	}
	if in.Pack != nil {
		if in.Index != nil {
			err = writePackFiles(ctx, filepath.Join(temp, "objects", "pack"), in)
		} else {
			err = g.IndexPack(ctx, temp, in.Pack)
		}
		if err != nil {
			return fmt.Errorf("gitdir: install %s: %w", dir, err)
		}
	}
	if err := writeFile(filepath.Join(temp, "packed-refs"), func(w io.Writer) error {
		_, err := w.Write(packed)
		return err
	}); err != nil {
		return err
	}
	// Reading the type of each ref's object fails when an object is missing.
	if _, err := g.Output(ctx, temp, "for-each-ref", "--format=%(objecttype)"); err != nil {
		return fmt.Errorf("gitdir: install %s: %w", dir, err)
	}
	if in.Attach != nil {
		if err := in.Attach(temp); err != nil {
			return fmt.Errorf("gitdir: install %s: %w", dir, err)
		}
	}
	if err := syncTree(temp); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return gantry.Errorf(gantry.Conflict, "gitdir.Install", "%s is there already and is not an empty directory: %w", dir, err)
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncPath(filepath.Clean(parent + "."))
}

// packedRefs checks refs and renders the packed-refs file (gitrepository-layout(5)).
func packedRefs(refs []Ref) ([]byte, error) {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	taken := make(map[string]bool, len(refs))
	file := bytes.NewBufferString("# pack-refs with: sorted \n")
	for _, ref := range refs {
		if err := CheckRefName(ref.Name); err != nil {
			return nil, err
		}
		if taken[ref.Name] {
			return nil, gantry.Errorf(gantry.Invalid, "gitdir.Install", "ref %s is there twice", ref.Name)
		}
		taken[ref.Name] = true
		// Sorted, so that a shorter name that is in the way has been seen.
		for i := strings.LastIndexByte(ref.Name, '/'); i > 0; i = strings.LastIndexByte(ref.Name[:i], '/') {
			if taken[ref.Name[:i]] {
				return nil, gantry.Errorf(gantry.Invalid, "gitdir.Install", "refs %s and %s cannot both exist", ref.Name[:i], ref.Name)
			}
		}
		fmt.Fprintf(file, "%s %s\n", ref.ID, ref.Name)
	}
	return file.Bytes(), nil
}

// IndexPack lets git take a complete pack into the repository at dir, checking every object and link strictly.
func (g *Git) IndexPack(ctx context.Context, dir string, writePack func(ctx context.Context, w io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.Command(ctx, dir, "index-pack", "--stdin", strictOption())
	var said Tail
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	pipe := &gitPipe{w: in}
	writeErr := writePack(ctx, pipe)
	if writeErr != nil && pipe.err == nil {
		cancel()
	}
	in.Close()
	waitErr := cmd.Wait()
	switch {
	case writeErr != nil && pipe.err == nil:
		return fmt.Errorf("write pack: %w", writeErr)
	case waitErr == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if err := ObjectFault(said.String()); err != nil {
		return err
	}
	return &ExitError{Command: "index-pack", Stderr: said.String(), Err: waitErr}
}

// writePackFiles writes pack and index as they come.
func writePackFiles(ctx context.Context, dir string, in Installation) error {
	unnamed := filepath.Join(dir, "incoming.pack")
	var trailer lastBytes
	if err := writeFile(unnamed, func(w io.Writer) error { return in.Pack(ctx, io.MultiWriter(w, &trailer)) }); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	base := filepath.Join(dir, "pack-"+hex.EncodeToString(trailer[:]))
	if err := writeFile(base+".idx", in.Index); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return os.Rename(unnamed, base+".pack")
}

// lastBytes keeps the last 20 bytes written, which in a pack are its checksum.
type lastBytes [20]byte

func (l *lastBytes) Write(p []byte) (int, error) {
	if keep := len(l) - len(p); keep > 0 {
		copy(l[:], l[len(p):])
		copy(l[keep:], p)
	} else {
		copy(l[:], p[-keep:])
	}
	return len(p), nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// syncTree makes a repository durable that has been written but for its directories and configuration.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncPath(path)
	})
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// cruftAge keeps objects that no ref reaches any more for a push that is about to refer to them.
const cruftAge = "2.weeks.ago"

// Maintain packs the repository's objects and refs and writes bitmaps and the commit-graph, so that it is cheap to
// serve. Pushes may go on meanwhile.
func (g *Git) Maintain(ctx context.Context, dir string) error {
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		{"repack", "-d", "--cruft", "--cruft-expiration=" + cruftAge, "--write-bitmap-index", "--quiet"},
		{"commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"},
	} {
		if _, err := g.Output(ctx, dir, args...); err != nil {
			return fmt.Errorf("gitdir: maintain %s: %w", dir, err)
		}
	}
	return nil
}
