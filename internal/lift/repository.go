package lift

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/origin/git"
	"gantry/internal/pack"
)

// repository lifts a Git origin: what was read is a bare repository in the staging directory, fetched whole and checked
// before it counts.
type repository struct {
	from  Origin
	opt   Options
	state convert.State
}

func openRepository(ctx context.Context, from Origin, opt Options) (Lift, error) {
	state, err := opt.Journal.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &repository{from: from, opt: opt, state: state}, nil
}

// dir is the repository that counts, "" when nothing was read yet.
func (r *repository) dir() string {
	if r.state.Fetched == nil {
		return ""
	}
	return filepath.Join(r.opt.Dir, r.state.Fetched.Name)
}

func (r *repository) Read(ctx context.Context) error {
	if err := os.MkdirAll(r.opt.Dir, 0o700); err != nil {
		return err
	}
	name := fetchedPrefix + r.opt.Writer
	dir := filepath.Join(r.opt.Dir, name)
	if err := os.RemoveAll(dir); err != nil { // of a try whose connection failed
		return err
	}
	fetched, err := r.fetch(ctx, dir)
	if err != nil {
		return err
	}
	state := convert.State{Complete: true, Fetched: &convert.Fetched{Name: name, Head: fetched.Head, Commits: fetched.Commits, HostKey: fetched.HostKey}}
	for _, skipped := range fetched.Skipped {
		state.Fetched.Skipped = append(state.Fetched.Skipped, convert.Rename{Path: skipped.Name, Reason: skipped.Reason})
	}
	news, err := r.examine(ctx, dir, &state)
	if err != nil {
		return err
	}
	if err := r.opt.Journal.Commit(ctx, state, news); err != nil {
		return err
	}
	r.state = state
	return r.removeEarlier()
}

func (r *repository) fetch(ctx context.Context, dir string) (*git.Result, error) {
	opt := git.Options{
		Address:     r.from.Address,
		Credentials: r.from.Credentials,
		HostKeys:    r.hostKeys(),
		Agent:       r.opt.Agent,
		Dir:         dir,
		Git:         r.opt.Git,
		Egress:      r.opt.Egress,
		Log:         r.opt.Log,
		Progress: func(p git.Progress) {
			if p.Phase == git.Receiving {
				r.opt.Progress(convert.Progress{Phase: convert.Fetching, Done: p.Done, Total: p.Total})
			}
		},
	}
	if r.from.File != "" {
		return git.FetchBundle(ctx, r.from.File, opt)
	}
	return git.Fetch(ctx, opt)
}

func (r *repository) hostKeys() []string {
	if r.state.Fetched == nil {
		return r.opt.HostKeys
	}
	return hostKeys(r.opt.HostKeys, r.state.Fetched.HostKey)
}

// examine lists the authors and large files of what was fetched.
func (r *repository) examine(ctx context.Context, dir string, state *convert.State) (convert.News, error) {
	var news convert.News
	err := git.Authors(ctx, r.opt.Git, dir, func(id git.Identity) error {
		a := author(id)
		news.Authors = append(news.Authors, history.Author{
			RemoteID: a.RemoteID, RemoteName: a.RemoteName,
			Default: history.Identity{Name: a.RemoteName, Email: a.RemoteID},
		})
		return nil
	})
	if err != nil {
		return news, err
	}
	state.Authors = len(news.Authors)
	files, err := git.LargeFiles(ctx, r.opt.Git, dir, r.opt.LargeFile)
	if err != nil {
		return news, err
	}
	for _, f := range files {
		news.LargeFiles = append(news.LargeFiles, convert.LargeFile{Path: f.Path, OID: f.ID, Size: f.Size})
		state.LargeFiles++
		state.LargeFileSize += f.Size
	}
	return news, nil
}

// author is the name under which an identity is known outside: text, whatever bytes a commit carries.
func author(id git.Identity) Author {
	return Author{RemoteID: strings.ToValidUTF8(id.Email, "\uFFFD"), RemoteName: strings.ToValidUTF8(id.Name, "\uFFFD")}
}

const fetchedPrefix = "fetched-"

// removeEarlier deletes what earlier owners fetched, by their words: an owner who was overtaken, and wakes, must not
// delete what came after it.
func (r *repository) removeEarlier() error {
	entries, err := os.ReadDir(r.opt.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		writer, ok := strings.CutPrefix(e.Name(), fetchedPrefix)
		if !ok || e.Name() == r.state.Fetched.Name || !r.opt.Earlier(writer) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(r.opt.Dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Projects implements Lift. A Git repository is one project.
func (r *repository) Projects(context.Context) ([]string, error) { return nil, nil }

func (r *repository) Map(ctx context.Context, opt MapOptions) (*convert.Result, error) {
	if r.state.Fetched == nil {
		return nil, gantry.Errorf(gantry.Conflict, "lift.Map", "nothing was read from the origin yet")
	}
	rewritten, err := git.Rewrite(ctx, r.opt.Git, r.dir(), func(id git.Identity) (git.Identity, bool) {
		to, mapped := opt.Authors[author(id)]
		next := git.Identity{Name: to.Name, Email: to.Email}
		return next, mapped && next != git.Identity{Name: author(id).RemoteName, Email: author(id).RemoteID}
	})
	if err != nil {
		return nil, err
	}
	result := &convert.Result{Head: r.state.Fetched.Head, Commits: r.state.Fetched.Commits}
	for _, ref := range rewritten.Refs {
		result.Refs = append(result.Refs, history.Ref{Name: ref.Name, ID: ref.ID})
	}
	if err := r.report(ctx, result, rewritten); err != nil {
		return nil, err
	}
	if opt.Commit != nil {
		if err := r.tell(ctx, rewritten, opt.Commit); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// report fills in what a fetched repository tells of itself.
func (r *repository) report(ctx context.Context, result *convert.Result, rewritten *git.Rewritten) error {
	report := &result.Report
	report.Revisions, report.Commits = r.state.Fetched.Commits, r.state.Fetched.Commits
	report.Authors = int64(r.state.Authors)
	report.Renamed = r.state.Fetched.Skipped
	report.DroppedSignatures = rewritten.Signatures
	files, err := git.LargeFiles(ctx, r.opt.Git, r.dir(), r.opt.LargeFile)
	if err != nil {
		return err
	}
	for _, f := range files {
		result.LargeFiles = append(result.LargeFiles, gantry.LargeFile{RefName: f.Ref, Path: strings.ToValidUTF8(f.Path, "\uFFFD"), OID: f.ID.String(), Size: f.Size})
	}
	for _, ref := range result.Refs {
		switch {
		case strings.HasPrefix(ref.Name, "refs/heads/"):
			report.Branches++
			tree, err := r.opt.Git.Output(ctx, r.dir(), "rev-parse", "--verify", "--end-of-options", ref.ID.String()+"^{tree}")
			if err != nil {
				return err
			}
			report.Heads = append(report.Heads, convert.Head{Ref: ref.Name, Commit: ref.ID.String(), Tree: strings.TrimSpace(string(tree))})
		case strings.HasPrefix(ref.Name, "refs/tags/"):
			report.Tags++
		}
	}
	return nil
}

// tell reports every commit once, under the first branch or tag that reaches it; the branch of HEAD comes first.
func (r *repository) tell(ctx context.Context, rewritten *git.Rewritten, each func(id pack.ID, branch, revision string) error) error {
	refs, err := r.opt.Git.Refs(ctx, r.dir())
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(refs, func(ref gitdir.Ref) bool { return ref.Name == r.state.Fetched.Head }); i > 0 {
		head := refs[i]
		refs = slices.Insert(slices.Delete(refs, i, i+1), 0, head)
	}
	for i, ref := range refs {
		if err := r.tellRef(ctx, ref, refs[:i], rewritten, each); err != nil {
			return err
		}
	}
	return nil
}

func (r *repository) tellRef(ctx context.Context, ref gitdir.Ref, told []gitdir.Ref, rewritten *git.Rewritten, each func(id pack.ID, branch, revision string) error) error {
	var ends strings.Builder
	fmt.Fprintln(&ends, ref.ID)
	for _, t := range told {
		fmt.Fprintf(&ends, "^%s\n", t.ID)
	}
	cmd := r.opt.Git.Command(ctx, r.dir(), "rev-list", "--reverse", "--topo-order", "--stdin")
	cmd.Stdin = strings.NewReader(ends.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	branch := strings.TrimPrefix(ref.Name, "refs/heads/")
	for lines := bufio.NewScanner(out); err == nil && lines.Scan(); {
		var id pack.ID
		if id, err = pack.ParseID(lines.Text()); err != nil {
			break
		}
		now := id
		if to, ok := rewritten.Commits[id]; ok {
			now = to
		}
		err = each(now, branch, id.String())
	}
	_, _ = io.Copy(io.Discard, out)
	if exit := cmd.Wait(); err == nil {
		err = exit
	}
	return err
}

func (r *repository) WritePack(ctx context.Context, w io.Writer, result *convert.Result, to Receiver) error {
	var tips []pack.ID
	for _, ref := range result.Refs {
		tips = append(tips, ref.ID)
	}
	progress := func(done, total int64) {
		r.opt.Progress(convert.Progress{Phase: convert.Packing, Done: done, Total: total})
	}
	return git.PackWriter(r.opt.Git, r.dir(), tips, to.Tips, progress)(ctx, w)
}

// Install leaves it to git to index and check the pack: its objects are a stranger's.
func (r *repository) Install(ctx context.Context, dir string, result *convert.Result) error {
	in := installation(result)
	if len(in.Refs) > 0 {
		in.Pack = func(ctx context.Context, w io.Writer) error { return r.WritePack(ctx, w, result, Receiver{}) }
	}
	return r.opt.Git.Install(ctx, dir, in)
}

// Attach implements Lift. Objects of Git LFS are not fetched with a repository.
func (r *repository) Attach(string) error { return nil }

func (r *repository) Close() error { return nil }
