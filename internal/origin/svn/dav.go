package svn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/origin/web"
)

// Namespaces of WebDAV, of its module in Apache, and of Subversion (subversion/include/svn_dav.h, svn_xml.h).
const (
	nsDAV    = "DAV:"
	nsApache = "http://apache.org/dav/xmlns"
	nsSVN    = "svn:"
	nsSVNDAV = "http://subversion.tigris.org/xmlns/dav/"
	nsProp   = "http://subversion.tigris.org/xmlns/svn/"    // properties that begin with svn:
	nsCustom = "http://subversion.tigris.org/xmlns/custom/" // all others

	davFeatures = "http://subversion.tigris.org/xmlns/dav/svn/"
)

// davSession reads a repository by HTTP from mod_dav_svn, version 2 of its protocol (notes/http-and-webdav in Subversion's
// source) and, as far as that has it, version 1 (Subversion 1.4 to 1.6). Connections to the server are those of
// Options.HTTP; between two requests none is needed.
type davSession struct {
	*davPlace
	web   web.Server
	noLog bool          // the log may not be read
	quick time.Duration // the shortest time to an answer
	spool spool
	xml   xmlReader
}

// davPlace is what was learned when a repository was opened. It stays as it is, and is shared by all sessions.
type davPlace struct {
	opt      Options
	here     string // the escaped path of the address, with a slash at its end
	stubs    davStubs
	features map[string]bool
	info     origin.Info
	welcome  web.Login // that of a session to begin with

	answerTime time.Duration // the shortest one that the server took for an answer
}

// davStubs are escaped paths below which a server of version 2 has what belongs to a revision; of one of version 1 only
// vcc is known.
type davStubs struct {
	root     string // the repository
	rev      string // its revisions' properties: /N
	revRoot  string // their trees: /N/path
	baseline string // version 1: what is asked for a revision
}

// dialDAV learns what is at an http or https address.
func dialDAV(ctx context.Context, opt Options) (*davSession, error) {
	opt = opt.complete()
	if opt.URL.Hostname() == "" {
		return nil, gantry.Errorf(gantry.Invalid, "svn.Open", "%s names no host", opt.URL)
	}
	place := &davPlace{opt: opt, welcome: web.Login{Credentials: opt.Credentials}}
	s := place.session()
	if err := s.do(ctx, "svn.Open", func() error { return s.begin(ctx) }); err != nil {
		return nil, err
	}
	place.welcome, place.answerTime = s.web.Login.Another(), s.quick
	return s, nil
}

func (p *davPlace) session() *davSession {
	server := web.Server{HTTP: p.opt.HTTP, Address: p.opt.URL.String(), IdleTimeout: p.opt.IdleTimeout, Login: p.welcome}
	return &davSession{davPlace: p, web: server, spool: spool{dir: p.opt.TempDir}}
}

// clone implements connection.
func (s *davSession) clone(context.Context) (connection, error) { return s.session(), nil }

// worthwhile implements connection. Each revision is a request of its own, so that much of one connection's time is the way
// to the server and back; that time others fill. On two cores, which server and reader shared, four connections read
// fastest, and sixteen took half as long again; 50 ms away sixteen read more than three times as fast as four.
func (s *davSession) worthwhile() (readers, listers int) {
	n := min(4+int(s.answerTime/(4*time.Millisecond)), 16)
	return n, n
}

// Info implements connection.
func (s *davSession) Info() origin.Info { return s.info }

// Close implements connection.
func (s *davSession) Close() error { return s.spool.close() }

// do runs one operation and says of its error what it was about.
func (s *davSession) do(ctx context.Context, op string, f func() error) error {
	err := f()
	return outcome(ctx, op, s.opt.URL, ctx.Err() != nil, err)
}

// CheckPath implements connection.
func (s *davSession) CheckPath(ctx context.Context, path string, rev int64) (kind Kind, err error) {
	err = s.do(ctx, "svn.CheckPath", func() error {
		kind, err = s.checkPath(ctx, path, rev)
		return err
	})
	return kind, err
}

// List implements connection.
func (s *davSession) List(ctx context.Context, dirs []origin.Directory, rev int64) (lists [][]Entry, err error) {
	listed := 0
	for _, dir := range dirs {
		var entries []Entry
		err = s.do(ctx, "svn.List", func() (err error) {
			entries, err = s.list(ctx, dir.Path, rev)
			return err
		})
		if err != nil {
			break
		}
		lists = append(lists, entries)
		if listed += len(entries); listed > maxEntries {
			return lists, tooManyEntries()
		}
	}
	return lists, err
}

// begin fills info.
func (s *davSession) begin(ctx context.Context) error {
	s.here = strings.TrimRight(s.opt.URL.EscapedPath(), "/") + "/"
	err := s.options(ctx)
	var elsewhere *web.Moved
	if errors.As(err, &elsewhere) && s.follow(elsewhere.To) {
		err = s.options(ctx)
	}
	if err != nil {
		return err
	}
	if s.stubs.revRoot == "" {
		if err := s.discover(ctx); err != nil {
			return err
		}
	}
	if err := s.locate(); err != nil {
		return err
	}
	switch kind, err := s.checkPath(ctx, "", s.info.Head); {
	case err != nil:
		return err
	case kind != Dir:
		return &failure{meaning: origin.ErrNotFound, message: fmt.Sprintf("there is no directory %q in r%d", s.info.Path, s.info.Head)}
	}
	return nil
}

// follow goes where the server says that the repository is, if that is the same server.
func (s *davSession) follow(to *url.URL) bool {
	if !web.Follows(s.opt.URL, to) {
		return false
	}
	s.opt.URL = &url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path, RawPath: to.RawPath}
	s.here = strings.TrimRight(s.opt.URL.EscapedPath(), "/") + "/"
	s.web.Address = s.opt.URL.String()
	s.opt.Log.Info("the repository has moved", "url", s.opt.URL.String())
	return true
}

// options asks what the server can do. Where it lets anybody read, it is asked again by somebody who would log in: it may
// show more to a user than to everybody, without a word.
func (s *davSession) options(ctx context.Context) error {
	if err := s.askOptions(ctx); err != nil || s.opt.Credentials.Empty() || s.web.Login.LoggedIn() {
		return err
	}
	s.web.Login.AsNobody = true
	err := s.askOptions(ctx)
	var answer *failure
	if s.web.Login.AsNobody && errors.As(err, &answer) {
		s.web.Login.AsNobody = false
		return s.askOptions(ctx) // such a log-in confuses the server
	}
	s.web.Login.AsNobody = false
	return err
}

func (s *davSession) askOptions(ctx context.Context) error {
	return s.ask(ctx, davRequest{
		method: http.MethodOptions, path: s.here,
		body: xmlPrefix + `<D:options xmlns:D="DAV:"><D:activity-collection-set/></D:options>`,
	}, func(h http.Header, _ *xmlReader) error { return s.readOptions(h) })
}

// readOptions takes what the headers of an answer to OPTIONS tell.
func (s *davSession) readOptions(h http.Header) error {
	s.features = map[string]bool{}
	for _, feature := range strings.Split(strings.Join(h.Values("DAV"), ","), ",") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(feature), davFeatures); ok {
			s.features[name] = true
		}
	}
	if len(s.features) == 0 && h.Get("SVN-Youngest-Rev") == "" {
		what := "it offers WebDAV without Subversion"
		if len(h.Values("DAV")) == 0 {
			what = fmt.Sprintf("it offers no WebDAV, and answers with %.100q", h.Get("Content-Type"))
		}
		return &failure{meaning: origin.ErrNotFound, message: "the server does not answer as a Subversion server does: " + what +
			"; give the address that \"svn checkout\" takes, not that of a web page"}
	}
	s.info = origin.Info{UUID: h.Get("SVN-Repository-UUID")}
	stubs := davStubs{root: h.Get("SVN-Repository-Root"), rev: h.Get("SVN-Rev-Stub"), revRoot: h.Get("SVN-Rev-Root-Stub")}
	if stubs.root == "" || stubs.rev == "" || stubs.revRoot == "" {
		return nil // version 1
	}
	for _, stub := range []*string{&stubs.root, &stubs.rev, &stubs.revRoot} {
		if !strings.HasPrefix(*stub, "/") || len(*stub) > maxPath {
			return malformedf("it names %.100q, which is no path", *stub)
		}
		*stub = escapePath(unescapePath(strings.TrimRight(*stub, "/")))
	}
	var err error
	if s.info.Head, err = strconv.ParseInt(h.Get("SVN-Youngest-Rev"), 10, 64); err != nil || s.info.Head < 0 {
		return malformedf("its newest revision is %.100q", h.Get("SVN-Youngest-Rev"))
	}
	s.stubs = stubs
	return nil
}

// discover does for a server of version 1 what the headers of OPTIONS do for one of version 2.
func (s *davSession) discover(ctx context.Context) error {
	var relative string
	known := false
	err := s.propfind(ctx, davRequest{path: s.here, depth: "0"}, []xmlName{
		{nsDAV, "version-controlled-configuration"}, {nsSVNDAV, "baseline-relative-path"}, {nsSVNDAV, "repository-uuid"},
	}, func(_ string, props []davProp) error {
		for _, p := range props {
			switch p.name {
			case xmlName{nsDAV, "version-controlled-configuration"}:
				s.stubs.baseline = p.href
			case xmlName{nsSVNDAV, "baseline-relative-path"}:
				relative, known = string(p.value), true
			case xmlName{nsSVNDAV, "repository-uuid"}:
				s.info.UUID = string(p.value)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	root, below := strings.CutSuffix(unescapePath(s.here), "/"+strings.Trim(relative, "/")+"/")
	if relative == "" {
		root, below = strings.TrimRight(unescapePath(s.here), "/"), true
	}
	if !known || !below || s.stubs.baseline == "" {
		return malformed("it does not say where the repository's root is")
	}
	s.stubs.root = escapePath(root)
	_, s.info.Head, err = s.collection(ctx, "")
	return err
}

// collection asks a server of version 1 for the tree of a revision, "" is the newest.
func (s *davSession) collection(ctx context.Context, rev string) (tree string, number int64, err error) {
	baseline := s.stubs.baseline
	if rev == "" {
		err := s.propfind(ctx, davRequest{path: baseline, depth: "0"}, []xmlName{{nsDAV, "checked-in"}}, func(_ string, props []davProp) error {
			for _, p := range props {
				baseline = p.href
			}
			return nil
		})
		if err != nil {
			return "", 0, err
		}
	}
	number = -1
	err = s.propfind(ctx, davRequest{path: baseline, depth: "0", label: rev}, []xmlName{{nsDAV, "baseline-collection"}, {nsDAV, "version-name"}},
		func(_ string, props []davProp) (err error) {
			for _, p := range props {
				if p.name.local == "version-name" {
					number, err = strconv.ParseInt(string(p.value), 10, 64)
				} else {
					tree = p.href
				}
			}
			return err
		})
	if err == nil && (tree == "" || number < 0) {
		err = malformed("it does not say which its newest revision is")
	}
	return tree, number, err
}

// locate finds which path below the repository's root the address is.
func (s *davSession) locate() (err error) {
	below, ok := strings.CutPrefix(unescapePath(s.here), unescapePath(s.stubs.root)+"/")
	if !ok {
		return malformedf("it says that the repository's root is %.100q, which is not above the address", s.stubs.root)
	}
	if s.info.Path, err = cleanPath(below); err != nil {
		return malformed(err.Error())
	}
	s.info.Root = s.at(s.stubs.root).String()
	return nil
}

// inTree is the escaped path at which the server has something of a revision; the path is from the repository's root.
func (s *davSession) inTree(ctx context.Context, name string, rev int64) (string, error) {
	number := strconv.FormatInt(rev, 10)
	if s.stubs.revRoot != "" {
		return path.Join(s.stubs.revRoot, number, escapePath(name)), nil
	}
	tree, _, err := s.collection(ctx, number)
	return path.Join(tree, escapePath(name)), err
}

func (s *davSession) checkPath(ctx context.Context, name string, rev int64) (Kind, error) {
	kind := None
	at, err := s.inTree(ctx, path.Join(s.info.Path, name), rev)
	if err != nil {
		return None, err
	}
	err = s.propfind(ctx, davRequest{path: at, depth: "0"}, []xmlName{{nsDAV, "resourcetype"}}, func(_ string, props []davProp) error {
		kind = kindOf(props)
		return nil
	})
	var answer *failure
	if errors.As(err, &answer) && errors.Is(answer, origin.ErrNotFound) && answer.code != codeNoSuchRevision {
		return None, nil
	}
	return kind, err
}

func kindOf(props []davProp) Kind {
	for _, p := range props {
		if p.collection {
			return Dir
		}
	}
	return File
}

// numberOf is the value of a property of WebDAV that is a number, -1 where there is none.
func numberOf(props []davProp, name string) int64 {
	for _, p := range props {
		if p.name == (xmlName{nsDAV, name}) {
			if n, err := strconv.ParseInt(string(p.value), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

func (s *davSession) list(ctx context.Context, name string, rev int64) (entries []Entry, err error) {
	at, err := s.inTree(ctx, path.Join(s.info.Path, name), rev)
	if err != nil {
		return nil, err
	}
	err = s.propfind(ctx, davRequest{path: at, depth: "1"}, []xmlName{{nsDAV, "resourcetype"}, {nsDAV, "getcontentlength"}, {nsDAV, "version-name"}}, func(href string, props []davProp) error {
		child, ok := strings.CutPrefix(unescapePath(href), unescapePath(at))
		child = strings.Trim(child, "/")
		switch {
		case !ok || strings.Contains(child, "/"):
			return malformedf("%.100q is not in the directory %.100q", href, at)
		case child == "":
			if kindOf(props) != Dir {
				return &failure{meaning: origin.ErrNotFound, message: fmt.Sprintf("%q is no directory", name)}
			}
			return nil
		case len(entries) == maxEntries:
			return tooManyEntries()
		}
		entries = append(entries, Entry{child, kindOf(props), numberOf(props, "getcontentlength"), numberOf(props, "version-name")})
		return nil
	})
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, err
}

// escapePath writes a path the way that URLs have it.
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// unescapePath reads a path of a URL; one that is not escaped properly is taken as it is.
func unescapePath(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
