// Package web asks HTTP servers for what readers of origins want: it logs in where that is asked for, ends a request whose
// answer is silent for too long, follows to where a repository has moved, and says in words what broke.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gantry"
	"gantry/internal/origin"
)

// Server is an HTTP server as one session asks it, by one goroutine at a time.
type Server struct {
	HTTP        http.RoundTripper
	Address     string // of the origin, for errors
	IdleTimeout time.Duration
	Login       Login
}

const (
	maxLogIns = 4        // requests until one is let in
	maxRest   = 16 << 10 // bytes of an answer that nobody wants, read so that the connection can be used again
)

var errSilent = errors.New("web: the server is silent")

// Ask sends a request, once more after each demand to log in that can be met, and has read take the answer of any other
// status. Its body ends with an error that says what it means; it is closed behind read.
//
// A log-in that fails is a *Refused, and a fault of the connection what origin.ConnectionError makes of it.
func (s *Server) Ask(ctx context.Context, request func(context.Context) (*http.Request, error), read func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(s.IdleTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	for range maxLogIns {
		r, err := request(ctx)
		if err != nil {
			return err
		}
		s.Login.authorize(r)
		again, err := s.send(ctx, r, silence, read)
		if !again {
			return err
		}
	}
	return &Refused{Meaning: origin.AuthError(s.Login.Credentials), Reason: "the server asks for the user name and the password again and again"}
}

// send sends one request. again asks for another one, with the log-in that was asked for.
func (s *Server) send(ctx context.Context, r *http.Request, silence *time.Timer, read func(*http.Response) error) (again bool, err error) {
	tried := s.Login.LoggedIn()
	silence.Reset(s.IdleTimeout)
	response, err := s.HTTP.RoundTrip(r)
	silence.Stop()
	if err != nil {
		return false, s.fault(ctx, err)
	}
	defer response.Body.Close()
	response.Body = &body{ReadCloser: response.Body, s: s, ctx: ctx, silence: silence}
	if response.StatusCode == http.StatusUnauthorized {
		err = s.Login.challenged(response.Header.Values("WWW-Authenticate"), tried)
		again = err == nil
	} else if err := read(response); err != nil {
		return false, err
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxRest)
	return again, err
}

// body is the body of an answer. The server is silent only while it is waited for: who reads may take time over it.
type body struct {
	io.ReadCloser
	s       *Server
	ctx     context.Context
	silence *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	b.silence.Reset(b.s.IdleTimeout)
	n, err := b.ReadCloser.Read(p)
	b.silence.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.s.fault(b.ctx, err)
	}
	return n, err
}

// fault says what it means that a request or its answer broke.
func (s *Server) fault(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return fmt.Errorf("%w: the server was silent for %v", origin.ErrTemporary, s.IdleTimeout)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var known *gantry.Error
	if told := origin.ConnectionError(s.Address, err); errors.As(told, &known) {
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

// StatusMeaning is the error of package origin that a status other than success stands for, nil when it stands for none.
func (s *Server) StatusMeaning(status int) error {
	switch status {
	case http.StatusForbidden:
		return origin.AuthError(s.Login.Credentials)
	case http.StatusNotFound, http.StatusGone:
		return origin.ErrNotFound
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return origin.ErrTemporary
	}
	return nil
}

// Moved is the answer that what was asked for is elsewhere.
type Moved struct{ To *url.URL }

func (m *Moved) Error() string {
	return fmt.Sprintf("the server says that the repository is at %s now; if that is right, import it from there", m.To.Redacted())
}

// Follows reports whether a reader may go where a server says that the repository is: the credentials, which were given for
// this host, go to no other, and nothing that was encrypted is sent in the clear.
func Follows(from, to *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	upgraded := from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
	return strings.EqualFold(to.Hostname(), from.Hostname()) && (upgraded || to.Scheme == from.Scheme && port(to) == port(from))
}
