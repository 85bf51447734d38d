package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"gantry"
	"gantry/internal/gitdir"
	"gantry/internal/origin"
	"gantry/internal/sshdial"
)

// Answer is what a Git origin says of itself before anything is fetched.
type Answer struct {
	Address origin.Address // where it is: the given address, or where that leads to
	HostKey string         // ssh: the key that the host showed
}

const probeTimeout = 30 * time.Second

// Probe finds out whether a Git repository answers at opt.Address. Its errors are those of Fetch; an answer that is not
// Git's wraps origin.ErrNotFound.
func Probe(ctx context.Context, opt Options) (answer Answer, err error) {
	defer func() { err = scrub(err, opt.Credentials) }()
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("%s: %w: no answer within %v", opt.Address, origin.ErrTemporary, probeTimeout))
	defer cancel()
	switch opt.Address.Scheme {
	case "http", "https":
		answer, err = probeHTTP(ctx, opt)
	case "git":
		answer, err = probeDaemon(ctx, opt)
	case "ssh":
		answer, err = probeSSH(ctx, opt)
	default:
		return Answer{}, gantry.Errorf(gantry.Invalid, "git.Probe", "Git cannot be fetched from %s addresses", opt.Address.Scheme)
	}
	if err != nil && ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	return answer, err
}

// probeHTTP asks a smart server for its refs (gitprotocol-http(5)). Many hosts want or leave out ".git" at the end.
func probeHTTP(ctx context.Context, opt Options) (Answer, error) {
	answer, err := askHTTP(ctx, opt, opt.Address)
	if errors.Is(err, origin.ErrNotFound) && !strings.HasSuffix(opt.Address.Path, ".git") {
		longer := opt.Address
		longer.Path = strings.TrimSuffix(longer.Path, "/") + ".git"
		if second, secondErr := askHTTP(ctx, opt, longer); secondErr == nil {
			return second, nil
		}
	}
	return answer, err
}

const infoRefs = "/info/refs"

func askHTTP(ctx context.Context, opt Options, address origin.Address) (Answer, error) {
	target := address
	target.Path = strings.TrimSuffix(target.Path, "/") + infoRefs
	target.Query = "service=git-upload-pack"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return Answer{}, gantry.Errorf(gantry.Invalid, "git.Probe", "%s is not a valid address", address)
	}
	request.Header.Set("Git-Protocol", "version=2")
	request.Header.Set("User-Agent", "git/gantry")
	if !opt.Credentials.Empty() {
		request.SetBasicAuth(opt.Credentials.Username, opt.Credentials.Password)
	}
	response, err := opt.Egress.HTTPClient().Do(request)
	if err != nil {
		return Answer{}, origin.ConnectionError(address.String(), err)
	}
	defer response.Body.Close()
	start, err := io.ReadAll(io.LimitReader(response.Body, 64))
	if err != nil {
		return Answer{}, origin.ConnectionError(address.String(), err)
	}
	if err := judgeHTTP(address, opt.Credentials, response, start); err != nil {
		return Answer{}, err
	}
	return Answer{Address: afterRedirects(address, response.Request.URL)}, nil
}

var dumbRef = regexp.MustCompile(`^[0-9a-f]{40}\t`)

func judgeHTTP(address origin.Address, creds origin.Credentials, response *http.Response, start []byte) error {
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return refusedError(address, creds)
	case code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented:
		return fmt.Errorf("%s: %w: it answers %s", address, origin.ErrTemporary, response.Status)
	case code != http.StatusOK:
		return fmt.Errorf("%s: %w: it answers %s", address, origin.ErrNotFound, response.Status)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case kind == "application/x-git-upload-pack-advertisement":
		return nil
	case dumbRef.Match(start):
		return gantry.Errorf(gantry.Invalid, "git.Probe", "%s offers its repository as plain files only (dumb HTTP), which cannot be imported safely; upload a bundle of it instead, or use its ssh or git address", address)
	}
	return fmt.Errorf("%s: %w: the answer is %q, not a Git repository", address, origin.ErrNotFound, kind)
}

func refusedError(address origin.Address, creds origin.Credentials) error {
	if creds.Empty() {
		return fmt.Errorf("%s: %w", address, origin.ErrAuthRequired)
	}
	return fmt.Errorf("%s: %w", address, origin.ErrAuthFailed)
}

// afterRedirects is where a repository is, given where its info/refs was found.
func afterRedirects(asked origin.Address, found *url.URL) origin.Address {
	path, ok := strings.CutSuffix(found.EscapedPath(), infoRefs)
	if !ok {
		return asked
	}
	return origin.Address{Scheme: found.Scheme, Host: strings.ToLower(found.Host), Path: path}
}

// probeDaemon asks a git daemon (gitprotocol-pack(5), "Git Transport").
func probeDaemon(ctx context.Context, opt Options) (Answer, error) {
	path, err := remotePath(opt.Address)
	if err != nil {
		return Answer{}, err
	}
	conn, err := opt.Egress.DialContext(ctx, "tcp", opt.Address.HostPort())
	if err != nil {
		return Answer{}, origin.ConnectionError(opt.Address.String(), err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	request := "git-upload-pack " + path + "\x00host=" + opt.Address.Host + "\x00"
	if _, err := fmt.Fprintf(conn, "%04x%s", len(request)+4, request); err != nil {
		return Answer{}, origin.ConnectionError(opt.Address.String(), err)
	}
	first, err := gitdir.ReadPacket(conn)
	switch {
	case err != nil:
		return Answer{}, origin.ConnectionError(opt.Address.String(), err)
	case strings.HasPrefix(string(first), "ERR "):
		return Answer{}, fmt.Errorf("%s: %w: it says %q", opt.Address, origin.ErrNotFound, strings.TrimSpace(string(first[4:])))
	}
	return Answer{Address: opt.Address}, nil
}

// probeSSH runs git-upload-pack at the origin and reads its first packet.
func probeSSH(ctx context.Context, opt Options) (Answer, error) {
	path, err := remotePath(opt.Address)
	if err != nil {
		return Answer{}, err
	}
	client, err := sshdial.Dial(ctx, sshdial.Options{
		Address: opt.Address.HostPort(), User: userOf(opt.Credentials), Password: opt.Credentials.Password,
		HostKeys: opt.HostKeys, Agent: opt.Agent, Dial: opt.Egress.DialContext,
	})
	if err != nil {
		return Answer{}, origin.ConnectionError(opt.Address.String(), err)
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	session, err := client.NewSession()
	if err != nil {
		return Answer{}, origin.ConnectionError(opt.Address.String(), err)
	}
	defer session.Close()
	var said gitdir.Tail
	session.Stderr = &said
	in, err := session.StdinPipe()
	if err != nil {
		return Answer{}, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return Answer{}, err
	}
	if err := session.Start("git-upload-pack " + sshdial.Quote(path)); err != nil {
		return Answer{}, origin.ConnectionError(opt.Address.String(), err)
	}
	_, packetErr := gitdir.ReadPacket(out)
	_, _ = io.WriteString(in, "0000") // nothing is wanted
	in.Close()
	waitErr := session.Wait()
	if packetErr == nil {
		return Answer{Address: opt.Address, HostKey: client.HostKey}, nil
	}
	var exit *ssh.ExitError
	if errors.As(waitErr, &exit) || errors.Is(packetErr, io.EOF) {
		return Answer{HostKey: client.HostKey}, fmt.Errorf("%s: %w: the host says %q", opt.Address, origin.ErrNotFound, said.String())
	}
	return Answer{}, origin.ConnectionError(opt.Address.String(), packetErr)
}

// userOf is the name to sign in with over ssh; hosts of repositories share one name.
func userOf(creds origin.Credentials) string {
	if creds.Username == "" {
		return "git"
	}
	return creds.Username
}

// remotePath is the path as git sends it to an ssh or git server: decoded, and without the slash before a home directory.
func remotePath(a origin.Address) (string, error) {
	if a.Short {
		return a.Path, nil
	}
	path, err := url.PathUnescape(a.Path)
	if err != nil || strings.ContainsAny(path, "\x00\r\n") || strings.Trim(path, "/") == "" {
		return "", gantry.Errorf(gantry.Invalid, "git.Probe", "%s has no path that could be a repository's", a)
	}
	if strings.HasPrefix(path, "/~") && a.Scheme == "ssh" {
		path = path[1:]
	}
	return path, nil
}
