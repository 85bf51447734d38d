package convert

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/gantrytest/hgfixture"
	"gantry/internal/gantrytest/hgjudge"
	"gantry/internal/gantrytest/sshfixture"
	"gantry/internal/origin"
	"gantry/internal/origin/hg"
)

// What is at an origin that has everything is what hg says, whichever way it comes, and whatever form hg keeps it in.
func TestEveryWayOfMercurial(t *testing.T) {
	t.Parallel()
	judgeEveryWayOfHg(t, hgfixture.NewStandard(t))
}

// hg keeps repositories in several forms. None of them makes a difference.
func TestFormsOfMercurial(t *testing.T) {
	t.Parallel()
	whole := convertHg(t, openHgBundle(t, hgfixture.NewStandard(t).Bundle(t, "none-v2")))
	for name, settings := range map[string][]string{
		"deltas against the one before": {"format.usegeneraldelta=no", "format.sparse-revlog=no"},
		"zlib":                          {"format.revlog-compression=zlib"},
		"nothing compressed":            {"format.revlog-compression=none"},
		"old names":                     {"format.dotencode=no"},
		"oldest names":                  {"format.usestore=no"},
		"shared settings":               {"format.use-share-safe=yes"},
		"long chains":                   {"format.sparse-revlog=yes", "format.maxchainlen=10000", "storage.revlog.optimize-delta-parent-choice=yes"},
		"copies in changesets":          {"experimental.copies.write-to=both"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := hgfixture.New(t, settings...)
			repo.Load(t, hgfixture.Standard())
			for way, src := range map[string]origin.GraphSource{
				"http": dialHg(t, repo.Serve(t)), "stream": openHgBundle(t, repo.Bundle(t, "none-v2;stream=v2")), "packed": openHgBundle(t, repo.Bundle(t, "packed1")),
			} {
				if c := convertHg(t, src); !slices.Equal(c.nodes(), whole.nodes()) {
					t.Errorf("%s: other commits than of a bundle", way)
				}
			}
		})
	}
}

// Repositories with tree manifests are read where the server sends such, and are what hg says.
func TestTreeManifests(t *testing.T) {
	t.Parallel()
	flat := hgfixture.New(t)
	flat.Load(t, hgfixture.Files())
	repo := hgfixture.New(t, "experimental.treemanifest=yes", "experimental.changegroup3=yes", "extensions.convert=")
	repo.Run(t, "convert", "-q", "--config", "convert.hg.saverev=no", flat.Dir, repo.Dir)
	whole := convertHg(t, dialHg(t, repo.Serve(t)))
	whole.judgeHg(t, repo)
	for way, src := range map[string]origin.GraphSource{
		"no stream": dialHg(t, repo.Serve(t, "server.uncompressed=no")), "ssh": dialHgSSH(t, repo.ServeSSH(t, "")),
		"bundle": openHgBundle(t, repo.Bundle(t, "none-v2;cg.version=03")),
	} {
		whole.sameHg(t, way, convertHg(t, src))
	}
	part := repo.Part(t, 30)
	whole.sameHg(t, "in two parts", convertHg(t, dialHg(t, part.Serve(t)), dialHg(t, repo.Serve(t))))
}

// What a repository keeps to itself is not shown: secret changesets, hidden ones, and bookmarks of these.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	for _, publishes := range []string{"yes", "no"} {
		t.Run("publishes: "+publishes, func(t *testing.T) {
			t.Parallel()
			repo := hgfixture.New(t, "experimental.evolution=all", "phases.publish="+publishes, "extensions.rebase=", "extensions.strip=")
			for i := range 3 {
				repo.Write(t, "a", fmt.Sprint(i, "\n"))
				repo.Commit(t, fmt.Sprint("public ", i))
			}
			repo.Run(t, "phase", "-p", ".")
			repo.Write(t, "b", "1\n")
			draft := repo.Commit(t, "draft")
			repo.Write(t, "b", "2\n")
			repo.Run(t, "commit", "--amend", "-m", "amended", "-d", repo.Date())
			repo.Write(t, "c", "1\n")
			repo.Commit(t, "on the amended one")
			repo.Run(t, "update", "-q", "0")
			repo.Write(t, "d", "1\n")
			repo.Commit(t, "to be rebased")
			repo.Run(t, "rebase", "-q", "-d", "desc('public 2')", "-r", ".")
			repo.Run(t, "bookmark", "kept")
			repo.Run(t, "update", "-q", "--hidden", draft)
			repo.Write(t, "e", "1\n")
			repo.Commit(t, "on what was replaced: an orphan")
			repo.Run(t, "update", "-q", "kept")
			repo.Write(t, "f", "1\n")
			repo.Commit(t, "secret", "--secret")
			repo.Run(t, "bookmark", "-i", "of a secret")
			whole := convertHg(t, dialHg(t, repo.Serve(t)))
			whole.judgeHg(t, repo)
			whole.sameHg(t, "streams of secrets", convertHg(t, dialHg(t, repo.Serve(t, "server.uncompressedallowsecret=yes"))))
			whole.sameHg(t, "ssh", convertHg(t, dialHgSSH(t, repo.ServeSSH(t, ""))))
		})
	}
}

// Censored texts are empty files.
func TestCensoredFiles(t *testing.T) {
	t.Parallel()
	repo := hgfixture.New(t, "extensions.censor=", "experimental.changegroup3=yes")
	repo.Write(t, "secret", "fine\n")
	for _, text := range []string{"fine\n", "fine\nsecret\n", "fine\nagain\n", "fine\nagain\nand again\n"} {
		repo.Write(t, "secret", text)
		repo.Commit(t, "Edit")
	}
	repo.Run(t, "censor", "-r", "1", "-t", "why", "secret")
	judgeSpecial(t, repo)
}

// Pointers to large files of Mercurial's LFS are those of Git's.
func TestPointers(t *testing.T) {
	t.Parallel()
	repo := hgfixture.New(t, "extensions.lfs=", "lfs.track=size('>1KB')", "lfs.url=null://", "lfs.usercache="+t.TempDir())
	repo.Write(t, "also.bin", strings.Repeat("\x00", 2000))
	for i, text := range []string{strings.Repeat("large\n", 1000), strings.Repeat("larger\n", 1000), "small now\n", strings.Repeat("large\n", 1000)} {
		repo.Write(t, "large", text)
		repo.Commit(t, "Edit")
		if i == 1 {
			repo.Run(t, "copy", "-q", "large", "copied")
		}
	}
	judgeSpecial(t, repo)
}

// judgeSpecial is judgeEveryWayOfHg of a repository whose bundles need the third version of changegroups, and of whose
// texts some do not match their nodes.
func judgeSpecial(t *testing.T, repo *hgfixture.Repo) {
	t.Helper()
	whole := convertHg(t, dialHg(t, repo.Serve(t)))
	bare, mapFile := whole.install(t)
	if _, err := hgjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, bare); err != nil {
		t.Error(err)
	}
	for way, src := range map[string]origin.GraphSource{
		"no stream": dialHg(t, repo.Serve(t, "server.uncompressed=no")), "ssh": dialHgSSH(t, repo.ServeSSH(t, "", "server.uncompressed=no")),
		"bundle": openHgBundle(t, repo.Bundle(t, "gzip-v2;cg.version=03")), "stream": openHgBundle(t, repo.Bundle(t, "none-v2;stream=v2;cg.version=03")),
	} {
		whole.sameHg(t, way, convertHg(t, src))
	}
}

// An origin without changesets is a repository without commits.
func TestNothing(t *testing.T) {
	t.Parallel()
	repo := hgfixture.New(t)
	for way, src := range map[string]origin.GraphSource{
		"stream": dialHg(t, repo.Serve(t)), "no stream": dialHg(t, repo.Serve(t, "server.uncompressed=no")), "ssh": dialHgSSH(t, repo.ServeSSH(t, "")),
	} {
		c := convertHg(t, src)
		if len(c.commits) > 0 || len(c.result.Refs) > 0 || c.result.Head != "refs/heads/main" || !c.State().Complete {
			t.Errorf("%s: %+v", way, c.result)
		}
	}
}

// However often a repository is read while it grows, and by whichever way, the end is the same.
func TestMercurialGrows(t *testing.T) {
	t.Parallel()
	repo := hgfixture.NewStandard(t)
	whole := convertHg(t, dialHg(t, repo.Serve(t)))
	chance := rand.New(rand.NewPCG(4, 4))
	for range 4 {
		var ends []int
		for range 1 + chance.IntN(4) {
			ends = append(ends, 1+chance.IntN(len(whole.commits)-1))
		}
		slices.Sort(ends)
		var sources []origin.GraphSource
		for _, end := range slices.Compact(ends) {
			part := repo.Part(t, end)
			switch chance.IntN(3) {
			case 0:
				sources = append(sources, dialHg(t, part.Serve(t)))
			case 1:
				sources = append(sources, openHgBundle(t, part.Bundle(t, "zstd-v2")))
			default:
				sources = append(sources, dialHgSSH(t, part.ServeSSH(t, "")))
			}
		}
		grown := convertHg(t, append(sources, dialHg(t, repo.Serve(t)))...)
		whole.sameHg(t, fmt.Sprint("after ", ends), grown)
	}
}

// A bundle in which any byte of a text was changed is refused, by the name of the node.
func TestChangedBytes(t *testing.T) {
	t.Parallel()
	h := hgfixture.NewHistory()
	h.Commit(hgfixture.Changeset{Description: "an uncommon word"}, hgfixture.Put("dir/file", "once upon a time\n"), hgfixture.Put("other", "1\n"))
	h.Commit(hgfixture.Changeset{Description: "the second"}, hgfixture.Put("dir/file", "once upon a time\nthere was\n"))
	for _, test := range []struct{ from, to, want string }{
		{"an uncommon word", "an uncommom word", h.Node(1)},
		{"the second", "the sekond", h.Node(2)},
		{"once upon a time", "once upon a tide", "dir/file"},
		{"there was", "there is ", "dir/file"},
		{"other\x00", "otter\x00", "manifest"},
		{"alice", "alicf", h.Node(1)},
	} {
		bundle := bytes.Replace(h.Bundle(), []byte(test.from), []byte(test.to), 1)
		file := filepath.Join(t.TempDir(), "bundle.hg")
		if err := os.WriteFile(file, bundle, 0o600); err != nil {
			t.Fatal(err)
		}
		err := openGraph(t, t.TempDir(), "a", Options{}).ReadGraph(t.Context(), openHgBundle(t, file))
		if !errors.Is(err, origin.ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want an error that names %s", test.to, err, test.want)
		}
	}
}

// Paths that no repository may have become names that lead nowhere, or are refused; what is not in the tree is not
// written anywhere.
func TestEvilPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"../x", "/x", "a//b", "a/", "./x", "a/../b", ".hg/hgrc", "a/.hg/hgrc", ".HG/hgrc", ".git/config", "a/.Git/hooks/post-checkout", "..", ".", "/", "//", "a/./b",
		"\\..\\x", "c:\\x", "a/.git", "GIT~1/x", ".h\u200cg/x", "hg~1/x", "a\x01/../../b",
	} {
		h := hgfixture.NewHistory()
		h.Commit(hgfixture.Changeset{Description: "1"}, hgfixture.Put("ok", "1\n"), hgfixture.Put(path, "evil\n"))
		h.Commit(hgfixture.Changeset{Description: "2"}, hgfixture.Put(path, "more evil\n"))
		h.Commit(hgfixture.Changeset{Description: "3"}, hgfixture.Remove(path), hgfixture.Link("l", "../../../../etc/passwd"))
		c, err := tryHg(t, h)
		if err != nil {
			if gantry.KindOf(err) != gantry.Invalid || !strings.Contains(err.Error(), "manifest") {
				t.Errorf("%q: %v", path, err)
			}
			continue
		}
		bare, _ := c.install(t)
		listed := git(t, nil, "--git-dir", bare, "ls-tree", "-r", "-z", "--name-only", "refs/heads/main~1")
		for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
			for part := range strings.SplitSeq(name, "/") {
				if low := strings.ToLower(part); low == "" || low == "." || low == ".." || low == ".git" || low == ".hg" {
					t.Errorf("%q is %q in the tree", path, name)
				}
			}
		}
		if n := strings.Count(listed, "\x00"); n != 2 {
			t.Errorf("%q: %d files, want 2: %q", path, n, listed)
		}
	}
}

// tryHg converts a history that hg would not take.
func tryHg(t *testing.T, h *hgfixture.History) (converted, error) {
	t.Helper()
	c := openGraph(t, t.TempDir(), "a", Options{})
	if err := c.ReadGraph(t.Context(), hg10(t, h)); err != nil {
		return converted{}, err
	}
	return mappedHg(t, c), nil
}

// hg10 is a history as it was written down.
func hg10(t *testing.T, h *hgfixture.History) origin.GraphSource {
	t.Helper()
	return hg.ReadBundle(bytes.NewReader(h.Bundle()), "history", t.TempDir())
}

// judgeEveryWayOfHg converts a repository from servers and bundles. hg judges one of the results, to which the others are
// equal.
func judgeEveryWayOfHg(t *testing.T, repo *hgfixture.Repo) {
	t.Helper()
	whole := convertHg(t, dialHg(t, repo.Serve(t)))
	whole.judgeHg(t, repo)
	for name, settings := range map[string][]string{
		"bundles only":     {"server.uncompressed=no"},
		"zlib only":        {"server.uncompressed=no", "server.compressionengines=zlib"},
		"first version":    {"server.uncompressed=no", "devel.legacy.exchange=bundle1"},
		"arguments posted": {"server.uncompressed=no", "experimental.httppostargs=yes"},
	} {
		whole.sameHg(t, name, convertHg(t, dialHg(t, repo.Serve(t, settings...))))
	}
	whole.sameHg(t, "ssh", convertHg(t, dialHgSSH(t, repo.ServeSSH(t, "Welcome\n17\n"))))
	whole.sameHg(t, "ssh without streams", convertHg(t, dialHgSSH(t, repo.ServeSSH(t, "", "server.uncompressed=no"))))
	for _, kind := range []string{"none-v1", "gzip-v1", "bzip2-v1", "none-v2", "gzip-v2", "bzip2-v2", "zstd-v2", "none-v2;stream=v2"} {
		c := convertHg(t, openHgBundle(t, repo.Bundle(t, kind)))
		if repo.Run(t, "bookmarks") == "no bookmarks set\n" {
			whole.sameHg(t, kind, c)
		} else if !slices.Equal(c.nodes(), whole.nodes()) { // a bundle has no bookmarks
			t.Errorf("%s: other commits than over http", kind)
		}
	}
}

// judgeHg has hg and git say what they think of a conversion.
func (c converted) judgeHg(t *testing.T, repo *hgfixture.Repo) {
	t.Helper()
	bare, mapFile := c.install(t)
	if n, err := hgjudge.Open(t, repo.Dir).Check(t.Context(), mapFile, bare); err != nil {
		t.Error(err)
	} else if r := c.result.Report; int64(n) != r.Revisions || r.VerifiedTexts != r.Files {
		t.Errorf("of %d changesets %d are reported, and %d of %d texts verified", n, r.Revisions, r.VerifiedTexts, r.Files)
	}
}

// sameHg reports a conversion that made something else of the same history.
func (c converted) sameHg(t *testing.T, way string, other converted) {
	t.Helper()
	if !slices.Equal(c.nodes(), other.nodes()) || !slices.Equal(c.result.Refs, other.result.Refs) || c.result.Head != other.result.Head {
		t.Errorf("%s: other commits or refs than over http", way)
	}
}

// nodes are the changesets with their commits, in order. Their numbers also count what is not shown.
func (c converted) nodes() []string {
	var lines []string
	for _, commit := range c.commits {
		lines = append(lines, commit.Node.String()+" "+commit.ID.String())
	}
	return lines
}

func dialHg(t *testing.T, address string) origin.GraphSource {
	t.Helper()
	return openHg(t, address, hg.Options{})
}

func dialHgSSH(t *testing.T, server *sshfixture.Server) origin.GraphSource {
	t.Helper()
	return openHg(t, "ssh://"+server.Address+"/repo", hg.Options{
		Credentials: origin.Credentials{Username: server.User, Password: server.Password}, HostKeys: []string{server.HostKey},
	})
}

func openHg(t *testing.T, address string, opt hg.Options) origin.GraphSource {
	t.Helper()
	var err error
	if opt.Address, _, err = origin.ParseAddress(address); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true} // hg serve has a process for each connection
	t.Cleanup(transport.CloseIdleConnections)
	opt.HTTP, opt.Dial, opt.TempDir = transport, new(net.Dialer).DialContext, t.TempDir()
	src, err := hg.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

func openHgBundle(t *testing.T, file string) origin.GraphSource {
	t.Helper()
	src, err := hg.OpenBundle(file, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// convertHg converts all that a source has.
func convertHg(t *testing.T, sources ...origin.GraphSource) converted {
	t.Helper()
	c := openGraph(t, t.TempDir(), "a", Options{})
	for _, src := range sources {
		readGraph(t, c, src)
	}
	return mappedHg(t, c)
}

func mappedHg(t *testing.T, c *Conversion) converted {
	t.Helper()
	return mappedBy(t, c, c.MapGraph, MapOptions{})
}
