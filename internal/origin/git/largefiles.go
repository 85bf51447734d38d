package git

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

// LargeFile is a blob of more than the asked size, with one path and one ref that it can be found by.
type LargeFile struct {
	ID   pack.ID
	Size int64
	Path string // raw bytes
	Ref  string
}

// LargeFiles lists the blobs of more than threshold bytes, in the order of their ids. Each is told under the first ref
// whose history has it, HEAD's branch before all others. Without large files it only reads the headers of objects.
func LargeFiles(ctx context.Context, g *gitdir.Git, dir string, threshold int64) ([]LargeFile, error) {
	files, err := largeBlobs(ctx, g, dir, threshold)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	refs, err := g.Refs(ctx, dir)
	if err != nil {
		return nil, err
	}
	head, err := g.Head(dir)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(refs, func(ref gitdir.Ref) bool { return ref.Name == head }); i > 0 {
		first := refs[i]
		refs = slices.Insert(slices.Delete(refs, i, i+1), 0, first)
	}
	unnamed := make(map[string]*LargeFile, len(files))
	for i := range files {
		unnamed[files[i].ID.String()] = &files[i]
	}
	for i, ref := range refs {
		if len(unnamed) == 0 {
			break
		}
		if err := nameBlobs(ctx, g, dir, ref, refs[:i], unnamed); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func largeBlobs(ctx context.Context, g *gitdir.Git, dir string, threshold int64) ([]LargeFile, error) {
	var files []LargeFile
	cmd := g.Command(ctx, dir, "cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check=%(objecttype) %(objectsize) %(objectname)")
	cmd.Stdout = &lineWriter{limit: maxRefLine, each: func(line []byte) error {
		rest, ok := strings.CutPrefix(string(line), "blob ")
		if !ok {
			return nil
		}
		size, name, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n <= threshold {
			return err
		}
		id, err := pack.ParseID(name)
		files = append(files, LargeFile{ID: id, Size: n})
		return err
	}}
	if err := gitdir.Run(cmd); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b LargeFile) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return files, nil
}

// nameBlobs looks for blobs in the history of one ref, leaving out that of others, and takes those that it finds out of
// unnamed.
func nameBlobs(ctx context.Context, g *gitdir.Git, dir string, ref gitdir.Ref, others []gitdir.Ref, unnamed map[string]*LargeFile) error {
	var ends strings.Builder
	fmt.Fprintln(&ends, ref.ID)
	for _, other := range others {
		fmt.Fprintf(&ends, "^%s\n", other.ID)
	}
	cmd := g.Command(ctx, dir, "rev-list", "--objects", "--stdin")
	cmd.Stdin = strings.NewReader(ends.String())
	cmd.Stdout = &lineWriter{limit: maxPathLine, each: func(line []byte) error {
		name, path, _ := strings.Cut(string(line), " ")
		if file := unnamed[name]; file != nil {
			file.Path, file.Ref = path, ref.Name
			delete(unnamed, name)
		}
		return nil
	}}
	return gitdir.Run(cmd)
}

const maxPathLine = 64 << 10
