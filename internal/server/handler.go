package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"gantry/internal/api"
	"gantry/internal/config"
	"gantry/internal/githttp"
)

// serve tells the edges apart by path.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.handlers.Add(1)
	defer s.handlers.Done()
	rec := &recorder{ResponseWriter: w}
	defer s.recovered(rec, r)
	path := r.URL.Path
	switch {
	case path == "/healthz":
		s.healthz(rec, r)
	case path == "/readyz":
		s.readyz(rec, r)
	case path == "/metrics" && s.cfg.Metrics == config.MetricsLocal && fromHere(r):
		s.metrics.handler.ServeHTTP(rec, r)
	default:
		if route, ok := githttp.Route(path); ok {
			s.serveGit(rec, r, route)
			return
		}
		s.api.ServeHTTP(rec, r)
	}
}

// serveGit adds to Git's edge what the API does by itself: a request id, metrics and the access log.
func (s *Server) serveGit(w *recorder, r *http.Request, route string) {
	began, id := time.Now(), newRequestID()
	w.Header().Set(requestIDHeader(s.cfg.Vendors[0]), id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	defer func() {
		status := w.status
		if status == 0 {
			status = http.StatusOK // an answer without a body
		}
		s.observe(observation{id, r.Method, route, status, w.bytes, 0, time.Since(began)})
	}()
	s.git.ServeHTTP(w, r)
}

func (s *Server) observeAPI(o api.Observation) {
	s.observe(observation{o.RequestID, o.Method, o.Route, o.Status, int64(o.Bytes), o.UserID, o.Duration})
}

// observation is one answered request of either edge. It holds nothing that a caller could make up but the method.
type observation struct {
	id, method, route string
	status            int
	bytes             int64
	user              int64 // 0 when unknown
	took              time.Duration
}

// observe counts a request, and writes the access log when it is switched on.
func (s *Server) observe(o observation) {
	s.metrics.observe(o)
	if !s.cfg.AccessLog {
		return
	}
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.String("request", o.id), slog.String("method", o.method), slog.String("route", o.route), slog.Int("status", o.status),
		slog.Int64("bytes", o.bytes), slog.Int64("user", o.user), slog.Duration("took", o.took))
}

func requestIDHeader(vendor string) string {
	return http.CanonicalHeaderKey("X-" + vendor + "-Request-Id")
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// recovered answers a request whose handler panicked, so that one bad request takes nothing else down.
func (s *Server) recovered(w *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // the edge cuts an answer off on purpose
	}
	header := requestIDHeader(s.cfg.Vendors[0])
	if w.Header().Get(header) == "" {
		w.Header().Set(header, newRequestID())
	}
	s.log.ErrorContext(r.Context(), "a handler panicked",
		"request", w.Header().Get(header), "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // the answer has begun: it must not look complete
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `{"message":"Server Error","documentation_url":"%s/openapi.yaml"}`, s.url)
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int // 0 until the header is written
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// fromHere reports whether a request was made on this machine, and not handed on by a proxy on it.
func fromHere(r *http.Request) bool {
	if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false
	}
	return strings.HasPrefix(r.RemoteAddr, "127.") || strings.HasPrefix(r.RemoteAddr, "[::1]:")
}
