package detect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"gantry/internal/origin"
)

const maxBody = 64 << 10

// secondTry is how long a server that failed is left alone. One that was started just now may fail at the first requests
// of all, when several come at once: hg serve loads its modules then.
const secondTry = 300 * time.Millisecond

// fetch makes one request at opt.Address's host, and once more if the server fails at it. It reads the beginning of the
// answer.
func fetch(ctx context.Context, opt Options, method, address, body string) (*http.Response, []byte, error) {
	response, start, err := fetchOnce(ctx, opt, method, address, body)
	if err != nil || response.StatusCode != http.StatusInternalServerError {
		return response, start, err
	}
	select {
	case <-time.After(secondTry):
	case <-ctx.Done():
	}
	return fetchOnce(ctx, opt, method, address, body)
}

func fetchOnce(ctx context.Context, opt Options, method, address, body string) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "text/xml")
	}
	if !opt.Credentials.Empty() {
		request.SetBasicAuth(opt.Credentials.Username, opt.Credentials.Password)
	}
	response, err := opt.Egress.HTTPClient().Do(request)
	if err != nil {
		return nil, nil, origin.ConnectionError(opt.Address.String(), err)
	}
	defer response.Body.Close()
	start, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, nil, origin.ConnectionError(opt.Address.String(), err)
	}
	return response, start, nil
}

// refused reports whether a status asks for credentials, or other ones.
func refused(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden
}

// found is the address that an answer came from.
func found(response *http.Response, trim string) origin.Address {
	u := response.Request.URL
	return origin.Address{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: strings.TrimSuffix(u.EscapedPath(), trim)}
}

const (
	davOptions   = `<?xml version="1.0" encoding="utf-8"?><D:options xmlns:D="DAV:"><D:activity-collection-set/></D:options>`
	davNamespace = "http://subversion.tigris.org/xmlns/dav/svn/"
)

var davHeaders = []string{"SVN-Youngest-Rev", "SVN-Repository-UUID", "SVN-Repository-Root", "SVN-Me-Resource"}

// askDAV sends the request by which a Subversion client begins, without credentials. Whoever answers like a Subversion
// server, or asks who is there, gets to speak with the reader, which knows all ways to log in.
func askDAV(ctx context.Context, opt Options) finding {
	stranger := opt
	stranger.Credentials = origin.Credentials{}
	response, _, err := fetch(ctx, stranger, http.MethodOptions, opt.Address.String(), davOptions)
	if err == nil && response.Request.Method != http.MethodOptions && found(response, "").Host == opt.Address.Host {
		// A redirect has made a GET of it.
		response, _, err = fetch(ctx, stranger, http.MethodOptions, found(response, "").String(), davOptions)
	}
	if err != nil {
		return finding{answer: fault, err: err}
	}
	signed := strings.Contains(strings.Join(response.Header.Values("DAV"), ","), davNamespace)
	for _, name := range davHeaders {
		signed = signed || response.Header.Get(name) != ""
	}
	switch {
	case signed && found(response, "").Host != opt.Address.Host:
		return finding{answer: yes, address: found(response, "")}
	case signed, refused(response) && !opt.Credentials.Empty():
		result := askSVN(ctx, opt)
		result.signed = signed
		return result
	case refused(response):
		return finding{answer: asks}
	}
	return finding{answer: no}
}

// askMercurial asks for the capabilities of a Mercurial server, without credentials. Whoever wants some gets to speak with
// the reader, which knows all ways to log in.
func askMercurial(ctx context.Context, opt Options) finding {
	stranger := opt
	stranger.Credentials = origin.Credentials{}
	target := opt.Address
	target.Query = "cmd=capabilities"
	response, _, err := fetch(ctx, stranger, http.MethodGet, target.String(), "")
	switch {
	case err != nil:
		return finding{answer: fault, err: err}
	case response.StatusCode == http.StatusInternalServerError:
		return finding{answer: fault, err: fmt.Errorf("%s: %w: the server answers %s", opt.Address, origin.ErrTemporary, response.Status)}
	case refused(response) && !opt.Credentials.Empty():
		return readMercurial(ctx, opt)
	case refused(response):
		return finding{answer: asks}
	case strings.HasPrefix(response.Header.Get("Content-Type"), "application/mercurial-0."):
		return finding{answer: yes, address: found(response, "")}
	}
	return finding{answer: no}
}

const (
	projectsPath = "/_apis/projects"
	maxWalk      = 3 // people paste addresses of pages below a collection
)

// askTFVC asks for the projects of a collection, here and above. What has /_git/ in it is a Git repository of the same
// servers.
func askTFVC(ctx context.Context, opt Options) finding {
	if strings.Contains(opt.Address.Path+"/", "/_git/") {
		return finding{answer: no}
	}
	collection := opt.Address
	result := finding{answer: no}
	for range maxWalk + 1 {
		target := collection
		target.Path = strings.TrimSuffix(target.Path, "/") + projectsPath
		target.Query = url.Values{"api-version": {"1.0"}, "$top": {"1"}}.Encode()
		response, body, err := fetch(ctx, opt, http.MethodGet, target.String(), "")
		if err != nil {
			return finding{answer: fault, err: err}
		}
		signed := response.Header.Get("X-TFS-ProcessId") != "" || response.Header.Get("X-VSS-E2EID") != ""
		var list struct {
			Count *int              `json:"count"`
			Value []json.RawMessage `json:"value"`
		}
		isList := response.StatusCode == http.StatusOK && json.Unmarshal(body, &list) == nil && list.Count != nil && list.Value != nil
		switch {
		case isList:
			return finding{answer: yes, address: collection}
		case signed && (refused(response) || response.StatusCode == http.StatusNonAuthoritativeInfo || response.StatusCode == http.StatusFound):
			return finding{answer: asks, signed: true} // a sign-in page comes as 203
		case refused(response):
			result = finding{answer: asks}
		}
		up := path.Dir(strings.TrimSuffix(collection.Path, "/"))
		if up == "." || up == collection.Path {
			break
		}
		collection.Path = up
	}
	return result
}
