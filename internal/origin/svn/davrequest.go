package svn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"gantry/internal/origin/web"
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

const xmlPrefix = `<?xml version="1.0" encoding="utf-8"?>`

// ask sends a request and has read take the answer. A server's own error is a failure.
func (s *davSession) ask(ctx context.Context, r davRequest, read func(http.Header, *xmlReader) error) error {
	var asked time.Time
	err := s.web.Ask(ctx, func(ctx context.Context) (*http.Request, error) {
		asked = time.Now()
		return s.request(ctx, r)
	}, func(response *http.Response) error {
		if took := time.Since(asked); s.quick == 0 || took < s.quick {
			s.quick = took
		}
		return s.answer(r, response, read)
	})
	var refused *web.Refused
	if errors.As(err, &refused) {
		return &failure{meaning: refused.Meaning, message: refused.Reason}
	}
	return err
}

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

// answer reads one response.
func (s *davSession) answer(r davRequest, response *http.Response, read func(http.Header, *xmlReader) error) error {
	body := io.Reader(response.Body)
	if strings.EqualFold(response.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(body)
		if err != nil {
			return s.unpacking(err)
		}
		body = z
	}
	s.xml.reset(body)
	switch code := response.StatusCode; {
	case code/100 == 3:
		if to, err := response.Location(); err == nil {
			return &web.Moved{To: to}
		}
		return malformedf("it answers %s and does not say where to go", response.Status)
	case code/100 != 2:
		return s.refusal(r, response)
	}
	return s.unpacking(read(response.Header, &s.xml))
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

// refusal is what a status that is no success means, with what the server says of it.
func (s *davSession) refusal(r davRequest, response *http.Response) error {
	f := &failure{message: fmt.Sprintf("the server answers %q to %s", response.Status, r.method)}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if strings.HasSuffix(kind, "/xml") {
		if code, message := s.readError(); message != "" {
			f.code, f.message = code, message
		}
	}
	f.meaning = meaning(f.code, s.opt.Credentials)
	ours := f.code != 0 && response.StatusCode == http.StatusInternalServerError // it came from Subversion
	if f.meaning == nil && f.code != codeNoSuchRevision && !ours {
		f.meaning = s.web.StatusMeaning(response.StatusCode)
	}
	return f
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
