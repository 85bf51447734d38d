package svn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"gantry"
	"gantry/internal/origin"
)

// davRequest is a request to a WebDAV server.
type davRequest struct {
	method string
	path   string // escaped
	depth  string // "" for requests that have none
	label  string // the revision that is meant, for servers of version 1
	accept string // forms of a body beside gzip, best first
	body   string
}

const (
	maxLogIns = 4 // requests until one is let in
	xmlPrefix = `<?xml version="1.0" encoding="utf-8"?>`
)

// moved is the answer that what was asked for is elsewhere.
type moved struct{ to *url.URL }

func (m *moved) Error() string {
	return fmt.Sprintf("the server says that the repository is at %s now; if that is right, import it from there", m.to)
}

// ask sends a request, logs in where that is asked for, and has read take the answer. A server's own error is a failure.
func (s *davSession) ask(ctx context.Context, r davRequest, read func(http.Header, *xmlReader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.opt.IdleTimeout, func() { cancel(errSilent) })
	defer idle.Stop()
	alive := func() { idle.Reset(s.opt.IdleTimeout) }
	for range maxLogIns {
		alive()
		request, err := s.request(ctx, r)
		if err != nil {
			return err
		}
		tried := s.login.scheme != ""
		asked := time.Now()
		response, err := s.opt.HTTP.RoundTrip(request)
		if err != nil {
			return s.fault(ctx, err)
		}
		if took := time.Since(asked); s.quick == 0 || took < s.quick {
			s.quick = took
		}
		again, err := s.answer(ctx, r, response, tried, alive, read)
		response.Body.Close()
		if !again {
			return err
		}
	}
	return &failure{meaning: authError(s.opt.Credentials), message: "the server asks for the user name and the password again and again"}
}

var errSilent = errors.New("svn: the server is silent")

func (s *davSession) request(ctx context.Context, r davRequest) (*http.Request, error) {
	target := s.at(r.path)
	request, err := http.NewRequestWithContext(ctx, r.method, target.String(), strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	request.URL = target
	request.Header.Set("User-Agent", "gantry")
	request.Header.Set("Content-Type", "text/xml; charset=utf-8")
	request.Header.Set("Accept-Encoding", strings.TrimPrefix(r.accept+", gzip", ", "))
	if r.depth != "" {
		request.Header.Set("Depth", r.depth)
	}
	if r.label != "" {
		request.Header.Set("Label", r.label)
	}
	s.login.authorize(request)
	return request, nil
}

// at is the address of an escaped path of the server.
func (s *davSession) at(path string) *url.URL {
	u := &url.URL{Scheme: s.opt.URL.Scheme, Host: s.opt.URL.Host, Path: path, RawPath: path}
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path = plain
	}
	return u
}

// answer reads one response. again asks for the request to be sent once more.
func (s *davSession) answer(ctx context.Context, r davRequest, response *http.Response, tried bool, alive func(),
	read func(http.Header, *xmlReader) error,
) (again bool, err error) {
	body := io.Reader(&davBody{s: s, ctx: ctx, r: response.Body, alive: alive})
	if strings.EqualFold(response.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(body)
		if err != nil {
			return false, s.unpacking(err)
		}
		body = z
	}
	s.xml.reset(body)
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized:
		err := s.login.challenged(response.Header.Values("WWW-Authenticate"), tried)
		_, _ = io.CopyN(io.Discard, body, maxText) // so that the connection can be used again
		return err == nil, err
	case code/100 == 3:
		if to, err := response.Location(); err == nil {
			return false, &moved{to}
		}
		return false, malformedf("it answers %s and does not say where to go", response.Status)
	case code/100 != 2:
		return false, s.refusal(r, response)
	}
	if err := read(response.Header, &s.xml); err != nil {
		return false, s.unpacking(err)
	}
	_, _ = io.CopyN(io.Discard, body, maxText)
	return false, nil
}

// unpacking tells an error of the compression, which is one of the protocol.
func (s *davSession) unpacking(err error) error {
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return malformed("an answer is not compressed as it says")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errAnswerEnds
	}
	return err
}

// davBody is the body of an answer, with errors that say what they mean.
type davBody struct {
	s     *davSession
	ctx   context.Context
	r     io.Reader
	alive func()
}

func (b *davBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.alive()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.s.fault(b.ctx, err)
	}
	return n, err
}

// fault says what it means that a request or its answer broke.
func (s *davSession) fault(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return fmt.Errorf("%w: the server was silent for %v", origin.ErrTemporary, s.opt.IdleTimeout)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var known *gantry.Error
	if told := origin.ConnectionError(s.opt.URL.String(), err); errors.As(told, &known) {
		return told
	}
	var op *net.OpError // its text has our own address in it
	switch {
	case errors.As(err, &op) && op.Op != "dial":
		err = op.Err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the server closed it")
	}
	return fmt.Errorf("%w: %w", origin.ErrTemporary, err)
}

// refusal is what a status that is no success means, with what the server says of it.
func (s *davSession) refusal(r davRequest, response *http.Response) error {
	f := &failure{message: fmt.Sprintf("the server answers %q to %s", response.Status, r.method)}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if strings.HasSuffix(kind, "/xml") {
		if code, message := s.readError(); message != "" {
			f.code, f.message = code, message
		}
	}
	if f.meaning = meaning(f.code, s.opt.Credentials); f.meaning == nil && f.code != codeNoSuchRevision {
		f.meaning = s.statusMeaning(response.StatusCode, f.code)
	}
	return f
}

func (s *davSession) statusMeaning(status int, code int64) error {
	switch status {
	case http.StatusForbidden:
		return authError(s.opt.Credentials)
	case http.StatusNotFound, http.StatusGone:
		return origin.ErrNotFound
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return origin.ErrTemporary
	case http.StatusInternalServerError:
		if code == 0 { // it did not come from Subversion
			return origin.ErrTemporary
		}
	}
	return nil
}

// readError reads the explanation of a refusal, if it is one of Subversion's.
func (s *davSession) readError() (code int64, message string) {
	if s.xml.root(xmlName{nsDAV, "error"}) != nil {
		return 0, ""
	}
	_ = s.xml.each(func(name xmlName) error {
		if name != (xmlName{nsApache, "human-readable"}) {
			return nil
		}
		number, _ := s.xml.attr("errcode")
		text, err := s.xml.text(maxText)
		if err == nil {
			code, _ = strconv.ParseInt(number, 10, 64)
			message = strings.ToValidUTF8(strings.TrimSpace(string(text)), "?")
		}
		return err
	})
	return code, message
}
