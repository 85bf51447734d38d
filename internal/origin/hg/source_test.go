package hg

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

func dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// Whatever a server is set up to do, the same comes, the way that costs it least, and it is what hg shows.
func TestSource(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	whole := r.whole(t)
	const begin = "capabilities, batch, getbundle"
	for _, tt := range []struct {
		name   string
		config []string
		asked  string
	}{
		{"stream", nil, begin + " stream"},
		{"bundles only", []string{"server.uncompressed=no"}, begin},
		{"bundles by zlib only", []string{"server.uncompressed=no", "server.compressionengines=zlib"}, begin},
		{"bundles without compression", []string{"server.uncompressed=no", "server.compressionengines=none"}, begin},
		{"arguments in the body", []string{"experimental.httppostargs=yes", "server.uncompressed=no"}, begin},
		{"arguments in small headers", []string{"server.maxhttpheaderlen=300", "server.uncompressed=no"}, begin},
		{"arguments in the address", []string{"server.maxhttpheaderlen=0", "server.uncompressed=no"}, begin},
		{"without bundles of version 2", []string{"experimental.bundle2-advertise=no", "server.uncompressed=no"}, begin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := newFront(t, r.serve(t, tt.config...), unchanged)
			s := openSource(t, reading(t, server.URL+"/"))
			m := pull(t, s)
			same(t, whole, m)
			if asked := server.questions(); asked != tt.asked {
				t.Errorf("it was asked %q, want %q", asked, tt.asked)
			}
			if again, err := s.Pull(t.Context(), m.heads.Heads, m); err != nil || len(again.Heads) != len(m.heads.Heads) || server.questions() != "batch" {
				t.Errorf("what is known already is asked for: %v, %v", again, err)
			}
		})
	}
}

// whole is all that the repository shows.
func (r *repo) whole(t *testing.T) *model {
	t.Helper()
	m := pull(t, openBundleFile(t, r.bundle(t, "none-v2", "--all")))
	judge(t, r, m)
	m.heads.Bookmarks = map[string]revlog.Node{} // which are in no bundle
	for line := range strings.Lines(r.run(t, "bookmarks", "-T", "{node} {bookmark}\n")) {
		node, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := revlog.ParseNode([]byte(node))
		if err != nil {
			t.Fatal(err)
		}
		m.heads.Bookmarks[name] = n
	}
	return m
}

// same reports where two models have not heard the same.
func same(t *testing.T, want, got *model) {
	t.Helper()
	if diff := cmp.Diff(want.told(), got.told()); diff != "" {
		t.Errorf("something else came:\n%s", diff)
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("something else is shown:\n%s", diff)
	}
}

func sorted(m *model) (shown []string) {
	for _, n := range m.heads.Heads {
		shown = append(shown, n.String())
	}
	for name, n := range m.heads.Bookmarks {
		shown = append(shown, name+" "+n.String())
	}
	slices.Sort(shown)
	return shown
}

// What comes through ssh is what comes otherwise, by password and by key, whatever login scripts say.
func TestSSH(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	whole := r.whole(t)
	noise := "Welcome! (as every day)\n1\ncapabilities: none\n\n" + strings.Repeat("=", 5000) + "\n"
	for name, config := range map[string][]string{
		"stream": nil, "bundles": {"server.uncompressed=no"}, "bundles of version 1": {"experimental.bundle2-advertise=no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := r.serveSSH(t, noise, config...)
			for _, secret := range []string{server.Password, server.PrivateKey} {
				opt := reading(t, "ssh://"+server.Address+"/repo")
				opt.Credentials = origin.Credentials{Username: server.User, Password: secret}
				s := openSource(t, opt)
				if info := s.GraphInfo(); info.HostKey != server.HostKey {
					t.Errorf("it shows the key %q", info.HostKey)
				}
				m := pull(t, s)
				same(t, whole, m)
				if _, err := s.Pull(t.Context(), m.heads.Heads, m); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// What is new comes, and not what is known.
func TestPullMore(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t)
	server := r.serveSSH(t, "")
	ssh := reading(t, "ssh://"+server.Address+"/repo")
	ssh.Credentials = origin.Credentials{Username: server.User, Password: server.Password}
	for name, opt := range map[string]Options{"http": reading(t, r.serve(t)), "ssh": ssh} {
		m := pull(t, openSource(t, opt))
		before := len(m.order)
		r.commit(t, "More", map[string]string{"a": "more by " + name + "\n", "more of " + name: "1\n"})
		r.run(t, "bookmark", "-f", "-r", ".", "moves")
		gone := revlog.Node{1, 2, 3}
		heads, err := openSource(t, opt).Pull(t.Context(), append(m.heads.Heads, gone), m)
		if err != nil {
			t.Fatal(err)
		}
		tip, err := revlog.ParseNode([]byte(strings.TrimSpace(r.run(t, "log", "-r", "tip", "-T", "{node}"))))
		if err != nil {
			t.Fatal(err)
		}
		if news := len(m.order) - before; news != 4 || !slices.Contains(heads.Heads, tip) || heads.Bookmarks["moves"] != tip {
			t.Errorf("%s: %d revisions came instead of 4, and the heads are %v", name, news, heads)
		}
	}
}

// A repository with very many heads is read, and read on, whether its server takes long questions or not.
func TestManyHeads(t *testing.T) {
	t.Parallel()
	const many = 2000
	h := hgfixture.NewHistory()
	for n := range many {
		h.Commit(hgfixture.Changeset{Parents: []int{min(n, 1)}, Description: fmt.Sprint(n)})
	}
	r := hgfixture.New(t)
	r.Load(t, h)
	type reader struct {
		*Source
		heard *model
	}
	readers := map[string]reader{}
	for name, settings := range map[string][]string{
		"headers": nil, "small headers": {"server.maxhttpheaderlen=300"}, "address": {"server.maxhttpheaderlen=0"}, "body": {"experimental.httppostargs=yes"},
	} {
		s := openSource(t, reading(t, r.Serve(t, append(settings, "server.uncompressed=no")...)))
		m := pull(t, s)
		if len(m.heads.Heads) != many-1 || len(m.order) != many {
			t.Fatalf("%s: %d heads and %d changesets came", name, len(m.heads.Heads), len(m.order))
		}
		readers[name] = reader{s, m}
	}
	for n, parent := range []int{1, many, many + 2} { // on the root, and two on the last head
		h.Commit(hgfixture.Changeset{Parents: []int{parent}, Description: fmt.Sprint("new ", n)})
	}
	r.Load(t, h)
	for name, s := range readers {
		heads, err := s.Pull(t.Context(), s.heard.heads.Heads, s.heard)
		if err != nil || len(heads.Heads) != many || len(s.heard.order) != many+3 {
			t.Errorf("%s: %d heads, %d changesets, %v", name, len(heads.Heads), len(s.heard.order), err)
		}
	}
}

// An empty repository has nothing, which is no error.
func TestEmpty(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, config := range []string{"server.uncompressed=yes", "server.uncompressed=no"} {
		if m := pull(t, openSource(t, reading(t, r.serve(t, config)))); len(m.order)+len(m.heads.Heads)+len(m.heads.Bookmarks) != 0 {
			t.Errorf("%+v", m)
		}
	}
}

// What is secret or hidden is not shown, although a stream has it.
func TestNotShown(t *testing.T) {
	t.Parallel()
	r := newStandardRepo(t, "experimental.evolution=all", "phases.publish=no")
	r.commit(t, "Amended later", map[string]string{"a": "draft\n"})
	r.run(t, "commit", "--amend", "-m", "Amended", "-d", "7 0")
	whole := r.whole(t)
	r.run(t, "commit", "-q", "--secret", "-A", "-m", "Secret", "--config", "ui.allowemptycommit=yes", "-d", "8 0")
	for _, config := range []string{"server.uncompressedallowsecret=yes", "server.uncompressedallowsecret=no"} {
		m := pull(t, openSource(t, reading(t, r.serve(t, config))))
		if diff := cmp.Diff(sorted(whole), sorted(m)); diff != "" {
			t.Errorf("%s: something else is shown:\n%s", config, diff)
		}
		more := len(m.changesets()) - len(whole.changesets())
		if streamed := strings.HasSuffix(config, "yes"); streamed != (more > 0) {
			t.Errorf("%s: %d changesets came that are not shown", config, more)
		}
	}
}

// Repositories whose large files are kept beside them are read as any other.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	for version, config := range map[string][]string{
		"02": {"extensions.largefiles=", "largefiles.minsize=0.001", "largefiles.usercache=" + t.TempDir()},
		"03": {"extensions.lfs=", "lfs.track=size('>1KB')", "lfs.url=null://", "lfs.usercache=" + t.TempDir()},
	} {
		r := newRepo(t, config...)
		r.commit(t, "Large", map[string]string{"large": noise(1, 4<<10), "small": "small\n"})
		r.commit(t, "Larger", map[string]string{"large": noise(2, 8<<10)})
		whole := pull(t, openBundleFile(t, r.bundle(t, "none-v2;cg.version="+version, "--all")))
		judge(t, r, whole)
		for _, serving := range []string{"server.uncompressed=yes", "server.uncompressed=no"} {
			same(t, whole, pull(t, openSource(t, reading(t, r.serve(t, serving)))))
			server := r.serveSSH(t, "", serving)
			opt := reading(t, "ssh://"+server.Address+"/repo")
			opt.Credentials = origin.Credentials{Username: server.User, Password: server.Password}
			same(t, whole, pull(t, openSource(t, opt)))
		}
	}
}
