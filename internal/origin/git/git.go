// Package git reads Git origins: it fetches them through the system's git into a throw-away repository, lists authors and
// large files, and rewrites history where an author must change.
package git

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/githelper"
	"gantry/internal/origin"
)

// Options say what to fetch.
type Options struct {
	Address     origin.Address
	Credentials origin.Credentials // for ssh, Password may be a private key in PEM form
	HostKeys    []string           // keys that an ssh host may show, as in package sshdial; none: its first key is trusted and reported
	Agent       string             // socket of an ssh agent, "" for none; for the command line only

	Dir      string // the throw-away repository: must not exist, is removed when Fetch fails
	Git      *gitdir.Git
	Egress   *egress.Egress
	Log      *slog.Logger
	Progress func(Progress) // called from one goroutine; may be nil
}

// Result is what a fetch brought.
type Result struct {
	Refs    []gitdir.Ref // branches and tags that were kept, by name
	Skipped []Skipped    // branches and tags that were left out, by name
	Head    string       // the branch that HEAD names (refs/heads/main); "" when there are no branches
	Commits int64
	HostKey string // ssh: the key that the host showed
}

// Fetch brings all branches and tags of an origin into a new bare repository at opt.Dir, every object checked strictly.
// Errors wrap origin.ErrAuthRequired, ErrAuthFailed, ErrNotFound, ErrTemporary or ErrCorrupt, or are a gantry.Error with
// a message for people; none contains a credential.
func Fetch(ctx context.Context, opt Options) (result *Result, err error) {
	defer func() { err = scrub(err, opt.Credentials) }()
	answer, err := Probe(ctx, opt)
	if err != nil {
		return nil, err
	}
	proxy, err := opt.Egress.StartProxy(ctx)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	f := &fetch{
		Options: opt,
		proxy:   proxy,
		url:     answer.Address.String(),
		note: githelper.Note{
			Proxy: proxy.URL().String(), Scheme: answer.Address.Scheme, Host: answer.Address.Host,
			Username: opt.Credentials.Username, Password: opt.Credentials.Password, HostKeys: opt.HostKeys, Agent: opt.Agent,
		},
	}
	switch {
	case opt.Address.Scheme == "ssh":
		f.note.Username, f.note.HostKeys = userOf(opt.Credentials), []string{answer.HostKey}
	case !sameHost(answer.Address, opt.Address):
		f.note.Username, f.note.Password = "", "" // the origin has moved us to a host that the credentials are not for
	}
	if err := os.Mkdir(opt.Dir, 0o700); err != nil { // what is there already is not ours to remove
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(opt.Dir)
		}
	}()
	if err := opt.Git.Init(ctx, opt.Dir, "main"); err != nil {
		return nil, err
	}
	if result, err = f.run(ctx); err != nil {
		return nil, err
	}
	result.HostKey = answer.HostKey
	return result, nil
}

func sameHost(a, b origin.Address) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// fetch is one Fetch at work.
type fetch struct {
	Options
	proxy *egress.Proxy
	note  githelper.Note
	url   string
}

func (f *fetch) run(ctx context.Context) (*Result, error) {
	offered, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	skipped, err := offered.judge()
	if err != nil {
		return nil, err
	}
	if len(offered.refs) > 0 {
		if err := f.fetch(ctx, skipped); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "shallow")); err == nil {
		return nil, errShallow(f.Address)
	}
	refs, err := f.Git.Refs(ctx, f.Dir)
	if err != nil {
		return nil, err
	}
	result := &Result{Refs: refs, Skipped: skipped, Head: chooseHead(refs, offered.head, offered.headID)}
	if result.Head != "" {
		if err := f.Git.SetHead(ctx, f.Dir, result.Head); err != nil {
			return nil, err
		}
	}
	result.Commits, err = countCommits(ctx, f.Git, f.Dir)
	return result, err
}

// list asks for all refs of the origin.
func (f *fetch) list(ctx context.Context) (*offer, error) {
	cmd, done, err := githelper.Command(ctx, f.Git, f.Dir, f.note, nil, "ls-remote", "--symref", "--quiet", "--", f.url)
	if err != nil {
		return nil, err
	}
	defer done()
	offered := new(offer)
	lines := &lineWriter{limit: maxRefLine, each: offered.line}
	cmd.Stdout = lines
	if err := gitdir.Run(cmd); err != nil && lines.err == nil {
		return nil, f.failure(ctx, err)
	}
	return offered, lines.err
}

func (f *fetch) fetch(ctx context.Context, skipped []Skipped) error {
	settings := append(gitdir.StrictObjects("fetch"),
		gitdir.Setting{Key: "fetch.unpackLimit", Value: "1"},
		gitdir.Setting{Key: "core.fsync", Value: "none"}, // thrown away after a crash
	)
	cmd, done, err := githelper.Command(ctx, f.Git, f.Dir, f.note, settings,
		"fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--update-shallow", "--progress", "--stdin", "--", f.url)
	if err != nil {
		return err
	}
	defer done()
	cmd.Stdin = strings.NewReader(refspecs(skipped))
	said := &progressWriter{report: f.Progress}
	cmd.Stderr = said
	if err := gitdir.Run(cmd); err != nil {
		return f.failure(ctx, &gitdir.ExitError{Command: "fetch", Stderr: said.String(), Err: errors.Unwrap(err)})
	}
	return nil
}

// failure says in the terms of an import what went wrong in a git command.
func (f *fetch) failure(ctx context.Context, err error) error {
	if refusal := f.proxy.Refusal(); refusal != nil {
		return refusal
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fetch %s: %w", f.Address, context.Cause(ctx))
	}
	var exit *gitdir.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return classify(f.Address, f.Credentials, exit)
}

func countCommits(ctx context.Context, g *gitdir.Git, dir string) (int64, error) {
	out, err := g.Output(ctx, dir, "rev-list", "--count", "--branches", "--tags")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

func errShallow(a origin.Address) error {
	return gantry.Errorf(gantry.Invalid, "git.Fetch", "%s is a shallow clone: the beginning of its history is not there; import the repository that it was cloned from", a)
}
