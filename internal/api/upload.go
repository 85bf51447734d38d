package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gantry"
	"gantry/internal/imports"
)

// uploadIdle ends an upload whose client sends nothing.
const uploadIdle = time.Minute

// stream is a body that may be long: it has a time for each step instead of one for all of it, and no limit on its size.
type stream struct {
	io.ReadCloser
	conn *http.ResponseController
}

func newStream(w http.ResponseWriter, body io.ReadCloser) *stream {
	return &stream{body, http.NewResponseController(w)}
}

func (s *stream) Read(p []byte) (int, error) {
	step := time.Now().Add(uploadIdle)
	_ = s.conn.SetReadDeadline(step) // unsupported only in tests, as below
	_ = s.conn.SetWriteDeadline(step)
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		// The server goes on reading to learn that the client has left. A deadline would look like that.
		_ = s.conn.SetReadDeadline(time.Time{})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = errBodyEnded
	}
	return n, err
}

// uploadBody tells how far an upload has come.
type uploadBody struct {
	Received int64  `json:"received"`
	Total    *int64 `json:"total"`
}

func (a *API) putUpload(c *call) (reply, error) {
	part, err := readPart(c.r)
	if err != nil {
		return reply{}, err
	}
	query := c.r.URL.Query()
	part.SVNRoot = query.Get("svn_root")
	if part.Shape, err = parseShape(query.Get("svn_options")); err != nil {
		return reply{}, err
	}
	state, imp, err := a.Imports.Receive(c.r.Context(), c.principal, c.view, part, c.r.Body)
	var elsewhere *imports.OffsetError
	switch {
	case errors.As(err, &elsewhere):
		rep := problemReply(&protocolError{status: http.StatusRequestedRangeNotSatisfiable, message: gantry.Message(err)}, a.URLs.Documentation())
		rep.byteRange = received(elsewhere.Received)
		return rep, nil
	case err != nil:
		return reply{}, err
	case imp != nil:
		return created(a.URLs.importOf(c.view), a.newImportBody(c.view, imp))
	}
	return reply{status: http.StatusNoContent, byteRange: received(state.Received)}, nil
}

func (a *API) getUpload(c *call) (reply, error) {
	state, err := a.Imports.Uploaded(c.r.Context(), c.principal, c.view)
	if err != nil {
		return reply{}, err
	}
	body := &uploadBody{Received: state.Received}
	if state.Total != imports.Unknown {
		body.Total = &state.Total
	}
	return reply{status: http.StatusOK, body: body, byteRange: received(state.Received)}, nil
}

// parseShape reads svn_options where they stand in a query: as the object that they are in a body.
func parseShape(text string) (shape gantry.Shape, err error) {
	if text == "" {
		return shape, nil
	}
	if err := json.Unmarshal([]byte(text), &shape); err != nil {
		return shape, invalidField(importResource, "svn_options", gantry.InvalidField, "svn_options is a JSON object, as in the body that starts an import")
	}
	return shape, nil
}

// received is the Range header that tells which bytes are there, "" for none.
func received(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("bytes=0-%d", n-1)
}

// readPart reads what a request says of its body: a whole file, or with Content-Range (RFC 9110, section 14.4) a part.
func readPart(r *http.Request) (imports.Part, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return imports.Part{}, &protocolError{
			status:  http.StatusUnsupportedMediaType,
			message: "Send the file as it is, without Content-Encoding. The file itself may be compressed by gzip or zstd.",
		}
	}
	header := r.Header.Get("Content-Range")
	if header == "" {
		if r.ContentLength == 0 {
			return imports.Part{}, badRange("The body is empty.")
		}
		return imports.Part{Whole: true, Length: r.ContentLength, Total: r.ContentLength}, nil // -1 is Unknown in both
	}
	part, ok := parseContentRange(header)
	switch {
	case !ok:
		return part, badRange("Content-Range is not of the form \"bytes FIRST-LAST/TOTAL\" or \"bytes */TOTAL\".")
	case r.ContentLength >= 0 && r.ContentLength != part.Length:
		return part, badRange("Content-Range and Content-Length do not agree.")
	}
	return part, nil
}

func badRange(message string) error {
	return &protocolError{status: http.StatusBadRequest, message: message}
}

// parseContentRange reads "bytes 0-99/1000", or "bytes */1000" for a part without content.
func parseContentRange(header string) (part imports.Part, ok bool) {
	spec, ok := strings.CutPrefix(header, "bytes ")
	if !ok {
		return part, false
	}
	place, size, _ := strings.Cut(spec, "/")
	total, ok := parseSize(size)
	if !ok || total == 0 {
		return part, false
	}
	if place == "*" {
		return imports.Part{Offset: imports.Unknown, Total: total}, true
	}
	from, to, _ := strings.Cut(place, "-")
	first, ok1 := parseSize(from)
	last, ok2 := parseSize(to)
	if !ok1 || !ok2 || first > last || last >= total {
		return part, false
	}
	return imports.Part{Offset: first, Length: last - first + 1, Total: total}, true
}

// parseSize reads digits alone.
func parseSize(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil
}
