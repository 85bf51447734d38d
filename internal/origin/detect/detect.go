// Package detect finds out which version control system answers at an address, by the signatures that each gives away:
// gitprotocol-http(5), subversion/include/svn_dav.h, mercurial/help/internals/wireprotocol.txt, and the headers of Team
// Foundation Server and Azure DevOps.
package detect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"gantry"
	"gantry/internal/egress"
	"gantry/internal/origin"
	"gantry/internal/origin/git"
	"gantry/internal/origin/hg"
	"gantry/internal/origin/svn"
)

// Outcome is what a detection came to.
type Outcome uint8

const (
	Found      Outcome = iota // VCS and Address say what and where
	Nothing                   // no version control system answers there
	Multiple                  // Choices tell several projects
	NeedsAuth                 // something asks for credentials; VCS tells what, when it shows
	AuthFailed                // it refused the credentials that were given
)

// Result is what is at an address.
type Result struct {
	Outcome Outcome
	VCS     gantry.VCS
	Address origin.Address // where to import from: the given address, or where it leads to on the same host
	Choices []gantry.ProjectChoice
}

// Options say where to look.
type Options struct {
	Address     origin.Address
	Credentials origin.Credentials
	HostKeys    []string   // as in origin/git
	Agent       string     // as in origin/git
	Hint        gantry.VCS // look for this system only, "" for all
	Egress      *egress.Egress
	Log         *slog.Logger
}

const timeLimit = 10 * time.Second

// Detect asks an address, with at most four requests at a time and within ten seconds. Credentials go to the address's
// own host only. Faults of the connection wrap origin.ErrTemporary or origin.ErrNotFound (the host does not exist), and an
// address that the server may not reach is a gantry.Error of kind Forbidden.
func Detect(ctx context.Context, opt Options) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("%s: %w: no answer within %v", opt.Address, origin.ErrTemporary, timeLimit))
	defer cancel()
	var asked []probe
	for _, p := range probes[opt.Address.Scheme] {
		if opt.Hint == "" || opt.Hint == p.vcs {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return Result{}, gantry.Errorf(gantry.Invalid, "detect", "%s repositories cannot be at %s addresses", opt.Hint, opt.Address.Scheme)
	}
	findings := make([]finding, len(asked))
	var group errgroup.Group
	for i, p := range asked {
		group.Go(func() error {
			findings[i] = p.ask(ctx, opt)
			findings[i].vcs = p.vcs
			return nil
		})
	}
	_ = group.Wait()
	result, err := judge(opt, findings)
	if errors.Is(err, origin.ErrTemporary) {
		// There are servers that stumble over several first requests at once, as that of "hg serve" does.
		for i, p := range asked {
			if findings[i].answer == fault {
				findings[i] = p.ask(ctx, opt)
				findings[i].vcs = p.vcs
			}
		}
		result, err = judge(opt, findings)
	}
	if err != nil && ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return result, err
}

// probe asks an address for one system.
type probe struct {
	vcs gantry.VCS
	ask func(ctx context.Context, opt Options) finding
}

var probes = map[string][]probe{
	"http":    httpProbes,
	"https":   httpProbes,
	"git":     {{gantry.Git, askGit}},
	"ssh":     {{gantry.Git, askGit}, {gantry.Mercurial, readMercurial}},
	"svn":     {{gantry.Subversion, askSVN}},
	"svn+ssh": {{gantry.Subversion, askSVN}},
}

var httpProbes = []probe{
	{gantry.Git, askGit}, {gantry.Subversion, askDAV}, {gantry.Mercurial, askMercurial}, {gantry.TFVC, askTFVC},
}

// finding is what one probe came to.
type finding struct {
	vcs     gantry.VCS
	answer  answer
	signed  bool           // with asks: the system has shown itself beside the demand
	address origin.Address // with yes
	err     error          // with fault
}

type answer uint8

const (
	no    answer = iota
	yes          // the system answers
	asks         // it wants credentials, or other ones
	fault        // the connection failed
)

// judge puts findings together. Who answers counts before who asks for credentials, since a host may ask for them on every
// path that it does not know; and a fault counts before "nothing", since another try may find something.
func judge(opt Options, findings []finding) (Result, error) {
	by := make(map[answer][]finding)
	for _, f := range findings {
		by[f.answer] = append(by[f.answer], f)
	}
	switch {
	case len(by[yes]) == 1:
		return Result{Outcome: Found, VCS: by[yes][0].vcs, Address: sameHost(opt.Address, by[yes][0].address)}, nil
	case len(by[yes]) > 1:
		result := Result{Outcome: Multiple, Address: opt.Address}
		for _, f := range by[yes] {
			address := sameHost(opt.Address, f.address).String()
			result.Choices = append(result.Choices, gantry.ProjectChoice{VCS: f.vcs, HumanName: fmt.Sprintf("%s (%s)", address, f.vcs), VCSURL: address})
		}
		return result, nil
	case len(by[asks]) > 0:
		result := Result{Outcome: NeedsAuth, Address: opt.Address}
		if !opt.Credentials.Empty() {
			result.Outcome = AuthFailed
		}
		for _, f := range by[asks] {
			if f.signed || len(by[asks]) == 1 {
				result.VCS = f.vcs
			}
		}
		return result, nil
	case len(by[fault]) > 0:
		for _, f := range by[fault] {
			if errors.Is(f.err, egress.ErrRefused) {
				return Result{}, f.err
			}
		}
		return Result{}, by[fault][0].err
	}
	return Result{Outcome: Nothing, Address: opt.Address}, nil
}

// sameHost returns where an address led to, unless that is on another host: credentials are for the given one, and
// whoever follows again knows to leave them behind.
func sameHost(given, found origin.Address) origin.Address {
	if found.Scheme != given.Scheme || found.Host != given.Host {
		return given
	}
	return found
}

// fromError tells what a reader's error means for a detection.
func fromError(address origin.Address, err error) finding {
	var name *net.DNSError
	switch {
	case err == nil:
		return finding{answer: yes, address: address}
	case errors.Is(err, origin.ErrAuthRequired), errors.Is(err, origin.ErrAuthFailed):
		return finding{answer: asks}
	case errors.Is(err, origin.ErrNotFound) && !errors.As(err, &name):
		return finding{answer: no}
	}
	return finding{answer: fault, err: err}
}

func askGit(ctx context.Context, opt Options) finding {
	answer, err := git.Probe(ctx, git.Options{
		Address: opt.Address, Credentials: opt.Credentials, HostKeys: opt.HostKeys, Agent: opt.Agent, Egress: opt.Egress, Log: opt.Log,
	})
	return fromError(answer.Address, err)
}

func askSVN(ctx context.Context, opt Options) finding {
	address, err := url.Parse(opt.Address.String())
	if err != nil {
		return finding{answer: fault, err: err}
	}
	var dialErr error
	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		conn, dialErr = opt.Egress.DialContext(ctx, network, address)
		return conn, dialErr
	}
	source, err := svn.Open(ctx, svn.Options{
		URL: address, Credentials: opt.Credentials, HostKeys: opt.HostKeys, Agent: opt.Agent,
		Dial: dial, HTTP: opt.Egress.HTTPClient().Transport, Log: opt.Log,
	})
	if err == nil {
		err = source.Close()
	}
	if dialErr != nil { // also of a host that does not exist, which is not "nothing"
		return finding{answer: fault, err: err}
	}
	return fromError(opt.Address, err)
}

// readMercurial opens an address as its reader does.
func readMercurial(ctx context.Context, opt Options) finding {
	source, err := hg.Open(ctx, hg.Options{
		Address: opt.Address, Credentials: opt.Credentials, HostKeys: opt.HostKeys, Agent: opt.Agent,
		HTTP: opt.Egress.HTTPClient().Transport, Dial: opt.Egress.DialContext, Log: opt.Log,
	})
	if err == nil {
		err = source.Close()
	}
	return fromError(opt.Address, err)
}
