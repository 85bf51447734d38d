// Package hg reads Mercurial repositories natively: over http, https and ssh with version 1 of the wire protocol
// (mercurial/helptext/internals/wireprotocol.txt in Mercurial's source), and from bundle files (bundles.txt, bundle2.txt
// and changegroups.txt there). Texts keep the form of patches in which they come; internal/delta applies them.
package hg

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"gantry/internal/origin"
)

const defaultIdleTimeout = 5 * time.Minute

// Options say what to read and how to reach it.
type Options struct {
	Address     origin.Address     // of http, https or ssh
	Credentials origin.Credentials // for ssh, Password may be a private key in PEM form
	TempDir     string             // holds what is downloaded before it is read; "" is the system's
	IdleTimeout time.Duration      // without a byte from the server, which may be computing; 0 is 5 minutes

	LFS string // address of a store of Git LFS that is asked, without credentials, in place of the repository's own

	HTTP     http.RoundTripper                                                 // for http and https, and for clone bundles
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // for ssh
	HostKeys []string                                                          // keys that an ssh host may show, as in package sshdial; none: its first key is trusted and reported
	Agent    string                                                            // socket of an ssh agent, "" for none

	Log *slog.Logger
}

// complete fills in what may be left out.
func (opt Options) complete() Options {
	if opt.IdleTimeout == 0 {
		opt.IdleTimeout = defaultIdleTimeout
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return opt
}
