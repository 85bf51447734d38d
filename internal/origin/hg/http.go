package hg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/klauspost/compress/zlib"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/origin/web"
)

const (
	// userAgent begins as that of Mercurial does: some hosts tell by it who wants a repository and who a web page.
	userAgent    = "mercurial/proto-1.0 (gantry)"
	maxRedirects = 5

	mediaPrefix = "application/mercurial-"
	mediaOld    = "application/hg-changegroup" // of servers before Mercurial 1.0
	mediaError  = "application/hg-error"

	// minHeader is the least that a server may say that it takes of arguments in one header.
	minHeader = 256
)

// httpPeer is a server that is asked by http.
type httpPeer struct {
	web  web.Server
	base *url.URL
	caps capabilities
}

// dialHTTP learns what the server at an address can do.
func dialHTTP(ctx context.Context, opt Options) (*httpPeer, error) {
	base, err := url.Parse(opt.Address.Scheme + "://" + opt.Address.Host + opt.Address.Path)
	if err != nil || base.Hostname() == "" {
		return nil, gantry.Errorf(gantry.Invalid, "hg.Open", "%s is not an address of the form https://host/path", opt.Address)
	}
	p := &httpPeer{base: base, web: web.Server{
		HTTP: opt.HTTP, Address: opt.Address.String(), IdleTimeout: opt.IdleTimeout, Login: web.Login{Credentials: opt.Credentials},
	}}
	var answer []byte
	for range maxRedirects + 1 {
		answer, err = p.ask(ctx, command{name: "capabilities"})
		var elsewhere *web.Moved
		if !errors.As(err, &elsewhere) || !p.follow(elsewhere.To) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	p.caps = parseCapabilities(string(answer))
	return p, nil
}

// follow goes where the server says that the repository is: anywhere without credentials, else to the same server only.
func (p *httpPeer) follow(to *url.URL) bool {
	encrypted := to.Scheme == "https" || to.Scheme == "http" && p.base.Scheme == "http"
	if !encrypted || !p.web.Login.Credentials.Empty() && !web.Follows(p.base, to) {
		return false
	}
	p.base = &url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path, RawPath: to.RawPath}
	return true
}

// maxNodes bounds arguments that are sent in headers: hg serve itself takes a hundred of these, which are of 1 KB mostly.
func (p *httpPeer) maxNodes() int {
	switch {
	case p.caps.has("httppostargs"):
		return math.MaxInt
	case p.caps.number("httpheader") >= minHeader:
		return 1500
	}
	return fewNodes
}

func (p *httpPeer) capabilities() *capabilities { return &p.caps }
func (p *httpPeer) hostKey() string             { return "" }
func (p *httpPeer) Close() error                { return nil }

func (p *httpPeer) ask(ctx context.Context, c command) (answer []byte, err error) {
	err = p.send(ctx, c, func(response *http.Response) error {
		answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
		if err == nil && len(answer) > maxAnswer {
			err = malformedf("its answer to %s has more than %d bytes", c.name, maxAnswer)
		}
		return err
	})
	return answer, err
}

func (p *httpPeer) stream(ctx context.Context, c command, read func(io.Reader) error) error {
	return p.send(ctx, c, func(response *http.Response) error {
		plain, done, err := decompressed(response)
		if err != nil {
			return err
		}
		defer done()
		return read(plain)
	})
}

func (p *httpPeer) plain(ctx context.Context, c command, read func(*bufio.Reader) error) error {
	return p.send(ctx, c, func(response *http.Response) error { return read(bufio.NewReaderSize(response.Body, bundleBuffer)) })
}

// send sends a command and has read take its answer, which is one of Mercurial's.
func (p *httpPeer) send(ctx context.Context, c command, read func(*http.Response) error) error {
	return p.web.Ask(ctx, func(ctx context.Context) (*http.Request, error) { return p.request(ctx, c) }, func(response *http.Response) error {
		if err := p.judge(c, response); err != nil {
			return err
		}
		return read(response)
	})
}

// tooLarge are the statuses by which servers refuse a request for its size.
var tooLarge = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge,
}

// request writes a command: its arguments are the body, where the server takes that, else in headers, else in the address.
func (p *httpPeer) request(ctx context.Context, c command) (*http.Request, error) {
	values := url.Values{}
	for _, arg := range append(c.args[:len(c.args):len(c.args)], c.more...) {
		values.Set(arg.name, arg.value)
	}
	args := strings.ReplaceAll(values.Encode(), "+", "%20") // a header's value cannot be trusted with a plus sign
	target := *p.base
	target.RawQuery = "cmd=" + c.name
	method, body, header := http.MethodGet, "", http.Header{}
	size := p.caps.number("httpheader")
	switch {
	case args == "":
	case p.caps.has("httppostargs"):
		method, body = http.MethodPost, args
		header.Set("Content-Type", mediaPrefix+"0.1")
		header.Set("X-HgArgs-Post", fmt.Sprint(len(args)))
	case size >= minHeader:
		setParts(header, "X-HgArg-", args, size)
	default:
		target.RawQuery += "&" + args
	}
	if p.caps.has("httpmediatype") {
		setParts(header, "X-HgProto-", "0.1 0.2 comp=zstd,zlib,none,bzip2", max(size, minHeader))
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(body))
	if err != nil {
		return nil, gantry.Errorf(gantry.Invalid, "hg", "%s is not a valid address", p.web.Address)
	}
	if body == "" {
		request.Body = http.NoBody
	}
	request.Header = header
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", mediaPrefix+"0.1")
	request.Header.Set("Accept-Encoding", "identity") // the protocol compresses itself
	return request, nil
}

// setParts splits a value over headers that are numbered from 1, none of which is longer than size with its name.
func setParts(header http.Header, name, value string, size int) {
	size -= len(name) + len("000: \r\n")
	for n := 1; value != ""; n++ {
		part := value[:min(size, len(value))]
		header.Set(name+fmt.Sprint(n), part)
		value = value[len(part):]
	}
}

// judge finds out what a response is that does not answer a command.
func (p *httpPeer) judge(c command, response *http.Response) error {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch code := response.StatusCode; {
	case code/100 == 3:
		to, err := response.Location()
		if err != nil {
			return malformedf("it answers %s and does not say where to go", response.Status)
		}
		return &web.Moved{To: to}
	case code/100 != 2:
		return &failure{meaning: p.web.StatusMeaning(code), status: code, message: fmt.Sprintf("the server answers %q to %s", response.Status, c.name)}
	case media == mediaError:
		text, err := io.ReadAll(io.LimitReader(response.Body, maxSaid))
		if err != nil {
			return err
		}
		return &aborted{message: string(text)}
	case !strings.HasPrefix(media, mediaPrefix) && media != mediaOld:
		return &failure{meaning: origin.ErrNotFound, message: fmt.Sprintf("the answer is %.100q, not a Mercurial repository's; "+
			`give the address that "hg clone" takes, not that of a web page`, media)}
	}
	return nil
}

// decompressed is the content of an answer that may be compressed. done gives back what that takes.
func decompressed(response *http.Response) (plain io.Reader, done func(), err error) {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	in := bufio.NewReaderSize(response.Body, bundleBuffer)
	switch version := strings.TrimPrefix(media, mediaPrefix); version {
	case mediaOld, "0.1":
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { _ = z.Close() }, nil
	case "0.2":
		length, err := in.ReadByte()
		if err != nil {
			return nil, nil, err
		}
		name := make([]byte, length)
		if _, err := io.ReadFull(in, name); err != nil {
			return nil, nil, err
		}
		way, known := compressions[string(name)]
		if !known {
			return nil, nil, malformedf("it compresses by %.40q, which nobody asked for", name)
		}
		b := bundle{in: in, close: func() {}}
		if err := b.decompress(way); err != nil {
			return nil, nil, err
		}
		return b.in, b.close, nil
	default:
		return nil, nil, malformedf("it answers with %.40q, which nobody asked for", media)
	}
}

// compressions are the names that ways to compress have in bundles, by those that they have on the wire.
var compressions = map[string]string{"none": "", "zlib": "GZ", "zstd": "ZS", "bzip2": "BZ"}
