package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// minFree is the free space in the data directory, in bytes, below which the server says that it is not ready.
const minFree = 64 << 20

// healthz says that the process lives.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok\n")
}

// readyz says whether requests will be answered well: 200 or 503, with every check when asked by ?verbose.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	status := http.StatusOK
	var text strings.Builder
	for _, check := range []struct {
		name string
		err  error
	}{
		{"accepting requests", s.checkAccepting()},
		{"database", s.services.DB.Ping(ctx)},
		{"disk", checkDisk(s.cfg.Data)},
		{"queue", s.checkQueue()},
	} {
		if check.err == nil {
			fmt.Fprintf(&text, "ok      %s\n", check.name)
			continue
		}
		status = http.StatusServiceUnavailable
		fmt.Fprintf(&text, "failed  %s\n", check.name) // why is in the log: strangers may ask
		s.log.WarnContext(ctx, "not ready", "check", check.name, "err", check.err)
	}
	switch {
	case r.URL.Query().Has("verbose"):
		plain(w, status, text.String())
	case status == http.StatusOK:
		plain(w, status, "ready\n")
	default:
		plain(w, status, "not ready; ?verbose tells which check failed, the log tells why\n")
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

func (s *Server) checkAccepting() error {
	if s.draining.Load() {
		return fmt.Errorf("the server is stopping")
	}
	return nil
}

func (s *Server) checkQueue() error {
	if !s.working.Load() {
		return fmt.Errorf("the queue does not run")
	}
	return nil
}

func checkDisk(dir string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return err
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < minFree {
		return fmt.Errorf("only %d bytes are free in %s", free, dir)
	}
	return nil
}
