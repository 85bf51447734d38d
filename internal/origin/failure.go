package origin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	"gantry"
)

// ConnectionError says what a fault of a connection to an origin means: a gantry.Error where the user or the operator must
// do something (a host that does not exist also wraps ErrNotFound), else ErrTemporary.
func ConnectionError(where string, err error) error {
	var known *gantry.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return gantry.Errorf(gantry.NotFound, "origin", "%s: %w: there is no such host: %w", where, ErrNotFound, err)
	case errors.As(err, &certificate):
		return gantry.Errorf(gantry.Invalid, "origin", "%s shows a certificate that cannot be trusted: %s: %w", where, advice(certificate.Err), certificate.Err)
	case errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, http.ErrSchemeMismatch):
		return gantry.Errorf(gantry.Invalid, "origin", "%s does not speak TLS; if it is to be read unencrypted, give its address with http instead of https: %w", where, err)
	}
	return fmt.Errorf("%s: %w: %w", where, ErrTemporary, err)
}

// advice says what to do about a certificate.
func advice(err error) string {
	var invalid x509.CertificateInvalidError
	var wrongHost x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it is out of date, and whoever runs the server must renew it"
	case errors.As(err, &wrongHost):
		return "it is for another host; use the name that the certificate has, or ask whoever runs the server for one with this name"
	case errors.As(err, &unknown):
		return "nobody whom this machine trusts has signed it; add the certificate of who signed it to those that the machine trusts (SSL_CERT_FILE names a file of them)"
	}
	return "ask whoever runs the server for another one"
}

// AuthError is what it means that an origin lets somebody with these credentials not in: without any they are what is
// missing.
func AuthError(creds Credentials) error {
	if creds.Empty() {
		return ErrAuthRequired
	}
	return ErrAuthFailed
}
