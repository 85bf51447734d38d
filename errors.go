package gantry

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies an error by what its reader can do about it. One table in internal/api turns kinds into HTTP statuses.
type Kind uint8

const (
	Internal        Kind = iota // a fault of ours; its text never reaches a client
	NotFound                    // the thing does not exist, or the caller may not know that it does
	Invalid                     // the request is well formed but cannot be accepted; Fields say why
	Conflict                    // the state of the thing forbids the operation now
	Forbidden                   // the caller is known and may not
	Unauthenticated             // credentials were sent and are wrong
	Unavailable                 // try again later
	TooLarge                    // a bound on size was passed
	RateLimited                 // too many requests or attempts
)

var kindNames = [...]string{"internal", "not found", "invalid", "conflict", "forbidden", "unauthenticated", "unavailable", "too large", "rate limited"}

func (k Kind) String() string { return kindNames[k] }

// FieldCode says what is wrong with one field of a request.
type FieldCode string

const (
	Missing       FieldCode = "missing"        // a named resource does not exist
	MissingField  FieldCode = "missing_field"  // a required field was not sent
	InvalidField  FieldCode = "invalid"        // the value or its type is not allowed
	AlreadyExists FieldCode = "already_exists" // another resource has this value
	Custom        FieldCode = "custom"         // Message tells
)

// FieldError is one entry of a validation error.
type FieldError struct {
	Resource string
	Field    string
	Code     FieldCode
	Message  string // required for Custom, optional otherwise
}

// Error is the error type of the whole program. Op names the operation ("imports.Start"), Msg is a sentence for people
// that says what to do next, Err is the cause and stays inside.
type Error struct {
	Kind       Kind
	Op         string
	Msg        string
	Fields     []FieldError
	RetryAfter time.Duration // with Unavailable and RateLimited; 0 when unknown
	Err        error
}

func (e *Error) Error() string {
	var parts []string
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	if e.Msg != "" {
		parts = append(parts, e.Msg)
	}
	for _, f := range e.Fields {
		text := fmt.Sprintf("%s.%s %s", f.Resource, f.Field, f.Code)
		if f.Message != "" {
			text += " (" + f.Message + ")"
		}
		parts = append(parts, text)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if len(parts) == 0 {
		return e.Kind.String()
	}
	return strings.Join(parts, ": ")
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a kind whose message is for people. A %w operand stays reachable as its cause.
func Errorf(kind Kind, op, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Err: &message{fmt.Errorf(format, args...)}}
}

// message is an error whose whole text is meant for people.
type message struct{ error }

func (m *message) Unwrap() error { return m.error }

// KindOf returns the kind of the outermost Error in err's chain, Internal when there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Message returns the outermost sentence for people in err's chain, "" when there is none.
func Message(err error) string {
	for err != nil {
		switch e := err.(type) {
		case *Error:
			if e.Msg != "" {
				return e.Msg
			}
		case *message:
			return e.Error()
		}
		err = errors.Unwrap(err)
	}
	return ""
}
