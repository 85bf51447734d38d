package hg

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/revlog"
	"gantry/internal/sshdial"
)

const (
	maxNoise  = 1 << 20 // bytes of greetings by others, before Mercurial's own
	maxSpoken = 256 << 10
	sshBuffer = 256 << 10

	usualUser = "hg" // whom hosts of many people's repositories let in
)

// sshPeer is a server that runs at the other end of an ssh connection.
type sshPeer struct {
	opt     Options
	command string
	program *sshdial.Program // nil when the connection is of no more use
	in      *bufio.Reader
	caps    capabilities
}

// dialSSH starts a server at the host of an address, and learns what it can do.
func dialSSH(ctx context.Context, opt Options) (*sshPeer, error) {
	command, err := serveCommand(opt.Address)
	if err != nil {
		return nil, err
	}
	p := &sshPeer{opt: opt, command: command}
	return p, p.connect(ctx)
}

// serveCommand is what hg itself runs at the host of an ssh address. A path is below the home directory, unless it begins
// with two slashes.
func serveCommand(address origin.Address) (string, error) {
	path := address.Path
	if !address.Short {
		plain, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
		if err != nil {
			return "", gantry.Errorf(gantry.Invalid, "hg.Open", "%s is not a valid address", address)
		}
		path = plain
	}
	switch {
	case strings.HasPrefix(path, "-"):
		return "", gantry.Errorf(gantry.Invalid, "hg.Open", "%s: a path cannot begin with a hyphen", address)
	case path == "":
		path = "."
	case !plainWord.MatchString(path):
		path = sshdial.Quote(path)
	}
	return "hg -R " + path + " serve --stdio", nil
}

// plainWord needs no quotes. Hosts that let only this one command through may know it without them only.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9@%_+=:,./-]+$`)

// connect starts the server. A host must show the same key every time.
func (p *sshPeer) connect(ctx context.Context) error {
	program, err := sshdial.Run(ctx, sshdial.Options{
		Address: p.opt.Address.HostPort(), User: cmp.Or(p.opt.Credentials.Username, usualUser), Password: p.opt.Credentials.Password,
		HostKeys: p.opt.HostKeys, Agent: p.opt.Agent, Dial: p.opt.Dial,
	}, p.command)
	switch {
	case errors.Is(err, origin.ErrAuthRequired), errors.Is(err, origin.ErrAuthFailed), errors.Is(err, origin.ErrTemporary):
		return err
	case err != nil:
		return origin.ConnectionError(p.opt.Address.String(), err)
	}
	p.program, p.opt.HostKeys = program, []string{program.HostKey}
	p.in = bufio.NewReaderSize(sshReader{p}, sshBuffer)
	return p.do(ctx, func() error {
		greeting, err := p.greet()
		p.caps = parseCapabilities(greeting)
		return err
	})
}

func (p *sshPeer) capabilities() *capabilities { return &p.caps }
func (p *sshPeer) maxNodes() int               { return math.MaxInt }
func (p *sshPeer) hostKey() string             { return p.opt.HostKeys[0] }

func (p *sshPeer) Close() error {
	p.hangUp()
	return nil
}

func (p *sshPeer) hangUp() {
	if p.program != nil {
		p.program.Close()
		p.program = nil
	}
}

// do talks to the server. After an error nobody knows what the connection's next byte means, so it is closed.
func (p *sshPeer) do(ctx context.Context, talk func() error) error {
	program := p.program
	stop := context.AfterFunc(ctx, func() { program.Close() })
	err := talk()
	if !stop() || err != nil {
		p.hangUp()
	}
	return err
}

// begin makes sure of a connection and sends a command.
func (p *sshPeer) begin(ctx context.Context, c command) error {
	if p.program == nil {
		if err := p.connect(ctx); err != nil {
			return err
		}
	}
	return p.do(ctx, func() error { return p.write(appendCommand(nil, c)) })
}

func (p *sshPeer) ask(ctx context.Context, c command) (answer []byte, err error) {
	if err := p.begin(ctx, c); err != nil {
		return nil, err
	}
	err = p.do(ctx, func() error {
		answer, err = p.answer()
		return err
	})
	return answer, err
}

func (p *sshPeer) stream(ctx context.Context, c command, read func(io.Reader) error) error {
	return p.plain(ctx, c, func(in *bufio.Reader) error { return read(in) })
}

func (p *sshPeer) plain(ctx context.Context, c command, read func(*bufio.Reader) error) error {
	if err := p.begin(ctx, c); err != nil {
		return err
	}
	return p.do(ctx, func() error { return read(p.in) })
}

// appendCommand writes a command: a line of its name, then for each argument a line of its name and length and its value.
func appendCommand(b []byte, c command) []byte {
	b = append(b, c.name+"\n"...)
	if c.star {
		b = fmt.Appendf(b, "* %d\n", len(c.more))
		for _, arg := range c.more {
			b = fmt.Appendf(b, "%s %d\n%s", arg.name, len(arg.value), arg.value)
		}
	}
	for _, arg := range c.args {
		b = fmt.Appendf(b, "%s %d\n%s", arg.name, len(arg.value), arg.value)
	}
	return b
}

// greet passes over what login scripts say before Mercurial does, and returns the line of capabilities. The second question
// has an answer that nothing else looks like, which ends the greeting.
func (p *sshPeer) greet() (string, error) {
	none := revlog.Null.String()
	hello := appendCommand(nil, command{name: "hello"})
	if err := p.write(appendCommand(hello, command{name: "between", args: []argument{{"pairs", none + "-" + none}}})); err != nil {
		return "", err
	}
	var found, last string
	for noise := 0; noise <= maxNoise; {
		line, err := p.line()
		if err != nil {
			return "", err
		}
		if capabilities, ok := strings.CutPrefix(line, "capabilities:"); ok {
			p.program.Greeted, found = true, capabilities
		}
		if last == "1" && line == "" {
			if found == "" {
				return "", malformedf("it does not say what it can do")
			}
			return found, nil
		}
		last = line
		noise += len(line) + 1
	}
	return "", malformedf("it talks without greeting")
}

// line reads a line without its end.
func (p *sshPeer) line() (string, error) {
	var text []byte
	for {
		part, err := p.in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return string(bytes.TrimSuffix(text, []byte("\n"))), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		case len(text) > maxSpoken:
			return "", malformedf("a line has more than %d bytes", maxSpoken)
		}
	}
}

// answer reads a line of a length and so many bytes.
func (p *sshPeer) answer() ([]byte, error) {
	line, err := p.line()
	if err != nil {
		return nil, err
	}
	if line == "" { // an error, which is said beside the answers
		return nil, &aborted{message: p.program.Said()}
	}
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil || n < 0 || n > maxAnswer {
		return nil, malformedf("%.80q came where the length of an answer was to come", line)
	}
	return readInto(p.in, nil, int(n))
}

func (p *sshPeer) write(b []byte) error {
	if err := p.program.SetWriteDeadline(time.Now().Add(p.opt.IdleTimeout)); err != nil {
		return err
	}
	_, err := p.program.Write(b)
	return p.fault(err)
}

// sshReader reads from the connection that there is.
type sshReader struct{ p *sshPeer }

func (r sshReader) Read(b []byte) (int, error) {
	if err := r.p.program.SetReadDeadline(time.Now().Add(r.p.opt.IdleTimeout)); err != nil {
		return 0, err
	}
	n, err := r.p.program.Read(b)
	return n, r.p.fault(err)
}

// fault says what it means that the connection broke.
func (p *sshPeer) fault(err error) error {
	var absent *sshdial.NotRunning
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &absent):
		return &failure{meaning: origin.ErrNotFound, message: absent.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: the server was silent for %v", origin.ErrTemporary, p.opt.IdleTimeout)
	case errors.Is(err, io.EOF) && p.program.Said() != "":
		return fmt.Errorf("%w: the server closed it, and says: %s", origin.ErrTemporary, p.program.Said())
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the server closed it", origin.ErrTemporary)
	}
	return fmt.Errorf("%w: %w", origin.ErrTemporary, err)
}
