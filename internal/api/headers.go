package api

import (
	"net/http"
	"strings"
)

// Header names in the spelling of the contract. They are set as they are: clients print them, and scripts look for them.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerUsed      = "X-RateLimit-Used"
	headerResource  = "X-RateLimit-Resource"
	headerScopes    = "X-OAuth-Scopes"
	headerAccepted  = "X-Accepted-OAuth-Scopes"
	headerETag      = "ETag"
)

// headerSet holds the headers that every response carries, made once.
type headerSet struct {
	fixed      http.Header
	options    http.Header
	requestIDs []string // names, one for each vendor word
}

func newHeaderSet(vendors []string) headerSet {
	exposed := []string{
		headerETag, "Link", "Location", "Retry-After", headerLimit, headerRemaining, headerReset, headerUsed, headerResource,
		headerScopes, headerAccepted,
	}
	allowed := []string{"Authorization", "Content-Type", "Accept", "If-None-Match", "If-Modified-Since", "Time-Zone", "X-Requested-With", "User-Agent"}
	var ids []string
	for _, word := range vendors {
		prefix := vendorHeader(word)
		ids = append(ids, prefix+"-Request-Id")
		exposed = append(exposed, prefix+"-OTP", prefix+"-SSO", prefix+"-Media-Type", prefix+"-Request-Id")
		allowed = append(allowed, prefix+"-OTP", prefix+"-Api-Version")
	}
	return headerSet{
		fixed: http.Header{
			"X-Content-Type-Options":        {"nosniff"},
			"X-Frame-Options":               {"deny"},
			"Content-Security-Policy":       {"default-src 'none'; frame-ancestors 'none'"},
			"Vary":                          {"Accept, Authorization, Cookie"},
			"Access-Control-Allow-Origin":   {"*"},
			"Access-Control-Expose-Headers": {strings.Join(exposed, ", ")},
		},
		options: http.Header{
			"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
			"Access-Control-Allow-Headers": {strings.Join(allowed, ", ")},
			"Access-Control-Max-Age":       {"86400"},
		},
		requestIDs: ids,
	}
}

// vendorHeader is the beginning of a vendor word's header names.
func vendorHeader(word string) string { return "X-" + strings.ToUpper(word[:1]) + word[1:] }

func (s *headerSet) begin(h http.Header) {
	for name, values := range s.fixed {
		h[name] = values
	}
}

func (s *headerSet) preflight(h http.Header) {
	for name, values := range s.options {
		h[name] = values
	}
}

func (s *headerSet) identify(h http.Header, id string) {
	value := []string{id}
	for _, name := range s.requestIDs {
		h[name] = value
	}
}
