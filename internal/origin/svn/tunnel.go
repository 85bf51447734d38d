package svn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"gantry/internal/origin"
	"gantry/internal/sshdial"
)

// tunnelCommand is what svn itself runs at the host of an svn+ssh address.
const tunnelCommand = "svnserve -t"

const maxComplaint = 2 << 10 // bytes

// tunnel is a connection to an svnserve that runs at the other end of an ssh connection.
type tunnel struct {
	client  *sshdial.Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	said    complaint
	runs    bool // svnserve has greeted

	readBy, writeBy time.Time
	expired         atomic.Bool
}

// openTunnel signs in at the host of an address and starts svnserve.
func openTunnel(ctx context.Context, opt Options) (_ *tunnel, err error) {
	if opt.Credentials.Username == "" {
		return nil, fmt.Errorf("%w: a user name is needed to sign in by ssh", origin.ErrAuthRequired)
	}
	client, err := sshdial.Dial(ctx, sshdial.Options{
		Address: net.JoinHostPort(opt.URL.Hostname(), cmp.Or(opt.URL.Port(), "22")),
		User:    opt.Credentials.Username, Password: opt.Credentials.Password, HostKeys: opt.HostKeys, Agent: opt.Agent, Dial: opt.Dial,
	})
	if err != nil {
		return nil, err
	}
	t := &tunnel{client: client}
	defer context.AfterFunc(ctx, func() { client.Close() })()
	defer func() {
		if err != nil {
			client.Close()
		}
	}()
	if t.session, err = client.NewSession(); err != nil {
		return nil, err
	}
	t.session.Stderr = &t.said
	if t.in, err = t.session.StdinPipe(); err != nil {
		return nil, err
	}
	if t.out, err = t.session.StdoutPipe(); err != nil {
		return nil, err
	}
	return t, t.session.Start(tunnelCommand)
}

// Read reads what svnserve says. When it did not even begin, the error says why, if the host tells that.
func (t *tunnel) Read(p []byte) (int, error) {
	defer t.limit(t.readBy)()
	n, err := t.out.Read(p)
	if err == nil || t.runs || t.expired.Load() {
		return n, t.fault(err)
	}
	var exit *ssh.ExitError
	if waitErr := t.session.Wait(); errors.As(waitErr, &exit) {
		said := cmp.Or(t.said.String(), fmt.Sprintf("it ended with status %d", exit.ExitStatus()))
		return n, &failure{final: true, meaning: origin.ErrNotFound, message: fmt.Sprintf("%q does not run at the host: %s", tunnelCommand, said)}
	}
	return n, err
}

func (t *tunnel) Write(p []byte) (int, error) {
	defer t.limit(t.writeBy)()
	n, err := t.in.Write(p)
	return n, t.fault(err)
}

// limit closes the connection at a time, unless it is called off before.
func (t *tunnel) limit(at time.Time) func() bool {
	timer := time.AfterFunc(time.Until(at), func() {
		t.expired.Store(true)
		t.client.Close()
	})
	return timer.Stop
}

func (t *tunnel) fault(err error) error {
	if err != nil && t.expired.Load() {
		return os.ErrDeadlineExceeded
	}
	return err
}

func (t *tunnel) SetReadDeadline(at time.Time) error {
	t.readBy = at
	return nil
}

func (t *tunnel) SetWriteDeadline(at time.Time) error {
	t.writeBy = at
	return nil
}

func (t *tunnel) Close() error { return t.client.Close() }

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
