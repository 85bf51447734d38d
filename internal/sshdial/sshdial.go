// Package sshdial opens ssh connections (RFC 4251 to 4254) to origins with a user's password, private key or agent.
//
// Host keys: the first key that a host shows is trusted and reported, so that the caller records it; with a recorded key
// the host must show that one. Keys are written as in authorized_keys: "ssh-ed25519 AAAA...".
package sshdial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"gantry"
	"gantry/internal/origin"
)

const handshakeTimeout = 30 * time.Second

// Options say where to connect and as whom.
type Options struct {
	Address  string // host:port
	User     string
	Password string   // or a private key in PEM form
	HostKeys []string // keys that the host may show; none: any
	Agent    string   // socket of an ssh agent, "" for none

	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is an open connection.
type Client struct {
	*ssh.Client
	HostKey string // the key that the host showed
}

// Dial connects and authenticates. Errors wrap origin.ErrAuthRequired, ErrAuthFailed or ErrTemporary; a host that shows
// another key than those of HostKeys is a gantry.Error of kind Forbidden.
func Dial(ctx context.Context, opt Options) (*Client, error) {
	methods, closeAgent, err := authMethods(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer closeAgent()
	known, err := parseKeys(opt.HostKeys)
	if err != nil {
		return nil, err
	}
	client := new(Client)
	config := &ssh.ClientConfig{
		User:              opt.User,
		Auth:              methods,
		HostKeyAlgorithms: algorithms(known),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			client.HostKey = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
			for _, k := range known {
				if bytes.Equal(k.Marshal(), key.Marshal()) {
					return nil
				}
			}
			if len(known) == 0 {
				return nil
			}
			return gantry.Errorf(gantry.Forbidden, "ssh", "%s shows the key %s, which is not the one it showed before; if its operator confirms the change, start a new import",
				opt.Address, ssh.FingerprintSHA256(key))
		},
	}
	conn, err := opt.Dial(ctx, "tcp", opt.Address)
	if err != nil {
		return nil, fmt.Errorf("ssh: connect to %s: %w", opt.Address, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	link, channels, requests, err := ssh.NewClientConn(conn, opt.Address, config)
	if err != nil {
		conn.Close()
		return nil, classify(opt, len(methods), err)
	}
	_ = conn.SetDeadline(time.Time{})
	client.Client = ssh.NewClient(link, channels, requests)
	return client, nil
}

func classify(opt Options, methods int, err error) error {
	var known *gantry.Error
	switch {
	case errors.As(err, &known):
		return known
	case strings.Contains(err.Error(), "unable to authenticate") && methods == 0:
		return fmt.Errorf("ssh: %s: %w", opt.Address, origin.ErrAuthRequired)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return fmt.Errorf("ssh: %s as %s: %w", opt.Address, opt.User, origin.ErrAuthFailed)
	}
	return fmt.Errorf("ssh: %s: %w: %w", opt.Address, origin.ErrTemporary, err)
}

func authMethods(ctx context.Context, opt Options) ([]ssh.AuthMethod, func(), error) {
	var methods []ssh.AuthMethod
	done := func() {}
	if strings.HasPrefix(strings.TrimSpace(opt.Password), "-----BEGIN ") {
		signer, err := ssh.ParsePrivateKey([]byte(strings.TrimSpace(opt.Password) + "\n"))
		if err != nil {
			return nil, nil, gantry.Errorf(gantry.Invalid, "ssh", "the private key cannot be read (keys with a passphrase are not accepted): %w", origin.ErrAuthFailed)
		}
		methods = append(methods, ssh.PublicKeys(signer))
	} else if opt.Password != "" {
		answer := func(_, _ string, questions []string, _ []bool) ([]string, error) {
			answers := make([]string, len(questions))
			for i := range answers {
				answers[i] = opt.Password
			}
			return answers, nil
		}
		methods = append(methods, ssh.Password(opt.Password), ssh.KeyboardInteractive(answer))
	}
	if opt.Agent != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", opt.Agent)
		if err != nil {
			return nil, nil, fmt.Errorf("ssh: connect to the agent: %w", err)
		}
		done = func() { conn.Close() }
		methods = append(methods, ssh.PublicKeysCallback(agent.NewClient(conn).Signers))
	}
	return methods, done, nil
}

func parseKeys(lines []string) ([]ssh.PublicKey, error) {
	var keys []ssh.PublicKey
	for _, line := range lines {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, gantry.Errorf(gantry.Invalid, "ssh", "%q is not a public key", line)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// KnownKeys returns the keys that a known_hosts file (sshd(8)) has for a host, in the form of Options.HostKeys; none when
// it does not know the host, or there is no such file.
func KnownKeys(file, address string) ([]string, error) {
	check, err := knownhosts.New(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ssh: %w", err)
	}
	// The file is only ever asked about a key; the answer to one that no host has names those that it wants.
	var unknown *knownhosts.KeyError
	if err := check(address, &net.TCPAddr{}, noKey{}); !errors.As(err, &unknown) {
		return nil, fmt.Errorf("ssh: %s, host %s: %w", file, address, err)
	}
	var keys []string
	for _, k := range unknown.Want {
		keys = append(keys, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.Key))))
	}
	return keys, nil
}

// noKey is a public key that is nobody's.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("ssh: no key") }

// algorithms asks a host for the kinds of key that are known, since most hosts have several.
func algorithms(known []ssh.PublicKey) []string {
	var names []string
	for _, key := range known {
		if key.Type() == ssh.KeyAlgoRSA {
			names = append(names, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			names = append(names, key.Type())
		}
	}
	return names
}

// Quote writes a word for the shell at the other end.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
