package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

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
		return gantry.Errorf(gantry.Invalid, "origin", "%s shows a certificate that cannot be trusted: %w", where, certificate.Err)
	}
	return fmt.Errorf("%s: %w: %w", where, ErrTemporary, err)
}
