package hg

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gantry/internal/revlog"
)

const (
	maxCloneBundles = 1000
	triedBundles    = 3 // of those that are offered, at most

	// maxMemory is how much a bundle may say that reading it takes (REQUIREDRAM): more than the window of the decompression
	// that Gantry bounds, and what goes with it, does not.
	maxMemory = 512 << 20
)

// cloneBundle is a bundle that was made some time ago and lies at an address (mercurial/hgext/clonebundles.py).
type cloneBundle struct {
	url  *url.URL
	spec string // BUNDLESPEC, "" when it is not told
	rank int    // less is better
}

// bundleRanks are the kinds of bundles that can be read, best first: compression and version, as BUNDLESPEC has them.
var bundleRanks = []string{"none-stream", "none-packed1", "zstd-v2", "gzip-v2", "none-v2", "gzip-v1", "none-v1", "", "bzip2-v2", "bzip2-v1"}

// parseCloneBundles reads the answer to the command clonebundles: a line for each, its address and then attributes. What
// cannot be read by Gantry is left out. The best come first; among equals the server's order stays.
func parseCloneBundles(text string) []cloneBundle {
	var bundles []cloneBundle
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(bundles) == maxCloneBundles {
			break
		}
		if b, ok := parseCloneBundle(fields); ok {
			bundles = append(bundles, b)
		}
	}
	slices.SortStableFunc(bundles, func(a, b cloneBundle) int { return cmp.Compare(a.rank, b.rank) })
	return bundles
}

func parseCloneBundle(fields []string) (b cloneBundle, ok bool) {
	u, err := url.Parse(fields[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return b, false
	}
	b.url = u
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		name, nameErr := url.PathUnescape(name)
		value, valueErr := url.PathUnescape(value)
		if nameErr != nil || valueErr != nil {
			return b, false
		}
		switch name {
		case "BUNDLESPEC":
			b.spec = value
		case "REQUIREDRAM":
			if n, err := parseSize(value); err != nil || n > maxMemory {
				return b, false
			}
		}
		// REQUIRESNI asks for what every connection of Gantry's does.
	}
	b.rank = slices.Index(bundleRanks, bundleKind(b.spec))
	return b, b.rank >= 0
}

// bundleKind is what a BUNDLESPEC comes to: "compression-version", followed by parameters. It is "-" for one that is none.
func bundleKind(spec string) string {
	if spec == "" {
		return ""
	}
	kind, params, _ := strings.Cut(spec, ";")
	compression, version, _ := strings.Cut(kind, "-")
	for _, param := range strings.Split(params, ";") {
		switch name, value, _ := strings.Cut(param, "="); {
		case name == "stream" && value == "v2":
			version = "stream"
		case name == "stream":
			return "-"
		case name == "cg.version" && lists("01,02,03,04", value):
		case name == "cg.version":
			return "-"
		}
	}
	switch version {
	case "streamv2":
		version = "stream"
	case "bundle2", "v3":
		version = "v2"
	}
	return compression + "-" + version
}

// parseSize reads a size as Mercurial writes it: a number, and k, m or g with or without b behind it.
func parseSize(text string) (int64, error) {
	text = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), "b")
	scale := 1.0
	for i, unit := range []string{"k", "m", "g"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			text, scale = number, float64(int64(1)<<(10*(i+1)))
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) || n*scale > 1<<62 {
		return 0, fmt.Errorf("hg: %q is not a size", text)
	}
	return int64(n * scale), nil
}

// String says which bundle that is. What may be secret of an address is not in it.
func (b cloneBundle) String() string {
	return fmt.Sprintf("the clone bundle %s (%s)", plainURL(b.url), b.spec)
}

// plainURL is an address without what lets somebody in: a password, or a signature in its query.
func plainURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// cloneBundles asks which bundles the server recommends for a beginning.
func (s *Source) cloneBundles(ctx context.Context) ([]cloneBundle, error) {
	if !s.peer.capabilities().has("clonebundles") {
		return nil, nil
	}
	answer, err := s.peer.ask(ctx, command{name: "clonebundles"})
	return parseCloneBundles(string(answer)), err
}

// readCloneBundle brings a bundle and reads it. It is read twice, since what a sink is given cannot be taken back: the bundle
// may have been cut or changed where it lies, and then there are other ways.
func (s *Source) readCloneBundle(ctx context.Context, b cloneBundle, to *intake) error {
	file, err := fetch(ctx, s.opt, b.url)
	if err != nil {
		return err
	}
	defer file.Close()
	check := newIntake(ctx, nobody{}, s.opt.TempDir)
	check.complete = true
	for _, to := range []*intake{check, to} {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := readBundle(file, to); err != nil {
			return err
		}
	}
	return nil
}

// nobody is a sink to which nothing matters.
type nobody struct{}

func (nobody) Changeset(*revlog.Revision) error        { return nil }
func (nobody) Manifest(string, *revlog.Revision) error { return nil }
func (nobody) File(string, *revlog.Revision) error     { return nil }
