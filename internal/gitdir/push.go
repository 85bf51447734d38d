package gitdir

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"gantry"
	"gantry/internal/pack"
)

// RefUpdate moves one ref. A zero Old says that the ref does not exist yet, a zero New deletes it.
type RefUpdate struct {
	Name     string
	Old, New pack.ID
}

// Push moves refs of the repository at dir to objects that writePack sends (a complete pack; not called when every
// update deletes). All refs move, or none. When one of them is no longer at its Old, the error is of kind Conflict and
// names it; objects that fail the strict checks are of kind Invalid.
func (g *Git) Push(ctx context.Context, dir string, updates []RefUpdate, writePack func(ctx context.Context, w io.Writer) error) error {
	if len(updates) == 0 {
		return nil
	}
	for _, u := range updates {
		if err := CheckRefName(u.Name); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settings := append(StrictObjects("receive"), Setting{"receive.denyDeleteCurrent", "ignore"})
	cmd := g.CommandWith(ctx, dir, settings, "receive-pack", "--stateless-rpc", ".")
	release, err := holdDir(cmd, dir)
	if err != nil {
		return err
	}
	defer release()
	var answer bytes.Buffer
	var said Tail
	cmd.Stdout, cmd.Stderr = &answer, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("gitdir: push: %w", err)
	}
	pipe := &gitPipe{w: in}
	sendErr := sendPush(ctx, pipe, updates, writePack)
	if sendErr != nil && pipe.err == nil {
		cancel() // nothing of what came before the fault may count
	}
	in.Close()
	waitErr := cmd.Wait()
	switch report, err := parseReport(&answer); {
	case sendErr != nil && pipe.err == nil:
		return fmt.Errorf("gitdir: push: write pack: %w", sendErr)
	case err == nil:
		return report.failure(said.String())
	case ctx.Err() != nil:
		return fmt.Errorf("gitdir: push: %w", context.Cause(ctx))
	default:
		return fmt.Errorf("gitdir: push: %w", &ExitError{Command: "receive-pack", Stderr: said.String(), Err: errors.Join(waitErr, err)})
	}
}

// gitPipe tells a writer's own faults from those of a git that stopped listening, and then knows better why.
type gitPipe struct {
	w   io.Writer
	err error
}

func (p *gitPipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if err != nil {
		p.err = err
	}
	return n, err
}

func sendPush(ctx context.Context, w io.Writer, updates []RefUpdate, writePack func(ctx context.Context, w io.Writer) error) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	needsPack := false
	capabilities := "\x00 report-status atomic ofs-delta agent=gantry"
	for _, u := range updates {
		writePacket(buffered, u.Old.String()+" "+u.New.String()+" "+u.Name+capabilities)
		capabilities = ""
		needsPack = needsPack || !u.New.IsZero()
	}
	buffered.WriteString(flushPacket)
	if needsPack {
		if err := writePack(ctx, buffered); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// report is receive-pack's answer (report-status in gitprotocol-pack(5)).
type report struct {
	unpack  string   // "ok" or what went wrong
	refused []string // "<ref> <reason>" of each ref that did not move
}

func parseReport(r io.Reader) (report, error) {
	var rep report
	for first := true; ; first = false {
		line, err := ReadPacket(r)
		if err != nil {
			return report{}, err
		}
		if line == nil {
			if rep.unpack == "" {
				return report{}, errors.New("gitdir: git's report is empty")
			}
			return rep, nil
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch {
		case first && word == "unpack" && rest != "":
			rep.unpack = rest
		case !first && word == "ok":
		case !first && word == "ng":
			rep.refused = append(rep.refused, rest)
		default:
			return report{}, fmt.Errorf("gitdir: unexpected %q in git's report", line)
		}
	}
}

var lockFault = regexp.MustCompile(`(?m)cannot lock ref '(.+?)': (.*)$`)

// failure turns a report, and what git said beside it, into an error; nil when everything moved.
func (r report) failure(stderr string) error {
	if r.unpack == "ok" && len(r.refused) == 0 {
		return nil
	}
	if err := ObjectFault(stderr); err != nil {
		return err
	}
	if m := lockFault.FindStringSubmatch(stderr); m != nil {
		return gantry.Errorf(gantry.Conflict, "gitdir.Push", "ref %s was changed by somebody else meanwhile (%s); nothing was moved", m[1], m[2])
	}
	cause := &ExitError{Command: "receive-pack", Stderr: stderr, Err: fmt.Errorf("unpack %s", r.unpack)}
	if r.unpack == "ok" {
		name, reason, _ := strings.Cut(r.refused[0], " ")
		cause.Err = fmt.Errorf("ref %s: %s", name, reason)
	}
	return fmt.Errorf("gitdir: push: %w", cause)
}
