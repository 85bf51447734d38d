package hg

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/errgroup"

	"gantry/internal/lfs"
	"gantry/internal/origin"
	"gantry/internal/origin/web"
)

const (
	lfsMedia      = "application/vnd.git-lfs+json"
	lfsTogether   = 100      // objects that are asked for by one request
	lfsBeside     = 4        // objects that come at the same time
	maxLFSAnswer  = 16 << 20 // bytes
	maxLFSHeaders = 32       // that an answer may want in a request
	maxObject     = 1 << 40  // bytes
	lfsUnderHTTP  = ".git/info/lfs"
	lfsBatch      = "objects/batch"
)

// objectStore is a store of Git LFS, as its batch API shows it
// (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md).
type objectStore struct {
	opt   Options
	url   *url.URL  // to which the parts of the API are added
	login web.Login // at its host, and only there
}

// objectStore is where the objects of the repository are, nil when nobody says where.
func (s *Source) objectStore() (*objectStore, error) {
	at, isHTTP := s.peer.(*httpPeer)
	if s.opt.LFS == "" {
		if !isHTTP {
			return nil, nil
		}
		return &objectStore{s.opt, at.base.JoinPath(lfsUnderHTTP), at.web.Login.Another()}, nil
	}
	base, err := url.Parse(s.opt.LFS)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, unsupportedf("%s is not the address of a store of Git LFS, of the form https://host/path", s.opt.LFS)
	}
	base.User, base.RawQuery, base.Fragment = nil, "", ""
	return &objectStore{opt: s.opt, url: base}, nil
}

// Objects implements origin.ContentSource.
func (s *Source) Objects(ctx context.Context, pointers []lfs.Pointer, to *lfs.Store, absent func(p lfs.Pointer, reason string)) error {
	store, err := s.objectStore()
	if err != nil {
		return outcome(ctx, "hg.Objects", s.opt.Address, err)
	}
	missing := slices.DeleteFunc(slices.Clone(pointers), to.Has)
	if store == nil {
		for _, p := range missing {
			absent(p, "over ssh Mercurial does not say where its store of Git LFS is")
		}
		return nil
	}
	for some := range slices.Chunk(missing, lfsTogether) {
		if err := store.bring(ctx, some, to, absent); err != nil {
			return outcome(ctx, "hg.Objects", s.opt.Address, err)
		}
	}
	return nil
}

// bring brings some objects, several at a time.
func (o *objectStore) bring(ctx context.Context, pointers []lfs.Pointer, to *lfs.Store, absent func(p lfs.Pointer, reason string)) error {
	var offered map[lfs.Pointer]offer
	err := patiently(ctx, func() (err error) {
		offered, err = o.ask(ctx, pointers)
		return err
	})
	reason, refused := refusal(ctx, err)
	if err != nil && !refused {
		return err
	}
	var mu sync.Mutex
	lacks := func(p lfs.Pointer, reason string) {
		mu.Lock()
		defer mu.Unlock()
		absent(p, reason)
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(lfsBeside)
	for _, p := range pointers {
		from, ok := offered[p]
		switch {
		case refused:
			lacks(p, reason)
			continue
		case p.Size > maxObject:
			lacks(p, fmt.Sprintf("it is to have more than %d bytes", int64(maxObject)))
			continue
		case !ok:
			lacks(p, "the store does not have it")
			continue
		case from.refused != "":
			lacks(p, from.refused)
			continue
		}
		work.Go(func() error {
			err := patiently(ctx, func() error { return o.fetch(ctx, p, from, to) })
			reason, refused := refusal(ctx, err)
			switch {
			case refused:
				lacks(p, reason)
			case err != nil && ctx.Err() == nil && errors.Is(err, origin.ErrTemporary) && !web.Follows(o.url, from.url):
				lacks(p, err.Error()) // of a host that nobody has named but the store
			default:
				return err
			}
			return nil
		})
	}
	return work.Wait()
}

// offer is where the store says that an object is, or why it is not.
type offer struct {
	url     *url.URL
	header  http.Header
	refused string
}

type batchObject struct {
	OID     string `json:"oid"`
	Size    int64  `json:"size"`
	Actions struct {
		Download *struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions,omitzero"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type objectBatch struct {
	Operation string        `json:"operation,omitempty"`
	Transfers []string      `json:"transfers,omitempty"`
	Objects   []batchObject `json:"objects"`
}

// ask asks for objects.
func (o *objectStore) ask(ctx context.Context, pointers []lfs.Pointer) (map[lfs.Pointer]offer, error) {
	question := objectBatch{Operation: "download", Transfers: []string{"basic"}}
	wanted := map[string]lfs.Pointer{}
	for _, p := range pointers {
		wanted[p.OID.String()] = p
		question.Objects = append(question.Objects, batchObject{OID: p.OID.String(), Size: p.Size})
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	server := web.Server{HTTP: o.opt.HTTP, Address: o.url.Redacted(), IdleTimeout: o.opt.IdleTimeout, Login: o.login}
	var answer objectBatch
	err = server.Ask(ctx, func(ctx context.Context) (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url.JoinPath(lfsBatch).String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", userAgent)
		request.Header.Set("Accept", lfsMedia)
		request.Header.Set("Content-Type", lfsMedia)
		return request, nil
	}, func(response *http.Response) error {
		if code := response.StatusCode; code != http.StatusOK {
			return &failure{meaning: server.StatusMeaning(code), status: code, message: fmt.Sprintf("the store of Git LFS at %s answers %q", server.Address, response.Status)}
		}
		if err := json.NewDecoder(io.LimitReader(response.Body, maxLFSAnswer)).Decode(&answer); err != nil {
			if errors.Is(err, origin.ErrTemporary) {
				return err
			}
			return malformedf("the store of Git LFS at %s does not answer by its protocol: %v", server.Address, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	o.login = server.Login
	offered := make(map[lfs.Pointer]offer, len(answer.Objects))
	for i := range answer.Objects {
		if p, ok := wanted[answer.Objects[i].OID]; ok {
			offered[p] = o.offer(&answer.Objects[i])
		}
	}
	return offered, nil
}

// offer reads what the store says of one object.
func (o *objectStore) offer(object *batchObject) offer {
	if object.Error != nil {
		return offer{refused: fmt.Sprintf("the store says: %.200s (%d)", said([]byte(object.Error.Message)), object.Error.Code)}
	}
	action := object.Actions.Download
	if action == nil {
		return offer{refused: "the store does not have it"}
	}
	href, err := o.url.Parse(action.Href)
	if err != nil || href.Scheme != "http" && href.Scheme != "https" || href.Hostname() == "" || len(action.Header) > maxLFSHeaders {
		return offer{refused: "the store says that it is where nothing can be: " + said([]byte(action.Href))}
	}
	from := offer{url: href, header: http.Header{}}
	if href.Scheme == "http" && o.url.Scheme == "https" { // what it was told in private goes nowhere else
		return from
	}
	for name, value := range action.Header {
		if name == "" || strings.ContainsFunc(name, notToken) || strings.ContainsFunc(value, unicode.IsControl) {
			return offer{refused: fmt.Sprintf("the store wants a header that is none: %.40q", name)}
		}
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Range", "Accept-Encoding", "Upgrade":
		default:
			from.header.Set(name, value)
		}
	}
	return from
}

// notToken reports whether a character cannot be in the name of a header.
func notToken(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// fetch brings one object, from where an earlier try has ended.
func (o *objectStore) fetch(ctx context.Context, p lfs.Pointer, from offer, to *lfs.Store) error {
	in, err := to.Receive(p)
	if err != nil {
		return sinkError{err}
	}
	defer in.Close()
	for {
		resumed := in.Size() > 0
		err := o.receive(ctx, from, p, in)
		if err == nil {
			err = in.Keep()
			if err == nil || !errors.Is(err, lfs.ErrWrong) {
				return localError(err)
			}
		}
		if !errors.Is(err, lfs.ErrWrong) {
			return err
		}
		if failed := in.Restart(); failed != nil || !resumed {
			return cmp.Or(localError(failed), err)
		}
	}
}

// localError says that an error is none of the origin.
func localError(err error) error {
	if err == nil {
		return nil
	}
	return sinkError{err}
}

// receive follows to where an object is, and takes what is missing of it. The log-in at the store goes to its host only, and
// so do the headers that it wants: they are for the address that it told.
func (o *objectStore) receive(ctx context.Context, from offer, p lfs.Pointer, in *lfs.Incoming) error {
	for range maxRedirects + 1 {
		if in.Size() == p.Size {
			return nil
		}
		server := web.Server{HTTP: o.opt.HTTP, Address: from.url.Redacted(), IdleTimeout: o.opt.IdleTimeout}
		if web.Follows(o.url, from.url) && from.header.Get("Authorization") == "" {
			server.Login = o.login.Another()
		}
		err := server.Ask(ctx, func(ctx context.Context) (*http.Request, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.url.String(), http.NoBody)
			if err != nil {
				return nil, err
			}
			request.Header = from.header.Clone()
			request.Header.Set("User-Agent", userAgent)
			request.Header.Set("Accept-Encoding", "identity")
			if in.Size() > 0 {
				request.Header.Set("Range", fmt.Sprintf("bytes=%d-", in.Size()))
			}
			return request, nil
		}, func(response *http.Response) error { return takeObject(&server, response, in) })
		var elsewhere *web.Moved
		if !errors.As(err, &elsewhere) {
			return err
		}
		if elsewhere.To.Scheme != "https" && (elsewhere.To.Scheme != "http" || from.url.Scheme == "https") {
			return malformedf("%s leads to %s", server.Address, elsewhere.To.Redacted())
		}
		next := offer{url: elsewhere.To, header: http.Header{}}
		if web.Follows(from.url, elsewhere.To) {
			next.header = from.header
		}
		from = next
	}
	return malformedf("%s leads elsewhere again and again", from.url.Redacted())
}

// takeObject appends what an answer brings.
func takeObject(server *web.Server, response *http.Response, in *lfs.Incoming) error {
	switch code := response.StatusCode; {
	case code/100 == 3:
		to, err := response.Location()
		if err != nil {
			return malformedf("%s answers %s and does not say where to go", server.Address, response.Status)
		}
		return &web.Moved{To: to}
	case code == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(in.Size(), 10)+"-"):
	case code == http.StatusRequestedRangeNotSatisfiable && in.Size() > 0:
		return fmt.Errorf("%w: %s answers %q", lfs.ErrWrong, server.Address, response.Status)
	case code == http.StatusOK:
		if err := in.Restart(); err != nil {
			return sinkError{err}
		}
	default:
		return &failure{meaning: server.StatusMeaning(code), status: code, message: fmt.Sprintf("%s answers %q", server.Address, response.Status)}
	}
	buf := make([]byte, downloadStep)
	for {
		n, err := response.Body.Read(buf)
		if _, failed := in.Write(buf[:n]); errors.Is(failed, lfs.ErrWrong) {
			return failed
		} else if failed != nil {
			return sinkError{failed}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
