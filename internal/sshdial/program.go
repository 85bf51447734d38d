package sshdial

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

const maxComplaint = 2 << 10 // bytes

// Program is a program that runs at the other end of a connection: what is written is its input, what is read its output.
type Program struct {
	HostKey string // that the host showed

	// Greeted is set by who reads when the program has said something that only it says. Until then an end of its output
	// means that it does not run at all.
	Greeted bool

	command string
	client  *Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	said    complaint

	readBy, writeBy time.Time
	expired         atomic.Bool
}

// NotRunning is the error of a program that did not even begin.
type NotRunning struct{ Command, Said string }

func (e *NotRunning) Error() string {
	return fmt.Sprintf("%q does not run at the host: %s", e.Command, e.Said)
}

// Run signs in at a host, as Dial does, and starts a program there.
func Run(ctx context.Context, opt Options, command string) (_ *Program, err error) {
	client, err := Dial(ctx, opt)
	if err != nil {
		return nil, err
	}
	p := &Program{HostKey: client.HostKey, client: client, command: command}
	defer context.AfterFunc(ctx, func() { client.Close() })()
	defer func() {
		if err != nil {
			client.Close()
		}
	}()
	if p.session, err = client.NewSession(); err != nil {
		return nil, err
	}
	p.session.Stderr = &p.said
	if p.in, err = p.session.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.session.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.session.Start(command)
}

// Read reads what the program says. When it did not even begin, the error is a *NotRunning, if the host tells that.
func (p *Program) Read(b []byte) (int, error) {
	defer p.limit(p.readBy)()
	n, err := p.out.Read(b)
	return n, p.fault(err)
}

// Write is Read's counterpart, with the same errors.
func (p *Program) Write(b []byte) (int, error) {
	defer p.limit(p.writeBy)()
	n, err := p.in.Write(b)
	return n, p.fault(err)
}

func (p *Program) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case p.expired.Load():
		return os.ErrDeadlineExceeded
	case p.Greeted:
		return err
	}
	var exit *ssh.ExitError
	if waitErr := p.session.Wait(); errors.As(waitErr, &exit) {
		return &NotRunning{p.command, cmp.Or(p.Said(), fmt.Sprintf("it ended with status %d", exit.ExitStatus()))}
	}
	return err
}

// Said is the beginning of what the program says of its trouble.
func (p *Program) Said() string { return p.said.String() }

// limit closes the connection at a time, unless it is called off before.
func (p *Program) limit(at time.Time) func() bool {
	timer := time.AfterFunc(time.Until(at), func() {
		p.expired.Store(true)
		p.client.Close()
	})
	return timer.Stop
}

// SetReadDeadline is that of a net.Conn; reading needs one.
func (p *Program) SetReadDeadline(at time.Time) error {
	p.readBy = at
	return nil
}

// SetWriteDeadline is that of a net.Conn; writing needs one.
func (p *Program) SetWriteDeadline(at time.Time) error {
	p.writeBy = at
	return nil
}

// Close ends the connection, and the program with it.
func (p *Program) Close() error { return p.client.Close() }

// complaint keeps the beginning of what a program says of its trouble.
type complaint struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(p[:min(len(p), maxComplaint-c.text.Len())])
	return len(p), nil
}

func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(c.text.String()), "?")
}
