package gitdir

import (
	"context"
	"errors"
	"io"
)

// Service is one of the two programs that a Git client talks to.
type Service string

const (
	UploadPack  Service = "upload-pack"
	ReceivePack Service = "receive-pack"
)

// Advertise writes what the service says first: the body of an answer to info/refs without its "# service" line.
// Protocol is the client's Git-Protocol header, "" without one; what is no protocol version is ignored.
func (g *Git) Advertise(ctx context.Context, service Service, dir, protocol string, out io.Writer) error {
	return errors.ErrUnsupported
}

// Serve answers one stateless request of a client. It is killed when ctx ends.
func (g *Git) Serve(ctx context.Context, service Service, dir, protocol string, in io.Reader, out io.Writer) error {
	return errors.ErrUnsupported
}
