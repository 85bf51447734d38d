package gitdir

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gantry"
	"gantry/internal/pack"
)

// Ref is one ref of a repository.
type Ref struct {
	Name string // complete, such as refs/heads/main
	ID   pack.ID
}

// Init makes a bare repository at dir, whose parent must exist, with HEAD on a branch that does not exist yet. It does
// nothing to a repository that is there already.
func (g *Git) Init(ctx context.Context, dir, defaultBranch string) error {
	if err := CheckRefName("refs/heads/" + defaultBranch); err != nil {
		return err
	}
	_, err := g.Output(ctx, "", "init", "--quiet", "--bare", "--template=", "--initial-branch="+defaultBranch, "--", dir)
	return err
}

// Refs lists all refs in the order of their names, without HEAD.
func (g *Git) Refs(ctx context.Context, dir string) ([]Ref, error) {
	out, err := g.Output(ctx, dir, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		hex, name, _ := strings.Cut(lines.Text(), " ")
		id, err := pack.ParseID(hex)
		if err != nil {
			return nil, fmt.Errorf("gitdir: refs of %s: %w", dir, err)
		}
		refs = append(refs, Ref{Name: name, ID: id})
	}
	return refs, nil
}

// Head returns the ref that HEAD names (refs/heads/main), whether it exists or not; "" when HEAD is detached.
func (g *Git) Head(dir string) (string, error) {
	line, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "ref: ")
	if !ok {
		return "", nil
	}
	return name, nil
}

// SetHead makes HEAD name a branch (refs/heads/main), which need not exist.
func (g *Git) SetHead(ctx context.Context, dir, ref string) error {
	if err := CheckRefName(ref); err != nil {
		return err
	}
	_, err := g.Output(ctx, dir, "symbolic-ref", "HEAD", ref)
	return err
}

// CheckRefName reports why a complete ref name cannot be kept, nil when it can: the rules of git-check-ref-format(1),
// and in refs/heads no names that git confuses with something else (40 hexadecimal digits, HEAD, a leading hyphen).
func CheckRefName(name string) error {
	if why := badRefName(name); why != "" {
		return gantry.Errorf(gantry.Invalid, "gitdir", "ref name %q %s", name, why)
	}
	return nil
}

const maxRefName = 1024

func badRefName(name string) string {
	rest, ok := strings.CutPrefix(name, "refs/")
	switch {
	case !ok:
		return "does not begin with refs/"
	case len(name) > maxRefName:
		return "is too long"
	case strings.HasSuffix(name, "."):
		return "ends in a dot"
	case strings.Contains(name, ".."):
		return "contains two dots in a row"
	case strings.Contains(name, "@{"):
		return "contains @{"
	case !strings.Contains(rest, "/"):
		return "has no name below refs/heads, refs/tags or the like"
	}
	for _, c := range []byte(name) {
		if c < ' ' || c == 0x7f || strings.IndexByte(` ~^:?*[\`, c) >= 0 {
			return "contains a character that Git forbids"
		}
	}
	for part := range strings.SplitSeq(rest, "/") {
		switch {
		case part == "":
			return "has an empty part"
		case part[0] == '.':
			return "has a part that begins with a dot"
		case strings.HasSuffix(part, ".lock"):
			return "has a part that ends in .lock"
		case len(part) > 255:
			return "has a part of more than 255 bytes"
		}
	}
	for _, space := range []string{"heads/", "tags/"} {
		short, ok := strings.CutPrefix(rest, space)
		_, hexErr := pack.ParseID(short)
		switch {
		case !ok:
		case short[0] == '-':
			return "begins with a hyphen"
		case short == "HEAD":
			return "is taken for the repository's HEAD"
		case hexErr == nil:
			return "is taken for an object id"
		}
	}
	return ""
}
