package gitdir

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
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
	cmd := g.serve(ctx, service, dir, protocol, "--http-backend-info-refs")
	cmd.Stdout = out
	return served(service, dir, Run(cmd))
}

// Serve answers one stateless request of a client. Git is killed when ctx ends; a Read of in that waits for the client at
// that moment is not waited for, and in must not be used again.
func (g *Git) Serve(ctx context.Context, service Service, dir, protocol string, in io.Reader, out io.Writer) error {
	cmd := g.serve(ctx, service, dir, protocol, "--stateless-rpc")
	cmd.Stdout = out
	if service == ReceivePack {
		release, err := holdDir(cmd, dir)
		if err != nil {
			return err
		}
		defer release()
	}
	pipe, err := cmd.StdinPipe() // not cmd.Stdin: exec would wait for in to end, whatever became of git
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(pipe, in)
		pipe.Close()
	}()
	return served(service, dir, Run(cmd))
}

var protocolVersion = regexp.MustCompile(`(?:^|:)(version=[12])(?:$|:)`)

func (g *Git) serve(ctx context.Context, service Service, dir, protocol, mode string) *exec.Cmd {
	settings := []Setting{{"uploadpack.allowFilter", "true"}}
	args := []string{string(service), mode}
	if service == ReceivePack {
		settings = StrictObjects("receive")
	} else {
		args = append(args, "--strict") // the directory itself, no guesses
	}
	cmd := g.CommandWith(ctx, dir, settings, append(args, ".")...)
	if m := protocolVersion.FindStringSubmatch(protocol); m != nil {
		cmd.Env = append(cmd.Env, "GIT_PROTOCOL="+m[1])
	}
	return cmd
}

func served(service Service, dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("gitdir: serve %s of %s: %w", service, dir, err)
}
