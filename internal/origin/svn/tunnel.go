package svn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"gantry/internal/origin"
	"gantry/internal/sshdial"
)

// tunnelCommand is what svn itself runs at the host of an svn+ssh address.
const tunnelCommand = "svnserve -t"

// tunnel is a connection to an svnserve that runs at the other end of an ssh connection.
type tunnel struct{ *sshdial.Program }

// openTunnel signs in at the host of an address and starts svnserve.
func openTunnel(ctx context.Context, opt Options) (*tunnel, error) {
	if opt.Credentials.Username == "" {
		return nil, fmt.Errorf("%w: a user name is needed to sign in by ssh", origin.ErrAuthRequired)
	}
	program, err := sshdial.Run(ctx, sshdial.Options{
		Address: net.JoinHostPort(opt.URL.Hostname(), cmp.Or(opt.URL.Port(), "22")),
		User:    opt.Credentials.Username, Password: opt.Credentials.Password, HostKeys: opt.HostKeys, Agent: opt.Agent, Dial: opt.Dial,
	}, tunnelCommand)
	if err != nil {
		return nil, err
	}
	return &tunnel{program}, nil
}

// Read reads what svnserve says.
func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.Program.Read(p)
	var absent *sshdial.NotRunning
	if errors.As(err, &absent) {
		err = &failure{final: true, meaning: origin.ErrNotFound, message: absent.Error()}
	}
	return n, err
}
