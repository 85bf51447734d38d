// Package githelper is what git calls back while it fetches: Gantry's own program, run again as git's credential helper,
// git:// proxy command and ssh client. See gitcredentials(7), GIT_PROXY_COMMAND and GIT_SSH in git(1).
//
// What it must know comes over an inherited pipe, so that credentials are in no argument list, environment, address or
// file. Only the address of the egress proxy, with a secret that dies with the command, stands in git's environment for
// http: git takes it from nowhere else.
package githelper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/crypto/ssh"

	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/sshdial"
)

// Note is what the helper is told: for whom it may speak, and how it reaches the origin.
type Note struct {
	Proxy    string // address of the egress proxy, with its secret
	Scheme   string // http, https, git or ssh
	Host     string // the one host, with its port if one is in the address, that credentials are for
	Username string
	Password string   // for ssh, or a private key in PEM form
	HostKeys []string // as in package sshdial
	Agent    string   // socket of an ssh agent, "" for none
}

const (
	modeVariable = "GANTRY_GIT_HELPER" // set for git's children only; says what they are to be
	noteFile     = 3                   // the descriptor of the note
	maxNote      = 32 << 10            // fits into a pipe, so that nobody has to wait for the helper to read
)

// Command prepares a git command as gitdir does, whose connections go through the note's proxy and which asks the helper
// where it needs one. The program itself (os.Executable) is the helper: its main must call Main first. The caller calls
// done when the command has ended.
func Command(ctx context.Context, g *gitdir.Git, dir string, note Note, settings []gitdir.Setting, args ...string) (cmd *exec.Cmd, done func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("githelper: find this program: %w", err)
	}
	text, err := json.Marshal(note)
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxNote {
		return nil, nil, errors.New("githelper: the credentials are too long")
	}
	settings = append(settings[:len(settings):len(settings)], gitdir.Setting{Key: "protocol." + note.Scheme + ".allow", Value: "always"})
	var env []string
	switch note.Scheme {
	case "http", "https":
		settings = append(settings,
			gitdir.Setting{Key: "http.proxy", Value: note.Proxy},
			gitdir.Setting{Key: "http.proxyAuthMethod", Value: "basic"},
			gitdir.Setting{Key: "http.followRedirects", Value: "false"},
			gitdir.Setting{Key: "credential.helper", Value: "!" + sshdial.Quote(self)})
		env = []string{modeVariable + "=credential", "no_proxy=", "NO_PROXY="}
	case "git":
		env = []string{modeVariable + "=proxy", "GIT_PROXY_COMMAND=" + self}
	case "ssh":
		env = []string{modeVariable + "=ssh", "GIT_SSH=" + self, "GIT_SSH_VARIANT=ssh"}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	if _, err := write.Write(text); err != nil {
		return nil, nil, errors.Join(err, read.Close(), write.Close())
	}
	if err := write.Close(); err != nil {
		return nil, nil, errors.Join(err, read.Close())
	}
	cmd = g.CommandWith(ctx, dir, settings, args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.ExtraFiles = []*os.File{read}
	return cmd, func() { read.Close() }, nil
}

// Main is the helper, when git calls it. Every program that fetches from Git origins calls it first thing, tests
// included (in TestMain), and exits with code when handled.
func Main(args []string) (handled bool, code int) {
	mode := os.Getenv(modeVariable)
	if mode == "" {
		return false, 0
	}
	if mode == "credential" && (len(args) != 1 || args[0] != "get") {
		return true, 0 // nothing is stored, and so nothing is erased
	}
	ctx := context.Background()
	note, err := readNote()
	if err == nil {
		switch mode {
		case "credential":
			err = credential(note, os.Stdin, os.Stdout)
		case "proxy":
			err = proxy(ctx, note, args)
		case "ssh":
			code, err = sshClient(ctx, note, args)
		default:
			err = fmt.Errorf("%s=%q is unknown", modeVariable, mode)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gantry:", err)
		return true, 1
	}
	return true, code
}

func readNote() (Note, error) {
	var note Note
	f := os.NewFile(noteFile, "note")
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return note, err
	}
	if len(text) == 0 {
		return note, errors.New("git asks again, and there are no further credentials")
	}
	return note, json.Unmarshal(text, &note)
}

// credential answers git's "get" for the one host that the credentials are for.
func credential(note Note, in io.Reader, out io.Writer) error {
	if note.Username == "" && note.Password == "" {
		return nil
	}
	asked := map[string]string{}
	for lines := bufio.NewScanner(in); lines.Scan() && lines.Text() != ""; {
		key, value, _ := strings.Cut(lines.Text(), "=")
		asked[key] = value
	}
	if asked["protocol"] != note.Scheme || !strings.EqualFold(asked["host"], note.Host) {
		return fmt.Errorf("git asks for credentials of %s://%s, not of the origin", asked["protocol"], asked["host"])
	}
	if strings.ContainsAny(note.Username+note.Password, "\n\r\x00") {
		return errors.New("user name and password cannot contain line ends")
	}
	_, err := fmt.Fprintf(out, "username=%s\npassword=%s\nquit=1\n", note.Username, note.Password)
	return err
}

// proxy joins git's standard input and output to a connection: GIT_PROXY_COMMAND host port.
func proxy(ctx context.Context, note Note, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("git gives %d arguments instead of host and port", len(args))
	}
	conn, err := note.dial(ctx, "tcp", net.JoinHostPort(args[0], args[1]))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

func (n Note) dial(ctx context.Context, _, address string) (net.Conn, error) {
	proxy, err := url.Parse(n.Proxy)
	if err != nil {
		return nil, err
	}
	return egress.DialProxy(ctx, proxy, address)
}

// sshClient runs a command at the origin: GIT_SSH [-o option] [-p port] [user@]host command.
func sshClient(ctx context.Context, note Note, args []string) (code int, err error) {
	port := "22"
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-p", "-o":
			if len(args) < 2 {
				return 0, fmt.Errorf("git gives no value for %s", args[0])
			}
			if args[0] == "-p" {
				port = args[1]
			}
			args = args[2:]
		default:
			return 0, fmt.Errorf("git gives the option %s, which is not known", args[0])
		}
	}
	if len(args) != 2 {
		return 0, fmt.Errorf("git gives %d arguments instead of host and command", len(args))
	}
	user, host, ok := strings.Cut(args[0], "@")
	if !ok {
		user, host = note.Username, args[0]
	}
	client, err := sshdial.Dial(ctx, sshdial.Options{
		Address: net.JoinHostPort(host, port), User: user, Password: note.Password,
		HostKeys: note.HostKeys, Agent: note.Agent, Dial: note.dial,
	})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if version := os.Getenv("GIT_PROTOCOL"); version != "" {
		_ = session.Setenv("GIT_PROTOCOL", version) // many hosts refuse it, and then speak the first version
	}
	session.Stdout, session.Stderr = os.Stdout, os.Stderr
	in, err := session.StdinPipe() // not session.Stdin, for whose end Wait would wait
	if err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(in, os.Stdin)
		in.Close()
	}()
	var exit *ssh.ExitError
	if err := session.Run(args[1]); errors.As(err, &exit) {
		return exit.ExitStatus(), nil
	} else if err != nil {
		return 0, err
	}
	return 0, nil
}
