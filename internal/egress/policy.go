package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"gantry"
)

// ErrRefused is in the chain of every error that the policy caused.
var ErrRefused = errors.New("refused by the egress policy")

// Policy says which addresses may be reached. The zero value allows public unicast addresses only.
type Policy struct {
	networks []networkRule
	hosts    []hostRule
}

type networkRule struct {
	prefix netip.Prefix
	port   uint16 // 0 for every port
}

type hostRule struct {
	name   string // lower case, without the dot at the end
	suffix bool   // every name below name, but not name itself
	port   uint16
}

// ParsePolicy reads what an operator allows beyond public addresses: networks (10.0.0.0/8), addresses (192.168.1.7,
// ::1), host names (svn.example.org) and names below one (*.corp.example). Each may end in a port (10.0.0.0/8:3690,
// [::1]:80). An allowed host name may have any address.
func ParsePolicy(words []string) (Policy, error) {
	var p Policy
	for _, word := range words {
		subject, port, err := splitPort(strings.TrimSpace(word))
		if err != nil {
			return Policy{}, gantry.Errorf(gantry.Invalid, "egress.ParsePolicy", "%q is not a network, address or host name with an optional port: %w", word, err)
		}
		if prefix, err := parseNetwork(subject); err == nil {
			p.networks = append(p.networks, networkRule{prefix, port})
			continue
		}
		name, suffix := strings.CutPrefix(subject, "*.")
		name, err = hostName(name)
		if err != nil {
			return Policy{}, gantry.Errorf(gantry.Invalid, "egress.ParsePolicy", "%q is not a network, address or host name with an optional port: %w", word, err)
		}
		p.hosts = append(p.hosts, hostRule{name, suffix, port})
	}
	return p, nil
}

func splitPort(word string) (subject string, port uint16, err error) {
	rest, bracketed := strings.CutPrefix(word, "[")
	if bracketed {
		var ok bool
		if subject, rest, ok = strings.Cut(rest, "]"); !ok {
			return "", 0, errors.New("the closing bracket is missing")
		}
		if rest == "" {
			return subject, 0, nil
		}
		if !strings.HasPrefix(rest, ":") {
			return "", 0, errors.New("only a port may follow the bracket")
		}
		rest = rest[1:]
	} else if strings.Count(word, ":") == 1 {
		subject, rest, _ = strings.Cut(word, ":")
	} else {
		return word, 0, nil
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is not a port", rest)
	}
	return subject, uint16(n), nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix.Masked(), nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	addr = addr.Unmap()
	return addr.Prefix(addr.BitLen())
}

// allowsHost reports whether the operator allowed a host by name, whatever its addresses are.
func (p Policy) allowsHost(name string, port uint16) bool {
	for _, r := range p.hosts {
		match := name == r.name
		if r.suffix {
			match = strings.HasSuffix(name, "."+r.name)
		}
		if match && (r.port == 0 || r.port == port) {
			return true
		}
	}
	return false
}

// refusal says why an address may not be reached, "" when it may.
func (p Policy) refusal(addr netip.AddrPort) string {
	ip := addr.Addr().Unmap()
	for _, r := range p.networks {
		if r.prefix.Contains(ip) && (r.port == 0 || r.port == addr.Port()) {
			return ""
		}
	}
	return special(ip)
}

// special says what keeps an address from being public unicast, "" when nothing does. The tables are those of the IANA
// special-purpose address registries (RFC 6890); outside of 2000::/3 nothing of IPv6 is allocated.
func special(ip netip.Addr) string {
	ip = ip.Unmap()
	if ip.Zone() != "" {
		return "a link-local address"
	}
	if embedded, ok := embeddedIPv4(ip); ok {
		if why := special(embedded); why != "" {
			return why + " embedded in IPv6"
		}
		return ""
	}
	for _, s := range specialNetworks {
		if s.prefix.Contains(ip) {
			return s.what
		}
	}
	if ip.Is6() && !globalUnicast6.Contains(ip) {
		return "not a public address"
	}
	return ""
}

var (
	globalUnicast6 = netip.MustParsePrefix("2000::/3")
	nat64          = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour      = netip.MustParsePrefix("2002::/16")
)

// embeddedIPv4 returns the IPv4 address that a translator (RFC 6052) or relay (RFC 3056) would go on to.
func embeddedIPv4(ip netip.Addr) (netip.Addr, bool) {
	b := ip.As16()
	switch {
	case nat64.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

var specialNetworks = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's shared address"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a protocol assignment"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmark address"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved or broadcast address"},
	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a translation address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("2001::/23"), "a protocol assignment"}, // Teredo, ORCHID, benchmarks
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},
}

// hostName checks a DNS name and returns it in lower case without a dot at its end. A last label that begins like a
// number is refused, because resolvers disagree on what 127.1, 0x7f000001 or 2130706433 mean.
func hostName(s string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if name == "" || len(name) > 253 {
		return "", errors.New("a host name has 1 to 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' {
			return "", fmt.Errorf("%q is not a host name", s)
		}
		for _, c := range label {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", fmt.Errorf("%q is not a host name (write international names in their xn-- form)", s)
			}
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return "", fmt.Errorf("%q is not a host name; write an IP address as four decimal numbers", s)
	}
	return name, nil
}

// CheckHost reports whether a host is spelled in the one canonical way: a DNS name, or an IP address without a zone
// (brackets around IPv6 are allowed). It resolves nothing.
func CheckHost(host string) error {
	_, _, err := parseHost(host)
	return err
}

// parseHost returns the address that a host spells, or its name.
func parseHost(host string) (ip netip.Addr, name string, err error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return netip.Addr{}, "", gantry.Errorf(gantry.Invalid, "egress", "%q has a zone, which means nothing on another machine; leave it out", host)
		}
		return ip, "", nil
	}
	name, err = hostName(host)
	if err != nil {
		return netip.Addr{}, "", gantry.Errorf(gantry.Invalid, "egress", "%w", err)
	}
	return netip.Addr{}, name, nil
}

func refused(host string, addr netip.AddrPort, why string) error {
	subject := host
	if ip := addr.Addr().Unmap().String(); ip != host {
		subject = fmt.Sprintf("%s (%s)", host, ip)
	}
	return &gantry.Error{
		Kind: gantry.Forbidden, Op: "egress",
		Msg: fmt.Sprintf("%s is %s, and this server connects to public addresses only; its operator can allow it with GANTRY_EGRESS_ALLOW=%s",
			subject, why, net.JoinHostPort(addr.Addr().Unmap().String(), strconv.Itoa(int(addr.Port())))),
		Err: ErrRefused,
	}
}
