// Package githttp serves hosted repositories over Git's smart HTTP protocol (gitprotocol-http(5)): fetching, pushing,
// protocol version 2, shallow and partial clones. It finds out who asks and what for; git does the work.
package githttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"gantry"
	"gantry/internal/auth"
	"gantry/internal/gitdir"
	"gantry/internal/repos"
)

// Options are what a Handler needs.
type Options struct {
	Auth  *auth.Service
	Repos *repos.Service
	Git   *gitdir.Git
	Log   *slog.Logger

	PushLimit int64 // bytes of one push; 0: none
	Processes int   // git processes at a time for one repository
}

// Handler answers the requests that Route knows. It is safe for concurrent use.
type Handler struct {
	opt   Options
	gates gates
}

// New returns a Handler.
func New(opt Options) *Handler {
	return &Handler{opt: opt, gates: gates{limit: opt.Processes}}
}

// request is what a path asks for.
type request struct {
	owner, name string
	file        string // below the repository, such as info/refs
}

// parse reads /OWNER/NAME.git/FILE.
func parse(path string) (request, bool) {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	if len(parts) < 3 {
		return request{}, false
	}
	name, ok := strings.CutSuffix(parts[1], ".git")
	if !ok || name == "" || parts[0] == "" {
		return request{}, false
	}
	return request{parts[0], name, parts[2]}, true
}

// Route returns the template of a path within a repository, from a fixed set, and whether the path is one.
func Route(path string) (template string, ok bool) {
	req, ok := parse(path)
	if !ok {
		return "", false
	}
	switch req.file {
	case "info/refs", "git-upload-pack", "git-receive-pack":
		return "/{owner}/{repo}.git/" + req.file, true
	}
	return "/{owner}/{repo}.git/{file}", true
}

// ServeHTTP answers one request. Errors are plain text: git shows it to its user.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, ok := parse(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch req.file {
	case "info/refs":
		if method(w, r, http.MethodGet, http.MethodHead) {
			h.refs(w, r, req)
		}
	case "git-upload-pack", "git-receive-pack":
		if method(w, r, http.MethodPost) {
			h.rpc(w, r, req)
		}
	default:
		refuse(w, http.StatusForbidden, "This server speaks Git's smart HTTP protocol only; please upgrade your Git client.")
	}
}

// method reports whether a request's method is one of those allowed, and answers when it is not.
func method(w http.ResponseWriter, r *http.Request, allowed ...string) bool {
	for _, m := range allowed {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	refuse(w, http.StatusMethodNotAllowed, "This address takes "+strings.Join(allowed, " and ")+" only.")
	return false
}

// service reads the name that the protocol gives to one of the two services.
func service(name string) (gitdir.Service, bool) {
	switch name {
	case "git-upload-pack":
		return gitdir.UploadPack, true
	case "git-receive-pack":
		return gitdir.ReceivePack, true
	}
	return "", false
}

// refs answers what a client asks first: what the service can do and, before version 2, which refs there are.
func (h *Handler) refs(w http.ResponseWriter, r *http.Request, req request) {
	name := r.URL.Query().Get("service")
	svc, ok := service(name)
	if !ok {
		refuse(w, http.StatusForbidden, "This server speaks Git's smart HTTP protocol only; please upgrade your Git client.")
		return
	}
	view, ok := h.admit(w, r, req, svc)
	if !ok {
		return
	}
	leave, err := h.gates.enter(r.Context(), view.Repository.ID)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	dir, release, err := h.opt.Repos.OpenRead(r.Context(), &view.Repository)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer release()

	header(w, "application/x-"+name+"-advertisement")
	if r.Method == http.MethodHead {
		return
	}
	out := newReply(w, nil)
	first := "# service=" + name + "\n"
	fmt.Fprintf(out, "%04x%s0000", len(first)+4, first)
	if err := h.opt.Git.Advertise(r.Context(), svc, dir, r.Header.Get("Git-Protocol"), out); err != nil {
		h.broke(r, out, err)
	}
}

// rpc answers a fetch or a push.
func (h *Handler) rpc(w http.ResponseWriter, r *http.Request, req request) {
	svc, _ := service(req.file)
	if want := "application/x-" + req.file + "-request"; r.Header.Get("Content-Type") != want {
		refuse(w, http.StatusUnsupportedMediaType, "The Content-Type of this request has to be "+want+".")
		return
	}
	view, ok := h.admit(w, r, req, svc)
	if !ok {
		return
	}
	limit := h.opt.PushLimit
	if svc == gitdir.UploadPack {
		limit = maxNegotiation
	}
	body, err := newBody(w, r, limit)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	leave, err := h.gates.enter(r.Context(), view.Repository.ID)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	dir, done, err := h.open(r, view, svc)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer done()

	header(w, "application/x-"+req.file+"-result")
	out := newReply(w, body)
	err = h.opt.Git.Serve(r.Context(), svc, dir, r.Header.Get("Git-Protocol"), body, out)
	switch {
	case err == nil:
	case body.over.Load() && !out.begun:
		h.fail(w, r, gantry.Errorf(gantry.TooLarge, "githttp", "The request is larger than the %d bytes that this server accepts.", limit))
	default:
		h.broke(r, out, err)
	}
}

// open opens a repository for a service; call done afterwards. A push keeps other writers out and is recorded at its end.
func (h *Handler) open(r *http.Request, view *repos.View, svc gitdir.Service) (dir string, done func(), err error) {
	if svc == gitdir.UploadPack {
		return h.opt.Repos.OpenRead(r.Context(), &view.Repository)
	}
	write, err := h.opt.Repos.OpenWrite(r.Context(), &view.Repository)
	if err != nil {
		return "", nil, err
	}
	return write.Dir, func() {
		// Refs may have moved although the client has gone: that is recorded all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordTimeout)
		defer cancel()
		if err := write.Close(ctx); err != nil {
			h.opt.Log.ErrorContext(ctx, "a push was not recorded", "repository", view.Repository.ID, "err", err)
		}
	}, nil
}

// admit finds the repository and checks that the caller may use a service of it; it answers when not.
//
// Anonymous callers are asked for credentials (401) for every name that is not public, there or not: git sends none before
// it is asked, and the answer must not tell which names exist.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, req request, svc gitdir.Service) (*repos.View, bool) {
	ctx, write := r.Context(), svc == gitdir.ReceivePack
	principal, err := h.opt.Auth.Resolve(ctx, presented(r))
	if err != nil {
		h.fail(w, r, err)
		return nil, false
	}
	if principal.Anonymous() && write {
		challenge(w)
		return nil, false
	}
	view, err := h.opt.Repos.Get(ctx, principal, req.owner, req.name)
	if gantry.KindOf(err) == gantry.NotFound && principal.Anonymous() {
		challenge(w)
		return nil, false
	}
	if err == nil && write {
		err = repos.Require(view, gantry.PermWrite)
	}
	if err != nil {
		h.fail(w, r, err)
		return nil, false
	}
	if scopes := repos.Scopes(view, write); !principal.Anonymous() && !principal.Allows(scopes...) {
		refuse(w, http.StatusForbidden, fmt.Sprintf("This needs a token with one of the scopes %s.", gantry.ScopeSet(scopes)))
		return nil, false
	}
	return view, true
}

// presented reads the credentials of a request.
func presented(r *http.Request) auth.Presented {
	var in auth.Presented
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		in.Addr = addr.Addr().Unmap()
	}
	in.Username, in.Password, in.Basic = r.BasicAuth()
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "token") {
		in.Token = strings.TrimSpace(rest)
	}
	return in
}

// statuses says how kinds of errors look to a Git client.
var statuses = map[gantry.Kind]int{
	gantry.NotFound:        http.StatusNotFound,
	gantry.Invalid:         http.StatusBadRequest,
	gantry.Conflict:        http.StatusConflict,
	gantry.Forbidden:       http.StatusForbidden,
	gantry.Unauthenticated: http.StatusUnauthorized,
	gantry.Unavailable:     http.StatusServiceUnavailable,
	gantry.TooLarge:        http.StatusRequestEntityTooLarge,
	gantry.RateLimited:     http.StatusTooManyRequests,
}

// fail answers an error that came before any output.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	kind := gantry.KindOf(err)
	status, known := statuses[kind]
	if !known {
		if r.Context().Err() == nil {
			h.opt.Log.ErrorContext(r.Context(), "git request failed", "path", r.URL.Path, "err", err)
		}
		refuse(w, http.StatusInternalServerError, "Something went wrong on the server.")
		return
	}
	var e *gantry.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	if kind == gantry.Unauthenticated {
		w.Header().Set("WWW-Authenticate", realm)
	}
	text := gantry.Message(err)
	if text == "" {
		text = http.StatusText(status)
	}
	refuse(w, status, text)
}

// broke ends an answer that has begun. The client sees it cut off, which is how the protocol tells of a failure.
func (h *Handler) broke(r *http.Request, out *reply, err error) {
	if r.Context().Err() != nil {
		return // the client went away, and git was stopped for that
	}
	h.opt.Log.WarnContext(r.Context(), "git ended early", "path", r.URL.Path, "err", err)
	if !out.begun {
		refuse(out.w, http.StatusInternalServerError, "Something went wrong on the server.")
		return
	}
	panic(http.ErrAbortHandler)
}

const realm = `Basic realm="Gantry", charset="UTF-8"`

func challenge(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", realm)
	refuse(w, http.StatusUnauthorized, "Please sign in: a user name with a password or a token.")
}

func refuse(w http.ResponseWriter, status int, text string) {
	header(w, "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// header sets what every answer has: nothing of this may be kept by a cache.
func header(w http.ResponseWriter, contentType string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	h.Set("Pragma", "no-cache")
	h.Set("Expires", "Fri, 01 Jan 1980 00:00:00 GMT")
}
