package api

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"gantry"
)

// kinds is the one table from kinds of error to HTTP: the status, and the message for errors that bring none.
var kinds = map[gantry.Kind]struct {
	status  int
	message string
}{
	gantry.Internal:        {http.StatusInternalServerError, "Server Error"},
	gantry.NotFound:        {http.StatusNotFound, "Not Found"},
	gantry.Invalid:         {http.StatusUnprocessableEntity, "Validation Failed"},
	gantry.Conflict:        {http.StatusUnprocessableEntity, "Validation Failed"},
	gantry.Forbidden:       {http.StatusForbidden, "Forbidden"},
	gantry.Unauthenticated: {http.StatusUnauthorized, "Bad credentials"},
	gantry.Unavailable:     {http.StatusServiceUnavailable, "Service Unavailable"},
	gantry.TooLarge:        {http.StatusRequestEntityTooLarge, "Payload Too Large"},
	gantry.RateLimited:     {http.StatusForbidden, "API rate limit exceeded"},
}

// protocolError is a fault of HTTP or JSON, before any service is asked.
type protocolError struct {
	status  int
	message string
	allow   string // the Allow header of 405
}

func (e *protocolError) Error() string { return "api: " + e.message }

func isProtocolError(err error) bool {
	var p *protocolError
	return errors.As(err, &p)
}

// errorBody is the JSON of every error.
type errorBody struct {
	Message          string       `json:"message"`
	Errors           []fieldError `json:"errors,omitempty"`
	DocumentationURL string       `json:"documentation_url"`
}

type fieldError struct {
	Resource string           `json:"resource"`
	Field    string           `json:"field"`
	Code     gantry.FieldCode `json:"code"`
	Message  string           `json:"message,omitempty"`
}

func problemReply(err error, documentation string) reply {
	body := errorBody{DocumentationURL: documentation}
	var protocol *protocolError
	if errors.As(err, &protocol) {
		body.Message = protocol.message
		return reply{status: protocol.status, body: &body, allow: protocol.allow}
	}
	kind := gantry.KindOf(err)
	known := kinds[kind]
	body.Message = known.message
	rep := reply{status: known.status, body: &body}
	var fault *gantry.Error
	if kind == gantry.Internal || kind == gantry.NotFound || !errors.As(err, &fault) {
		return rep
	}
	for _, f := range fault.Fields {
		body.Errors = append(body.Errors, fieldError(f))
	}
	if text := gantry.Message(err); text != "" && len(body.Errors) == 0 {
		body.Message = text
	}
	if fault.RetryAfter > 0 {
		rep.retryAfter = seconds(fault.RetryAfter)
	}
	return rep
}

// seconds rounds up: a client that waits as long as told must not come too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10)
}

// invalidField is the validation error of one field of a request.
func invalidField(resource, field string, code gantry.FieldCode, message string) error {
	return &gantry.Error{Kind: gantry.Invalid, Op: "api", Fields: []gantry.FieldError{{Resource: resource, Field: field, Code: code, Message: message}}}
}
