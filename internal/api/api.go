// Package api is the REST edge: it turns requests into calls of the services and their answers into JSON. The routes are
// one table (routes.go); what they promise is written in openapi.yaml.
package api

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/auth"
	"gantry/internal/imports"
	"gantry/internal/repos"
)

// Description is the OpenAPI description of every operation, as served at /openapi.yaml.
//
//go:embed openapi.yaml
var Description []byte

// Options is what the edge is made of.
type Options struct {
	Accounts *accounts.Service
	Auth     *auth.Service
	Repos    *repos.Service
	Imports  *imports.Service

	URLs    URLs
	Vendors []string // vendor words in lower case, the primary one first
	Lenient bool     // let requests to preview operations pass without the preview media type
	Limits  Limits

	// Maintenance switches imports off: their operations answer 503.
	Maintenance bool

	Now func() time.Time
	Log *slog.Logger
	// Observe is told of every answered request, for metrics and access logs. It must be quick.
	Observe func(Observation)
}

// Limits bound what callers may send. All must be positive.
type Limits struct {
	Core         int   // requests an hour of one user
	Anonymous    int   // requests an hour of one address without credentials
	SourceImport int   // starts of imports a minute of one user
	Body         int64 // bytes of a request body
}

// DefaultLimits are those of the contract's reference.
var DefaultLimits = Limits{Core: 5000, Anonymous: 60, SourceImport: 100, Body: 1 << 20}

// Observation is one answered request.
type Observation struct {
	RequestID string
	Method    string
	Route     string // the path's template, from a fixed set; never what the caller sent
	Status    int
	Bytes     int // of the body
	UserID    int64
	Duration  time.Duration
}

// API is the handler of the REST edge. It is safe for concurrent use.
type API struct {
	Options
	mux     *http.ServeMux
	headers headerSet
	media   []vendorMedia
	limiter *limiter
}

// New checks the options and builds the handler. It answers at the root and below /api/v3.
func New(opt Options) (*API, error) {
	if opt.Limits.Core <= 0 || opt.Limits.Anonymous <= 0 || opt.Limits.SourceImport <= 0 || opt.Limits.Body <= 0 {
		return nil, errors.New("api: every limit must be positive")
	}
	if len(opt.Vendors) == 0 {
		return nil, errors.New("api: at least one vendor word is needed")
	}
	for _, word := range opt.Vendors {
		if !vendorWord.MatchString(word) {
			return nil, fmt.Errorf("api: vendor word %q: use lower-case letters and digits, beginning with a letter", word)
		}
	}
	a := &API{
		Options: opt,
		mux:     http.NewServeMux(),
		headers: newHeaderSet(opt.Vendors),
		media:   newVendorMedia(opt.Vendors),
		limiter: newLimiter(opt.Now),
	}
	for i := range routes {
		for _, pattern := range routes[i].patterns() {
			a.mux.Handle(routes[i].method+" "+pattern, a.handler(&routes[i]))
		}
	}
	a.mux.Handle("/", a.handler(&unrouted))
	return a, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.headers.begin(w.Header())
	switch {
	case r.Method == http.MethodOptions:
		a.headers.preflight(w.Header())
		w.WriteHeader(http.StatusNoContent)
	case !isClean(r.URL.Path):
		// ServeMux would redirect to a tidied path; an API has one address for a thing.
		a.handler(&unrouted).ServeHTTP(w, r)
	default:
		a.mux.ServeHTTP(w, r)
	}
}

func isClean(p string) bool {
	if len(p) > 1 && strings.HasSuffix(p, "/") {
		p = p[:len(p)-1]
	}
	return path.Clean(p) == p
}

// unrouted answers whatever no route matches.
var unrouted = route{pattern: "unrouted", access: anyone, handle: (*API).notRouted}

// notRouted tells a wrong method from a wrong path.
func (a *API) notRouted(c *call) (reply, error) {
	var allowed []string
	probe := *c.r
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe.Method = method
		if _, pattern := a.mux.Handler(&probe); pattern != "/" && pattern != "" && isClean(probe.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return reply{}, gantry.Errorf(gantry.NotFound, "api", "no such address")
	}
	return reply{}, &protocolError{status: http.StatusMethodNotAllowed, message: "Method Not Allowed", allow: strings.Join(allowed, ", ")}
}
