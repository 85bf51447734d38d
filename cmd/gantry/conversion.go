package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"gantry"
	"gantry/internal/convert"
	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/lift"
	"gantry/internal/origin"
	"gantry/internal/origin/detect"
	"gantry/internal/sshdial"
)

// conversion is one run of "gantry convert".
type conversion struct {
	origin, dir               string
	stdin                     io.Reader  // the origin when it is "-"
	vcs                       gantry.VCS // "" to find out
	username, password        string
	authors, project, mapFile string
	layout                    string // file of rules, "" for none
	lfs                       string // address of a store of Git LFS, "" for the origin's own
	subrepos                  string // file that says what subrepositories are in Git, "" for none
	defaultBranch, git        string
	shape                     gantry.Shape
	progress                  func(convert.Progress)
	log                       *slog.Logger

	hostKeys []string // that an ssh origin may show; none: any
}

// errChoose is in the chain of the error that tells of several projects.
var errChoose = errors.New("several projects were found")

// run converts, and returns the report of what was done.
func (c *conversion) run(ctx context.Context) (report *convert.Report, err error) {
	c.dir = filepath.Clean(c.dir)
	staging, err := findStaging(c.dir)
	if err != nil {
		return nil, err
	}
	authors, err := readAuthors(c.authors)
	if err != nil {
		return nil, err
	}
	if c.shape.Layout, err = readLayout(c.layout); err != nil {
		return nil, err
	}
	submodules, err := readSubrepos(c.subrepos)
	if err != nil {
		return nil, err
	}
	git, err := gitdir.New(gitdir.Options{GitPath: c.git})
	if err != nil {
		return nil, err
	}
	// Whoever runs the command could as well connect by themselves: any address is allowed.
	anywhere, err := egress.ParsePolicy([]string{"0.0.0.0/0", "::/0"})
	if err != nil {
		return nil, err
	}
	out := egress.New(anywhere, c.log)
	from, err := c.locate(ctx, out)
	if err != nil {
		return nil, err
	}
	if !c.shape.Suits(from.VCS) {
		return nil, gantry.Errorf(gantry.Invalid, "convert", "%s is a %s repository: --layout, --keep-empty and what is made of properties are for Subversion, --attributes, --externals and --trailers for Mercurial, too", c.origin, properNames[from.VCS])
	}
	from.LFS = c.lfs
	if err := staging.open(); err != nil {
		return nil, err
	}
	defer staging.unlock()
	defer func() {
		if err != nil {
			err = errors.Join(err, staging.removeIfVain())
		}
	}()
	lifted, err := lift.Open(ctx, from, lift.Options{
		Dir:      staging.work(),
		Writer:   strings.ToLower(rand.Text()),
		Earlier:  func(string) bool { return true }, // the staging directory is locked
		Journal:  convert.OpenFileJournal(staging.journal()),
		Progress: c.progress,
		Git:      git,
		Egress:   out,
		Log:      c.log,
		HostKeys: c.hostKeys,
		Agent:    os.Getenv("SSH_AUTH_SOCK"),
	})
	if err != nil {
		return nil, err
	}
	report, err = c.land(ctx, lifted, lift.MapOptions{Authors: authors, Submodule: submodules.find}, func(result *convert.Result) error {
		if staging.again {
			return c.update(ctx, git, lifted, result, staging)
		}
		return c.install(ctx, lifted, result, staging)
	})
	if err := errors.Join(err, lifted.Close()); err != nil {
		return nil, err
	}
	return report, staging.settle(c.dir)
}

// land reads and maps, and has bring make the result the repository at the directory. What the command line says as it is
// need not be in the options yet.
func (c *conversion) land(ctx context.Context, lifted lift.Lift, opt lift.MapOptions, bring func(*convert.Result) error) (*convert.Report, error) {
	err := lifted.Read(ctx)
	if gantry.KindOf(err) == gantry.Conflict {
		err = gantry.Errorf(gantry.Conflict, "convert", "%s or %[1]s.partial holds what was read of another origin: remove it, or name another directory", c.dir)
	}
	if err != nil {
		return nil, err
	}
	if err := c.choose(ctx, lifted); err != nil {
		return nil, err
	}
	if origin, ok := lifted.(interface{ Authors() []history.Author }); ok && len(opt.Authors) > 0 {
		known := origin.Authors()
		if unknown := strangers(opt.Authors, known); len(unknown) > 0 && len(known) > 0 {
			c.log.Warn(fmt.Sprintf("%s: %d authors are not at the origin, whose are of the form %s", c.authors, len(unknown), known[0].RemoteID), "first", unknown[0])
		}
	}
	lines, err := createMap(c.mapFile)
	if err != nil {
		return nil, err
	}
	defer lines.discard()
	opt.Root, opt.DefaultBranch, opt.Shape, opt.Commit = c.project, c.defaultBranch, c.shape, lines.add
	result, err := lifted.Map(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := bring(result); err != nil {
		return nil, err
	}
	return &result.Report, lines.keep()
}

// install makes a result the new repository. Where its refs are is known before it is there, so that no moment is without
// that.
func (c *conversion) install(ctx context.Context, lifted lift.Lift, result *convert.Result, staging *staging) error {
	put := make(map[string]string, len(result.Refs))
	for _, ref := range result.Refs {
		put[ref.Name] = ref.ID.String()
	}
	if err := staging.land(put); err != nil {
		return err
	}
	return lifted.Install(ctx, c.dir, result)
}

// update brings a result into the repository that an earlier run made.
func (c *conversion) update(ctx context.Context, git *gitdir.Git, lifted lift.Lift, result *convert.Result, staging *staging) error {
	put, err := staging.landed()
	if err != nil {
		return err
	}
	pushed, err := lift.Push(ctx, lifted, result, lift.Target{Git: git, Dir: c.dir, Put: put})
	if err != nil {
		return err
	}
	if len(pushed.Kept) > 0 {
		c.log.Warn("refs were left where somebody else has moved them", "refs", pushed.Kept)
	}
	return staging.land(pushed.Put)
}

// choose makes sure that one project is converted.
func (c *conversion) choose(ctx context.Context, lifted lift.Lift) error {
	projects, err := lifted.Projects(ctx)
	if err != nil || len(projects) == 0 || c.project != "" || c.shape.Layout != "" {
		return err
	}
	return gantry.Errorf(gantry.Invalid, "convert", "%w; choose one of them with --project: %s", errChoose, strings.Join(projects, ", "))
}

// locate finds out what and where the origin is.
func (c *conversion) locate(ctx context.Context, out *egress.Egress) (lift.Origin, error) {
	if c.origin == "-" {
		return lift.Origin{VCS: cmp.Or(c.vcs, gantry.Subversion), Stream: c.stdin}, nil
	}
	if local, ok := strings.CutPrefix(c.origin, "file://"); ok {
		if path, err := url.PathUnescape(local); err == nil {
			c.origin = path
		}
	}
	if info, err := os.Stat(c.origin); err == nil {
		if info.IsDir() {
			return lift.Origin{}, gantry.Errorf(gantry.Invalid, "convert", "%s is a directory: convert what \"svnadmin dump\" writes of it (gantry convert - DIR), or a file that \"hg bundle --all\" or \"git bundle create\" made", c.origin)
		}
		return c.locateFile()
	}
	address, creds, err := origin.ParseAddress(c.origin)
	if err != nil {
		return lift.Origin{}, gantry.Errorf(gantry.Invalid, "convert", "%s: %s, or name a file that exists", c.origin, describe(err))
	}
	c.complete(&creds, address)
	if c.hostKeys, err = knownKeys(address); err != nil {
		return lift.Origin{}, err
	}
	if c.vcs != "" {
		return lift.Origin{VCS: c.vcs, Address: address, Credentials: creds}, nil
	}
	found, err := detect.Detect(ctx, detect.Options{Address: address, Credentials: creds, HostKeys: c.hostKeys, Agent: os.Getenv("SSH_AUTH_SOCK"), Egress: out, Log: c.log})
	if err != nil {
		return lift.Origin{}, err
	}
	refuse := func(kind gantry.Kind, format string, args ...any) (lift.Origin, error) {
		return lift.Origin{}, gantry.Errorf(kind, "convert", format, args...)
	}
	switch found.Outcome {
	case detect.Nothing:
		check := "check the address"
		if pegged.MatchString(address.Path) {
			check = "leave the revision after @ away, as the whole history is read"
		}
		return refuse(gantry.NotFound, "%s: %w that is recognised as a repository; %s, or name the system with --vcs", address, origin.ErrNotFound, check)
	case detect.NeedsAuth:
		return refuse(gantry.Unauthenticated, "%s: %w; use --username and --password-stdin", address, origin.ErrAuthRequired)
	case detect.AuthFailed:
		return refuse(gantry.Unauthenticated, "%s: %w; check --username and what --password-stdin reads, which for ssh is a password or a private key, or the keys of the agent", address, origin.ErrAuthFailed)
	case detect.Multiple:
		var names []string
		for _, choice := range found.Choices {
			names = append(names, fmt.Sprintf("%s (%s)", choice.HumanName, choice.VCS))
		}
		return refuse(gantry.Invalid, "%s: %w; give the address of one of them, or --vcs: %s", address, errChoose, strings.Join(names, ", "))
	}
	return lift.Origin{VCS: found.VCS, Address: found.Address, Credentials: creds}, nil
}

// properNames are those of the systems that not every wish suits.
var properNames = map[gantry.VCS]string{gantry.Git: "Git", gantry.Mercurial: "Mercurial"}

// pegged is an address as Subversion's own commands take it, with a revision.
var pegged = regexp.MustCompile(`@([0-9]+|HEAD)?$`)

// complete adds what the user gave beside the address. An agent has keys, and needs a name for them: as for ssh itself, that
// is the user's own.
func (c *conversion) complete(creds *origin.Credentials, address origin.Address) {
	creds.Username = cmp.Or(c.username, creds.Username)
	creds.Password = cmp.Or(c.password, creds.Password)
	if !strings.HasSuffix(address.Scheme, "ssh") || creds.Username != "" || os.Getenv("SSH_AUTH_SOCK") == "" {
		return
	}
	if me, err := user.Current(); err == nil {
		creds.Username = me.Username
	}
}

// locateFile finds out what a file is.
func (c *conversion) locateFile() (lift.Origin, error) {
	vcs, err := lift.Identify(c.origin)
	if err != nil {
		return lift.Origin{}, err
	}
	if vcs == "" {
		return lift.Origin{}, gantry.Errorf(gantry.Invalid, "convert", "%s is neither a Subversion dump nor a Mercurial or Git bundle: make one with \"svnadmin dump\", \"hg bundle --all\" or \"git bundle create\"", c.origin)
	}
	if c.vcs != "" && c.vcs != vcs {
		return lift.Origin{}, gantry.Errorf(gantry.Invalid, "convert", "%s is not a file of %s as --vcs says: Subversion dumps, and bundles of Mercurial and Git can be converted", c.origin, c.vcs)
	}
	return lift.Origin{VCS: vcs, File: c.origin}, nil
}

// knownKeys returns the keys that the user's known_hosts file has for an ssh host.
func knownKeys(address origin.Address) ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil //nolint:nilerr // a user without a home has no such file
	}
	return sshdial.KnownKeys(filepath.Join(home, ".ssh", "known_hosts"), address.HostPort())
}
