package api

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"

	"gantry"
	"gantry/internal/auth"
)

// credentials reads what a request presents. It takes every way of sending them to the one resolver's terms; what was
// sent and cannot be read is a wrong credential, never none.
func credentials(r *http.Request) (auth.Presented, error) {
	in := auth.Presented{Addr: callerAddr(r)}
	lines := r.Header["Authorization"]
	switch {
	case len(lines) > 1:
		return in, errTwoCredentials
	case len(lines) == 1:
		if !parseAuthorization(lines[0], &in) {
			return in, errBadCredentials
		}
	}
	if !strings.Contains(r.URL.RawQuery, "access_token") {
		return in, nil
	}
	for _, token := range r.URL.Query()["access_token"] {
		switch {
		case token == "":
			return in, errBadCredentials
		case in.Basic, in.Token != "" && in.Token != token:
			return in, errTwoCredentials
		}
		in.Token = token
	}
	return in, nil
}

var (
	errTwoCredentials = &protocolError{status: http.StatusBadRequest, message: "Two different credentials were sent. Send one."}
	errBadCredentials = gantry.Errorf(gantry.Unauthenticated, "api", "Bad credentials")
)

// parseAuthorization fills in what an Authorization header says; schemes are compared without case.
func parseAuthorization(header string, in *auth.Presented) bool {
	scheme, rest, _ := strings.Cut(header, " ")
	rest = strings.Trim(rest, " ")
	if rest == "" {
		return false
	}
	switch {
	case strings.EqualFold(scheme, "token"), strings.EqualFold(scheme, "bearer"):
		in.Token = rest
		return true
	case strings.EqualFold(scheme, "basic"):
		plain, err := base64.StdEncoding.DecodeString(rest)
		if err != nil {
			return false
		}
		in.Basic = true
		in.Username, in.Password, _ = strings.Cut(string(plain), ":")
		return in.Username != "" || in.Password != ""
	}
	return false
}

// callerAddr is the address that the connection came from; the zero Addr when it is unknown.
func callerAddr(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}
