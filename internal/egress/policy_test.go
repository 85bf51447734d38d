package egress

import (
	"net/netip"
	"testing"
)

// One address inside, and where it matters the neighbours outside, of each special network.
func TestSpecial(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254",
		"172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:10.0.0.1", "fc00::1", "fdff::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "5f00::1", "4000::1",
		"64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::1.1.1.1", "2002:a00:1::1", "2002:7f00:1::", "2001::1", "2001:0:7f00:1::", "2001:10::1", "2001:20::1",
		"2001:db8::1", "3fff::1",
	} {
		if special(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s passes", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:1.1.1.1",
		"2606:4700::1111", "2a00:1450::1", "2001:200::1", "64:ff9b::1.1.1.1", "2002:101:101::1",
	} {
		if why := special(netip.MustParseAddr(s)); why != "" {
			t.Errorf("%s is refused as %s", s, why)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8:80", "[::1]:80", "*.corp.example", "[fd00::/8]:1", "a:b:c", "[", "*."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		p, err := ParsePolicy([]string{word})
		if err == nil && len(p.hosts)+len(p.networks) != 1 {
			t.Errorf("%q makes no rule", word)
		}
	})
}

// A host is either an address or a name, never something that another resolver reads as an address.
func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "127.1", "0x7f.1", "[::1]", "example.org.", "fe80::1%lo"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		ip, name, err := parseHost(host)
		if err == nil && ip.IsValid() == (name != "") {
			t.Errorf("%q: %v, %q", host, ip, name)
		}
		if ip.Zone() != "" {
			t.Errorf("%q has a zone", host)
		}
	})
}
