package hg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"gantry/internal/origin"
	"gantry/internal/origin/web"
)

const (
	maxResumes   = 5 // in a row that bring next to nothing
	resumePause  = 200 * time.Millisecond
	worthwhile   = 1 << 20 // bytes by which a connection was worth it
	downloadStep = 128 << 10
)

// download is a file that is brought by http from wherever it is, without credentials. Where the connection breaks it goes
// on at the byte that is missing.
type download struct {
	web   web.Server
	url   *url.URL
	state string // of the file, as the server names it; "" when it does not
	at    int64  // bytes that came
	log   *slog.Logger
}

// fetch brings the file at an address to a file that has no name.
func fetch(ctx context.Context, opt Options, from *url.URL) (*os.File, error) {
	file, err := origin.Spool(opt.TempDir)
	if err != nil {
		return nil, err
	}
	d := &download{url: from, log: opt.Log, web: web.Server{HTTP: opt.HTTP, Address: plainURL(from), IdleTimeout: opt.IdleTimeout}}
	if err := d.copyTo(ctx, spoolWriter{file}); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// copyTo writes the whole file.
func (d *download) copyTo(ctx context.Context, out io.Writer) error {
	pause, left := resumePause, maxResumes
	for redirects := 0; ; {
		start := d.at
		err := d.web.Ask(ctx, d.request, func(response *http.Response) error { return d.take(response, out) })
		var elsewhere *web.Moved
		switch {
		case errors.As(err, &elsewhere) && redirects < maxRedirects && (elsewhere.To.Scheme == "https" || d.url.Scheme == "http" && elsewhere.To.Scheme == "http"):
			redirects++
			d.url = elsewhere.To
			continue
		case !errors.Is(err, origin.ErrTemporary) || ctx.Err() != nil || d.at == 0:
			return err
		}
		if d.at-start >= worthwhile {
			pause, left = resumePause, maxResumes
		}
		if left--; left < 0 {
			return err
		}
		d.log.WarnContext(ctx, "a download goes on where it broke", "url", d.web.Address, "bytes", d.at, "because", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func (d *download) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept-Encoding", "identity")
	if d.at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.state != "" {
			request.Header.Set("If-Range", d.state)
		}
	}
	return request, nil
}

// take reads an answer, which has the file from where it is missing, or, from a server that does not know ranges, from its
// beginning.
func (d *download) take(response *http.Response, out io.Writer) error {
	switch code := response.StatusCode; {
	case code/100 == 3:
		to, err := response.Location()
		if err != nil {
			return malformedf("it answers %s and does not say where to go", response.Status)
		}
		return &web.Moved{To: to}
	case code == http.StatusPartialContent && d.at > 0:
		if !strings.HasPrefix(response.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(d.at, 10)+"-") {
			return malformedf("it was asked for what comes from byte %d, and sends %.100q", d.at, response.Header.Get("Content-Range"))
		}
	case code == http.StatusOK:
		state := cmp.Or(strongTag(response.Header.Get("ETag")), response.Header.Get("Last-Modified"))
		if d.at > 0 {
			if state == "" || state != d.state {
				return malformedf("the file has changed while it was read")
			}
			if _, err := io.CopyN(io.Discard, response.Body, d.at); err != nil {
				return broken(err)
			}
		}
		d.state = state
	default:
		return &failure{meaning: d.web.StatusMeaning(code), message: fmt.Sprintf("the server answers %q", response.Status)}
	}
	buf := make([]byte, downloadStep)
	for {
		n, err := response.Body.Read(buf)
		if n > 0 {
			if d.at += int64(n); d.at > maxStream {
				return malformedf("the file has more than %d bytes", int64(maxStream))
			}
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// strongTag is an entity tag that says of two answers with it that they have the same bytes.
func strongTag(tag string) string {
	if strings.HasPrefix(tag, "W/") {
		return ""
	}
	return tag
}

// broken makes an early end a fault of the connection.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the answer ends too early", origin.ErrTemporary)
	}
	return err
}
