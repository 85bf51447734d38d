package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/origin"
)

// FetchBundle is Fetch from a Git bundle file (gitformat-bundle(5)), plain or compressed, which must be complete; Address, credentials and
// Egress of the options are not used.
func FetchBundle(ctx context.Context, file string, opt Options) (*Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, gantry.Errorf(gantry.NotFound, "git.FetchBundle", "the bundle cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	told := &reportingReader{r: f, total: info.Size(), report: opt.Progress}
	content, _, err := origin.Inflate(bufio.NewReaderSize(told, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("git: bundle: %w: %w", origin.ErrCorrupt, err)
	}
	defer content.Close()
	r := bufio.NewReaderSize(content, 256<<10)
	offered, err := readBundleHead(r)
	if err != nil {
		return nil, err
	}
	skipped, err := offered.judge()
	if err != nil {
		return nil, err
	}
	result := &Result{Refs: offered.refs, Skipped: skipped, Head: chooseHead(offered.refs, "", offered.headID)}
	in := gitdir.Installation{Refs: offered.refs, Head: result.Head}
	if in.Head == "" {
		in.Head = "refs/heads/main"
	}
	if len(offered.refs) > 0 {
		in.Pack = func(_ context.Context, w io.Writer) error {
			_, err := io.Copy(w, r)
			return err
		}
	}
	if err := opt.Git.Install(ctx, opt.Dir, in); err != nil {
		return nil, bundleError(err)
	}
	result.Commits, err = countCommits(ctx, opt.Git, opt.Dir)
	return result, err
}

const (
	maxBundleLine = 8 << 10
	maxHeadLines  = 2 * maxRefs
)

// readBundleHead reads up to where the pack begins.
func readBundleHead(r *bufio.Reader) (*offer, error) {
	first, err := readBundleLine(r)
	if err != nil || first != "# v2 git bundle" && first != "# v3 git bundle" {
		return nil, gantry.Errorf(gantry.Invalid, "git.FetchBundle", "the file is not a Git bundle of version 2 or 3; make one with: git bundle create FILE --all")
	}
	offered := new(offer)
	for range maxHeadLines {
		line, err := readBundleLine(r)
		switch {
		case err != nil:
			return nil, fmt.Errorf("git: bundle: %w: %w", origin.ErrCorrupt, err)
		case line == "":
			return offered, nil
		case line == "@object-format=sha1":
		case line[0] == '@':
			return nil, gantry.Errorf(gantry.Invalid, "git.FetchBundle", "the bundle needs %q, which cannot be imported; make one with: git bundle create FILE --all", line[1:])
		case line[0] == '-':
			return nil, gantry.Errorf(gantry.Invalid, "git.FetchBundle", "the bundle is not complete: it builds on commit %.40s; make one with: git bundle create FILE --all", line[1:])
		default:
			if err := offered.line([]byte(strings.Replace(line, " ", "\t", 1))); err != nil {
				return nil, err
			}
		}
	}
	return nil, gantry.Errorf(gantry.TooLarge, "git.FetchBundle", "the bundle has more than %d refs", maxHeadLines)
}

func readBundleLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxBundleLine:
			return "", errors.New("a line of its head is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return "", err
		}
		return strings.TrimSuffix(string(line), "\n"), nil
	}
}

// bundleError says that the fault is in the bundle where git found one.
func bundleError(err error) error {
	var exit *gitdir.ExitError
	if errors.As(err, &exit) && exit.Command == "index-pack" {
		return fmt.Errorf("git: bundle: %w: %w", origin.ErrCorrupt, err)
	}
	return err
}

// reportingReader tells how much of a file has been read, once in a while.
type reportingReader struct {
	r                     io.Reader
	done, reported, total int64
	report                func(Progress)
}

func (r *reportingReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.done += int64(n)
	if r.report != nil && r.done-r.reported >= r.total/200 {
		r.reported = r.done
		r.report(Progress{Phase: Receiving, Done: r.done, Total: r.total})
	}
	return n, err
}
