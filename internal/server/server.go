// Package server puts the parts together: it opens the database and the repositories, runs the services' jobs, tells the
// edges apart by path, and takes it all down in order.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"gantry/internal/api"
	"gantry/internal/config"
	"gantry/internal/egress"
	"gantry/internal/gitdir"
	"gantry/internal/githttp"
	"gantry/internal/imports"
	"gantry/internal/jobs"
	"gantry/internal/repos"
	"gantry/internal/secret"
)

const (
	// drainTimeout is what requests and jobs are given to end by themselves, killTimeout what they have after that. Both
	// together stay below the 30 seconds that supervisors usually wait.
	drainTimeout = 20 * time.Second
	killTimeout  = 5 * time.Second
)

// Server is a whole Gantry in one process: New, Run, Close.
type Server struct {
	cfg   *config.Config
	log   *slog.Logger
	url   string
	admin *Administrator

	services *Services
	queue    *jobs.Queue
	imports  *imports.Service

	api     http.Handler
	git     http.Handler
	metrics *metrics

	listeners []listener
	handlers  sync.WaitGroup // requests at work
	working   atomic.Bool    // the queue runs
	draining  atomic.Bool
}

// listener is an address that is listened on, and what answers there.
type listener struct {
	net.Listener
	http *http.Server
}

// New opens everything and listens, but does not answer yet. Close it, also after Run.
func New(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *Server, err error) {
	s := &Server{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.services, err = OpenServices(ctx, cfg, log); err != nil {
		return nil, err
	}
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	s.admin, err = s.services.firstStart(ctx)
	return s, err
}

// listen takes the addresses first: what clients are told depends on them.
func (s *Server) listen(ctx context.Context) error {
	main, err := s.listenOn(ctx, s.cfg.Listen, http.HandlerFunc(s.serve))
	if err != nil {
		return err
	}
	s.metrics = newMetrics()
	if s.cfg.Metrics != config.MetricsLocal && s.cfg.Metrics != config.MetricsOff {
		if _, err := s.listenOn(ctx, s.cfg.Metrics, s.metrics.handler); err != nil {
			return err
		}
	}
	s.url = s.cfg.ExternalURL
	if s.url == "" {
		s.url = "http://" + reachable(main.(*net.TCPAddr))
	}
	return nil
}

func (s *Server) listenOn(ctx context.Context, address string, h http.Handler) (net.Addr, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	s.listeners = append(s.listeners, listener{l, &http.Server{
		Handler: h,
		// Requests for Git set deadlines of their own, as a clone may take long.
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}})
	return l.Addr(), nil
}

// reachable is an address that a client on this machine can connect to.
func reachable(addr *net.TCPAddr) string {
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", addr.Port)
	}
	return addr.String()
}

// build makes the services and the edges.
func (s *Server) build(ctx context.Context) error {
	cfg, db := s.cfg, s.services.DB
	git, err := gitdir.New(gitdir.Options{GitPath: cfg.Git})
	if err != nil {
		return err
	}
	keys, err := secret.LoadKeys(filepath.Join(cfg.Data, "master.key"), cfg.MasterKey)
	if err != nil {
		return err
	}
	sealer, err := secret.NewSealer(keys)
	if err != nil {
		return err
	}
	policy, err := egress.ParsePolicy(cfg.EgressAllow)
	if err != nil {
		return fmt.Errorf("setting egress_allow: %w", err)
	}
	if s.queue, err = jobs.New(ctx, db, s.log); err != nil {
		return err
	}
	repositories := repos.New(db, git, filepath.Join(cfg.Data, "repositories"), time.Now)
	s.imports, err = imports.New(imports.Options{
		DB: db, Queue: s.queue, Sealer: sealer, Repos: repositories, Git: git, Egress: egress.New(policy, s.log),
		Log: s.log, Now: time.Now,
		Dir:                filepath.Join(cfg.Data, "imports"),
		Workers:            cfg.ImportWorkers,
		Lease:              cfg.ImportLease,
		Retention:          cfg.ImportRetention,
		DefaultBranch:      cfg.DefaultBranch,
		LargeFileThreshold: int64(cfg.LargeFileThreshold),
		UploadLimit:        int64(cfg.UploadLimit),
	})
	if err != nil {
		return err
	}
	s.api, err = api.New(api.Options{
		Accounts: s.services.Accounts, Auth: s.services.Auth, Repos: repositories, Imports: s.imports,
		URLs:    api.URLs{API: cmp.Or(cfg.APIURL, s.url), Web: cmp.Or(cfg.WebURL, s.url)},
		Vendors: cfg.Vendors,
		Lenient: cfg.Preview == config.PreviewLenient,
		Limits: api.Limits{
			Core: cfg.RateUser, Anonymous: cfg.RateAnonymous, SourceImport: cfg.RateImport, Body: int64(cfg.BodyLimit),
		},
		Maintenance: cfg.ImportsOff,
		Now:         time.Now,
		Log:         s.log,
		Observe:     s.observeAPI,
	})
	if err != nil {
		return err
	}
	s.git = githttp.New(githttp.Options{
		Auth: s.services.Auth, Repos: repositories, Git: git, Log: s.log,
		PushLimit: int64(cfg.PushLimit), Processes: cfg.GitProcesses,
	})
	return nil
}

// Addr is the address that is listened on.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// URL is the address under which clients reach the server.
func (s *Server) URL() string { return s.url }

// Administrator is the account that this start made because there was none, else nil.
func (s *Server) Administrator() *Administrator { return s.admin }

// Run answers requests and works on imports until ctx ends, and then takes at most half a minute to bring them to an end:
// requests are finished, imports save how far they came.
func (s *Server) Run(ctx context.Context) error {
	// What runs is not cancelled by ctx but stopped in order by drain.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	group, failed := errgroup.WithContext(work)
	for _, l := range s.listeners {
		group.Go(func() error {
			if err := l.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	sweep, stopSweep := context.WithCancel(work)
	group.Go(func() error {
		s.working.Store(true)
		defer s.working.Store(false)
		return s.queue.Run(work)
	})
	group.Go(func() error { return ignoreCancel(sweep, s.imports.Run(sweep)) })
	group.Go(func() error {
		select {
		case <-ctx.Done():
			s.log.Info("stopping: finishing requests, saving the state of imports")
		case <-failed.Done():
		}
		stopSweep()
		return s.drain(context.WithoutCancel(ctx))
	})
	s.log.Info("listening", "address", s.Addr().String(), "url", s.url)
	err := group.Wait()
	s.log.Info("stopped", "err", err)
	return err
}

func ignoreCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// drain ends what runs: kindly at first.
func (s *Server) drain(ctx context.Context) error {
	s.draining.Store(true)
	kind, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var group errgroup.Group
	for _, l := range s.listeners {
		group.Go(func() error {
			if err := l.http.Shutdown(kind); err == nil {
				return nil
			}
			return l.http.Close() // which ends the contexts of the requests, and so kills their git
		})
	}
	group.Go(func() error { return s.queue.Stop(kind) })
	err := group.Wait()

	ended := make(chan struct{})
	go func() {
		s.handlers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(killTimeout):
		s.log.Warn("some requests did not end in time")
	}
	return err
}

// Close releases everything. It is called after Run has returned, or instead of it.
func (s *Server) Close() error {
	var errs []error
	for _, l := range s.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.imports != nil {
		errs = append(errs, s.imports.Close())
	}
	if s.services != nil {
		errs = append(errs, s.services.Close())
	}
	return errors.Join(errs...)
}
