package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"gantry"
)

// decode reads the JSON object of a request into a struct of pointers, where nil means that a key was not sent or is
// null. Unknown keys are ignored; a known key of the wrong type is a validation error of the resource.
func decode(c *call, resource string, into any) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	return decodeObject(body, resource, into)
}

// decodeOptional is decode for operations whose body may be missing.
func decodeOptional(c *call, resource string, into any) error {
	body, err := readBody(c)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	return decodeObject(body, resource, into)
}

func decodeObject(body []byte, resource string, into any) error {
	if !json.Valid(body) {
		return &protocolError{status: http.StatusBadRequest, message: "Problems parsing JSON"}
	}
	if bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
		return &protocolError{status: http.StatusBadRequest, message: "Body should be a JSON object"}
	}
	err := json.Unmarshal(body, into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		field, _, _ := strings.Cut(mismatch.Field, ".")
		return invalidField(resource, field, gantry.InvalidField, field+" is a "+mismatch.Value+", which is not its type")
	}
	if err != nil {
		return gantry.Errorf(gantry.Internal, "api", "decode a valid body: %w", err)
	}
	return nil
}

var errBodyEnded = &protocolError{status: http.StatusBadRequest, message: "The body ended early."}

func readBody(c *call) ([]byte, error) {
	body, err := io.ReadAll(c.r.Body) // bounded by http.MaxBytesReader
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, gantry.Errorf(gantry.TooLarge, "api", "The body is larger than %d bytes.", tooLarge.Limit)
	case err != nil:
		return nil, errBodyEnded
	}
	return body, nil
}

// first is the first text that was sent.
func first(texts ...*string) string {
	for _, t := range texts {
		if t != nil {
			return *t
		}
	}
	return ""
}
