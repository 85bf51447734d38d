// Package egress makes every connection that is made on a user's behalf, and refuses addresses that the policy forbids.
//
// The check is made on the address that is really dialled, after name resolution, for each connection: a redirect, a
// name that resolves differently the second time or a child process of ours (through Proxy) meets the same check.
package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"gantry"
)

const (
	dialTimeout   = 10 * time.Second // of one address
	maxAddresses  = 8                // of one name that are tried
	maxRedirects  = 5
	headerTimeout = 2 * time.Minute // a Subversion server may think long before it answers
)

// Resolver finds the addresses of a host name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Egress dials within a policy. It is safe for concurrent use.
type Egress struct {
	policy   Policy
	resolver Resolver
	log      *slog.Logger
	client   *http.Client
}

// New returns an Egress that resolves names the way the machine does.
func New(policy Policy, log *slog.Logger) *Egress {
	return NewWithResolver(policy, net.DefaultResolver, log)
}

// NewWithResolver returns an Egress with its own way of resolving names.
func NewWithResolver(policy Policy, resolver Resolver, log *slog.Logger) *Egress {
	e := &Egress{policy: policy, resolver: resolver, log: log}
	e.client = &http.Client{Transport: e.transport(), CheckRedirect: checkRedirect}
	return e
}

// DialContext connects to "host:port" over TCP. A host that the policy forbids is a gantry.Error of kind Forbidden that
// wraps ErrRefused; one that is spelled in an unusual way is of kind Invalid.
func (e *Egress) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, gantry.Errorf(gantry.Invalid, "egress", "network %q is not TCP", network)
	}
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	ip, name, err := parseHost(host)
	if err != nil {
		return nil, err
	}
	addrs, trusted := []netip.Addr{ip}, false
	if name != "" {
		trusted = e.policy.allowsHost(name, port)
		// "ip" asks for both families, as "tcp" does.
		addrs, err = e.resolver.LookupNetIP(ctx, "ip"+network[len("tcp"):], name)
		if err != nil {
			return nil, err
		}
		addrs = addrs[:min(len(addrs), maxAddresses)]
	}
	return e.dialFirst(ctx, network, host, addrs, port, trusted)
}

func splitAddress(address string) (host string, port uint16, err error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, gantry.Errorf(gantry.Invalid, "egress", "%q is not host:port", address)
	}
	number, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || number == 0 {
		return "", 0, gantry.Errorf(gantry.Invalid, "egress", "%q is not a port number from 1 to 65535", portText)
	}
	return host, uint16(number), nil
}

// Precheck reports what can be said against dialling "host:port" before a name is resolved: a spelling that is not
// canonical, or an IP address that the policy forbids.
func (e *Egress) Precheck(address string) error {
	host, port, err := splitAddress(address)
	if err != nil {
		return err
	}
	ip, name, err := parseHost(host)
	if err != nil || name != "" {
		return err
	}
	addr := netip.AddrPortFrom(ip, port)
	if why := e.policy.refusal(addr); why != "" {
		return refused(host, addr, why)
	}
	return nil
}

// dialFirst returns the first connection that succeeds. When none does, a refusal tells more than a time-out.
func (e *Egress) dialFirst(ctx context.Context, network, host string, addrs []netip.Addr, port uint16, trusted bool) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	dialer.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		if trusted {
			return nil
		}
		return e.check(ctx, host, address)
	}
	var failure error
	for _, addr := range addrs {
		conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(addr.Unmap(), port).String())
		if err == nil {
			return conn, nil
		}
		if failure == nil || errors.Is(err, ErrRefused) {
			failure = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	if failure == nil {
		failure = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return nil, failure
}

func (e *Egress) check(ctx context.Context, host, address string) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress: dialled address %q: %w", address, err)
	}
	why := e.policy.refusal(addr)
	if why == "" {
		return nil
	}
	e.log.WarnContext(ctx, "connection refused by the egress policy", "host", host, "address", address, "reason", why)
	return refused(host, addr, why)
}

// HTTPClient returns a client that dials through e. It follows at most five redirects, never from https to http, sends
// credentials to the first address only, and knows no proxy of the environment. It has no time limit for a whole
// request: that is the context's.
func (e *Egress) HTTPClient() *http.Client { return e.client }

func (e *Egress) transport() *http.Transport {
	return &http.Transport{
		DialContext:            e.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: 256 << 10,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16, // as many as a reader of a Subversion server uses at once
	}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("egress: more than %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return gantry.Errorf(gantry.Forbidden, "egress", "%s redirects from https to %s, which would send the request unencrypted; give the final address instead",
			via[len(via)-1].URL.Host, req.URL.Scheme)
	}
	for _, earlier := range append(via[1:len(via):len(via)], req) {
		if !SameOrigin(via[0].URL, earlier.URL) {
			req.Header.Del("Authorization")
			req.Header.Del("Cookie")
			req.URL.User = nil
		}
	}
	return nil
}

// SameOrigin reports whether two URLs have the same scheme, host and port, so that credentials for one may go to the other.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
