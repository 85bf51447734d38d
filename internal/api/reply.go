package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"gantry"
)

// reply is what a handler answers. Either body is encoded as JSON, or text is sent as it is with its content type.
type reply struct {
	status      int
	body        any
	text        []byte
	contentType string // of text
	fileName    string // offered to whoever saves text
	location    string
	link        string
	allow       string
	retryAfter  string
	byteRange   string // the Range header: which bytes of an upload are there
}

func ok(body any) (reply, error) { return reply{status: http.StatusOK, body: body}, nil }

func created(location string, body any) (reply, error) {
	return reply{status: http.StatusCreated, body: body, location: location}, nil
}

func noContent() (reply, error) { return reply{status: http.StatusNoContent}, nil }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const jsonType = "application/json; charset=utf-8"

// write sends a reply and returns its status and the size of its body.
func (a *API) write(w http.ResponseWriter, c *call, rep reply) (status, sent int) {
	text := rep.text
	if rep.body != nil {
		buf := buffers.Get().(*bytes.Buffer)
		buf.Reset()
		defer buffers.Put(buf)
		encoder := json.NewEncoder(buf)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(rep.body); err != nil {
			rep = a.problem(c, gantry.Errorf(gantry.Internal, "api", "encode the answer: %w", err))
			buf.Reset()
			_ = encoder.Encode(rep.body) // strings only: cannot fail
		}
		text = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
		rep.contentType = jsonType
	}

	h := w.Header()
	setIf(h, "Location", rep.location)
	setIf(h, "Link", rep.link)
	setIf(h, "Allow", rep.allow)
	setIf(h, "Retry-After", rep.retryAfter)
	setIf(h, "Range", rep.byteRange)
	if rep.fileName != "" {
		h.Set("Content-Disposition", `attachment; filename="`+rep.fileName+`"`)
	}
	if c.route.reads() && rep.status == http.StatusOK {
		tag := entityTag(text)
		h[headerETag] = []string{tag}
		if matches(c.r.Header["If-None-Match"], tag) {
			rep.status, text, rep.contentType = http.StatusNotModified, nil, ""
			a.uncount(c)
		}
	}
	a.setCallHeaders(h, c)
	if text != nil {
		h.Set("Content-Type", rep.contentType)
		h.Set("Content-Length", strconv.Itoa(len(text)))
	}
	w.WriteHeader(rep.status)
	if c.r.Method == http.MethodHead {
		return rep.status, 0
	}
	n, _ := w.Write(text) // a caller who has gone away needs no answer
	return rep.status, n
}

func setIf(h http.Header, name, value string) {
	if value != "" {
		h[name] = []string{value}
	}
}

// setCallHeaders says under which allowance, with which scopes and as which media type the call was answered.
func (a *API) setCallHeaders(h http.Header, c *call) {
	// Nothing may be shown twice from a cache: the state of an import moves on while it is watched.
	cache := "no-cache"
	if strings.Contains(c.r.URL.RawQuery, "access_token") {
		cache = "no-store"
		h["Referrer-Policy"] = []string{"no-referrer"}
	}
	h["Cache-Control"] = []string{cache}
	h[headerLimit] = []string{strconv.Itoa(c.window.limit)}
	h[headerRemaining] = []string{strconv.Itoa(c.window.remaining())}
	h[headerReset] = []string{strconv.FormatInt(c.window.reset.Unix(), 10)}
	h[headerUsed] = []string{strconv.Itoa(c.window.used)}
	h[headerResource] = []string{c.window.bucket.String()}
	if c.principal.Credential == gantry.CredToken {
		h[headerScopes] = []string{c.principal.Scopes.String()}
		h[headerAccepted] = []string{c.accepted.String()}
	}
	if c.media.name != "" {
		echo := []string{a.echo(c.media)}
		for i := range a.media {
			h[a.media[i].header] = echo
		}
	}
}

// entityTag is strong and the same on every server: half of the body's SHA-256.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// matches reports whether If-None-Match lists the tag, compared weakly as RFC 9110 section 13.1.2 says.
func matches(lines []string, tag string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimSpace(part)
			if part == "*" || strings.TrimPrefix(part, "W/") == tag {
				return true
			}
		}
	}
	return false
}
