package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/api"
	"gantry/internal/auth"
	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/imports"
	"gantry/internal/jobs"
	"gantry/internal/repos"
	"gantry/internal/secret"
	"gantry/internal/store/storetest"
)

// service is the API over real services, a database and a queue at work. Every response that leaves it is held against
// openapi.yaml.
type service struct {
	t        testing.TB
	url      string
	accounts *accounts.Service
	auth     *auth.Service
	repos    *repos.Service
	handler  http.Handler // without the validation of responses
}

// start runs a service; edit changes the options of its edge.
func start(t testing.TB, edit func(*api.Options)) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	dir := t.TempDir()
	db := storetest.Open(t, storetest.SQLite(t))
	git, err := gitdir.New(gitdir.Options{})
	check(t, err)
	policy, err := egress.ParsePolicy([]string{"127.0.0.0/8"})
	check(t, err)
	queue, err := jobs.New(ctx, db, log)
	check(t, err)
	keys, err := secret.LoadKeys(filepath.Join(dir, "key"), "")
	check(t, err)
	sealer, err := secret.NewSealer(keys)
	check(t, err)

	s := &service{t: t, accounts: accounts.New(db, time.Now), auth: auth.New(db, time.Now, auth.Limits{})}
	s.repos = repos.New(db, git, filepath.Join(dir, "repositories"), time.Now)
	work, err := imports.New(imports.Options{
		DB: db, Queue: queue, Sealer: sealer, Repos: s.repos, Git: git, Egress: egress.New(policy, log), Log: log, Now: time.Now,
		Dir: filepath.Join(dir, "staging"), Workers: 2, Lease: time.Minute, Retention: time.Hour,
		DefaultBranch: "main", LargeFileThreshold: gantry.LargeFileThreshold, UploadLimit: uploadLimit,
	})
	check(t, err)

	watch := newWatch(t)
	opt := api.Options{
		Accounts: s.accounts, Auth: s.auth, Repos: s.repos, Imports: work,
		Vendors: []string{"vendor", "github"}, Limits: api.DefaultLimits, Now: time.Now, Log: log, Observe: watch.observe,
	}
	opt.Limits.Anonymous = 10_000
	if edit != nil {
		edit(&opt)
	}
	server := httptest.NewUnstartedServer(nil)
	s.url = "http://" + server.Listener.Addr().String()
	opt.URLs = api.URLs{API: s.url, Web: s.url}
	watch.handler, err = api.New(opt)
	check(t, err)
	s.handler = watch.handler
	server.Config.Handler = watch
	server.Start()

	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{queue.Run, work.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("a worker of the service ended: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		server.Close()
		check(t, queue.Stop(context.Background()))
		cancel()
		running.Wait()
		check(t, work.Close())
		check(t, s.auth.Close())
	})
	return s
}

// uploadLimit is that of the services of these tests.
const uploadLimit = 1 << 20

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// user makes a user with a password of the same text as the login.
func (s *service) user(login string) *gantry.Account {
	s.t.Helper()
	user, err := s.accounts.CreateUser(context.Background(), accounts.NewUser{Login: login, Name: login, Email: login + "@example.com", SiteAdmin: login == "root"})
	check(s.t, err)
	check(s.t, s.auth.SetPassword(context.Background(), user.ID, password(login)))
	return user
}

func password(login string) string { return login + "-password-of-some-length" }

// token makes a token of a user.
func (s *service) token(user *gantry.Account, scopes ...gantry.Scope) string {
	s.t.Helper()
	text, _, err := s.auth.CreateToken(context.Background(), user.ID, gantry.NewScopeSet(scopes...), "test", time.Time{})
	check(s.t, err)
	return text
}

// repository makes a repository of a user.
func (s *service) repository(owner *gantry.Account, name string, private bool) {
	s.t.Helper()
	p := gantry.Principal{User: owner, Credential: gantry.CredPassword}
	_, err := s.repos.Create(context.Background(), p, owner.Login, repos.NewRepository{Name: name, Private: private})
	check(s.t, err)
}

// response is an answer, read whole.
type response struct {
	*http.Response
	text []byte
}

// object is the body as a JSON object.
func (r *response) object(t testing.TB) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(r.text, &object); err != nil {
		t.Fatalf("%s: %v", r.text, err)
	}
	return object
}

func (r *response) message() string {
	var body struct{ Message string }
	_ = json.Unmarshal(r.text, &body)
	return body.Message
}

const previewType = "application/vnd.vendor.barred-rock-preview"

// do sends a request. Headers are "Name: value"; without an Accept header the preview is asked for.
func (s *service) do(method, path, body string, headers ...string) *response {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	check(s.t, err)
	r.Header.Set("Accept", previewType)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r) // does not follow redirects
	check(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(s.t, err)
	return &response{Response: answer, text: text}
}

// watch holds every response against the description.
type watch struct {
	t       testing.TB
	handler http.Handler
	doc     *openapi3.T

	mu   sync.Mutex
	seen map[string]api.Observation // by request id
}

func newWatch(t testing.TB) *watch {
	doc, err := openapi3.NewLoader().LoadFromData(api.Description)
	check(t, err)
	return &watch{t: t, doc: doc, seen: map[string]api.Observation{}}
}

func (w *watch) observe(o api.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[o.RequestID] = o
}

func (w *watch) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	w.validate(r, rec)
	for name, values := range rec.Header() {
		to.Header()[name] = values
	}
	to.WriteHeader(rec.Code)
	_, _ = to.Write(rec.Body.Bytes())
}

// validate checks that the status of a response is documented and that its body has the documented shape.
func (w *watch) validate(r *http.Request, rec *httptest.ResponseRecorder) {
	if r.Method == http.MethodOptions {
		return
	}
	w.mu.Lock()
	seen, known := w.seen[rec.Header().Get("X-Vendor-Request-Id")]
	w.mu.Unlock()
	if !known {
		w.t.Errorf("%s %s was not observed", r.Method, r.URL.Path)
		return
	}
	item := w.doc.Paths.Value(strings.TrimSuffix(seen.Route, "{$}"))
	if item == nil {
		if rec.Code < 400 || seen.Route != "unrouted" {
			w.t.Errorf("%s %s: %d on an address that is not described", r.Method, seen.Route, rec.Code)
		}
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	operation := item.GetOperation(method)
	documented := operation.Responses.Status(rec.Code)
	if documented == nil {
		w.t.Errorf("%s %s: status %d is not documented", r.Method, seen.Route, rec.Code)
		return
	}
	if documented.Value.Content == nil {
		if rec.Body.Len() > 0 {
			w.t.Errorf("%s %s: %d has a body, and none is documented: %s", r.Method, seen.Route, rec.Code, rec.Body)
		}
		return
	}
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: w.doc, Path: seen.Route, PathItem: item, Method: method, Operation: operation},
		},
		Status: rec.Code, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		w.t.Errorf("%s %s: the response is not as described: %v", r.Method, seen.Route, err)
	}
}
