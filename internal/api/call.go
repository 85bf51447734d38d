package api

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strconv"

	"gantry"
	"gantry/internal/repos"
)

// call is one request on its way through the edge.
type call struct {
	r         *http.Request
	route     *route
	id        string
	principal gantry.Principal
	view      *repos.View     // of routes that address a repository
	accepted  gantry.ScopeSet // by the route, for this repository
	media     mediaType
	window    window // of the rate limit that the call counts against
}

// handler wraps a route's handler into everything that all operations share.
func (a *API) handler(rt *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := a.Now()
		c := &call{r: r, route: rt, id: newRequestID()}
		a.headers.identify(w.Header(), c.id)
		switch {
		case rt.streams:
			r.Body = newStream(w, r.Body)
		case r.Body != nil:
			r.Body = http.MaxBytesReader(w, r.Body, a.Limits.Body)
		}
		rep, err := a.answer(c)
		if err != nil {
			rep = a.problem(c, err)
		}
		status, sent := a.write(w, c, rep)
		if a.Observe != nil {
			a.Observe(Observation{
				RequestID: c.id, Method: r.Method, Route: rt.pattern, Status: status, Bytes: sent,
				UserID: c.userID(), Duration: a.Now().Sub(began),
			})
		}
	})
}

// answer takes a call through every check, in the order in which a stranger may learn about them, and runs its handler.
func (a *API) answer(c *call) (reply, error) {
	presented, err := credentials(c.r)
	if err == nil {
		c.principal, err = a.Auth.Resolve(c.r.Context(), presented)
	}
	if limitErr := a.count(c); limitErr != nil {
		return reply{}, limitErr
	}
	if err != nil {
		return reply{}, err
	}
	if err := a.negotiate(c); err != nil {
		return reply{}, err
	}
	if err := a.admit(c); err != nil {
		return reply{}, err
	}
	return c.route.handle(a, c)
}

// userID is 0 for anonymous callers.
func (c *call) userID() int64 {
	if c.principal.User == nil {
		return 0
	}
	return c.principal.User.ID
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// problem turns an error into an answer, and logs what the answer does not tell.
func (a *API) problem(c *call, err error) reply {
	gone := c.r.Context().Err() != nil // the caller has gone away: whatever failed because of it is no fault
	if gantry.KindOf(err) == gantry.Internal && !isProtocolError(err) && !gone {
		a.Log.LogAttrs(c.r.Context(), slog.LevelError, "request failed",
			slog.String("request", c.id), slog.String("method", c.r.Method), slog.String("route", c.route.pattern), slog.Any("error", err))
	}
	return problemReply(err, a.URLs.Documentation())
}

// pathID reads a number of the path. What is none numbers nothing.
func (c *call) pathID(name string) (int64, error) {
	id, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil {
		return 0, errHidden
	}
	return id, nil
}
