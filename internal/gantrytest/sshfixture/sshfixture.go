// Package sshfixture is an ssh server for tests that runs programs of the machine for one user.
package sshfixture

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Server is a running server.
type Server struct {
	Address    string // host:port
	User       string
	Password   string
	PrivateKey string // PEM
	HostKey    string // as in authorized_keys
}

// Run makes the program for a command line of a client, with the client's environment variables (NAME=value) that it may
// take; nil when there is no such command.
type Run func(line string, env []string) *exec.Cmd

// Serve runs a server for a user until the test ends.
func Serve(t testing.TB, user string, run Run) *Server {
	t.Helper()
	_, hostKey := newKey(t)
	userPEM, userKey := newKey(t)
	s := &Server{User: user, Password: "open sesame", PrivateKey: userPEM, HostKey: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(hostKey.PublicKey())))}
	config := &ssh.ServerConfig{
		PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if c.User() != s.User || string(password) != s.Password {
				return nil, errors.New("wrong password")
			}
			return nil, nil
		},
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if c.User() != s.User || string(key.Marshal()) != string(userKey.PublicKey().Marshal()) {
				return nil, errors.New("unknown key")
			}
			return nil, nil
		},
	}
	config.AddHostKey(hostKey)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { serve(conn, config, run) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return s
}

func newKey(t testing.TB) (text string, signer ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = ssh.NewSignerFromKey(key); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer
}

func serve(conn net.Conn, config *ssh.ServerConfig, run Run) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		var env []string
		for request := range requests {
			switch request.Type {
			case "env":
				var variable struct{ Name, Value string }
				_ = ssh.Unmarshal(request.Payload, &variable)
				env = append(env, variable.Name+"="+variable.Value)
				_ = request.Reply(true, nil)
			case "exec":
				var command struct{ Line string }
				_ = ssh.Unmarshal(request.Payload, &command)
				_ = request.Reply(true, nil)
				code := execute(channel, run(command.Line, env), command.Line)
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
				channel.Close()
			}
		}
	}
}

// execute runs a program with a channel as its input and output, and returns its exit status.
func execute(channel ssh.Channel, cmd *exec.Cmd, line string) uint32 {
	if cmd == nil {
		fmt.Fprintf(channel.Stderr(), "unknown command %q\n", line)
		return 127
	}
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	go func() {
		defer in.Close()
		_, _ = io.Copy(in, channel)
	}()
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return uint32(exit.ExitCode())
		}
		return 1
	}
	return 0
}
