package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry"
	"gantry/internal/origin"
	"gantry/internal/revlog"
)

// sent is what a source once sent, to be sent again: in part, changed, or broken off.
type sent struct {
	revisions []sentRevision
	heads     origin.GraphHeads
	failAt    int // sends so many revisions only, and then fails; 0 for never
}

type sentRevision struct {
	kind laneKind
	path string
	revlog.Revision
}

var errLost = fmt.Errorf("%w: it is gone", origin.ErrTemporary)

func (s *sent) keep(kind laneKind, path string, r *revlog.Revision) error {
	kept := *r
	kept.Patch = bytes.Clone(r.Patch)
	s.revisions = append(s.revisions, sentRevision{kind, path, kept})
	return nil
}

func (s *sent) Changeset(r *revlog.Revision) error            { return s.keep(changesets, "", r) }
func (s *sent) Manifest(dir string, r *revlog.Revision) error { return s.keep(manifests, dir, r) }
func (s *sent) File(path string, r *revlog.Revision) error    { return s.keep(files, path, r) }

func (s *sent) GraphInfo() origin.GraphInfo { return origin.GraphInfo{Changesets: -1} }
func (s *sent) Close() error                { return nil }

func (s *sent) Pull(_ context.Context, _ []revlog.Node, sink revlog.Sink) (origin.GraphHeads, error) {
	for i := range s.revisions {
		if s.failAt > 0 && i == s.failAt {
			return origin.GraphHeads{}, errLost
		}
		r := s.revisions[i]
		patch := bytes.Clone(r.Patch)
		r.Patch = patch
		var err error
		switch r.kind {
		case changesets:
			err = sink.Changeset(&r.Revision)
		case manifests:
			err = sink.Manifest(r.path, &r.Revision)
		case files:
			err = sink.File(r.path, &r.Revision)
		}
		if err != nil {
			return origin.GraphHeads{}, err
		}
		clear(patch) // it was valid until now
	}
	return s.heads, nil
}

// record keeps what a source sends.
func record(t testing.TB, src origin.GraphSource) *sent {
	t.Helper()
	s := &sent{}
	heads, err := src.Pull(t.Context(), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	s.heads = heads
	return s
}

// part returns what came with the changesets of numbers from first up to last.
func (s *sent) part(first, last int) *sent {
	number := map[revlog.Node]int{}
	p := &sent{}
	for _, r := range s.revisions {
		if r.kind == changesets {
			number[r.Node] = len(number)
		}
		if n := number[r.Link]; n < first || n >= last {
			continue
		}
		p.revisions = append(p.revisions, r)
		if r.kind == changesets {
			p.heads.Heads = slices.DeleteFunc(p.heads.Heads, func(n revlog.Node) bool { return n == r.P1 || n == r.P2 })
			p.heads.Heads = append(p.heads.Heads, r.Node)
		}
	}
	return p
}

// told is what the records say, without their numbers.
func told(t testing.TB, c *Conversion) map[string]string {
	t.Helper()
	told := map[string]string{}
	node := map[int64]string{}
	for r, err := range c.log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		node[r.Number] = r.Changeset.Node.String()
		line := fmt.Sprintf("%v %q %v %d %q %q", r.Root.Tree, r.Author, r.Time, r.Changeset.Zone, r.Message, r.Changeset.Extras)
		for _, p := range r.Changeset.Parents {
			line += " " + node[p]
		}
		told[node[r.Number]] = line
	}
	return told
}

// However what is to be read is cut into pieces, and whatever breaks off on the way, the records are the same.
func TestGraphInPieces(t *testing.T) {
	t.Parallel()
	for _, config := range [][]string{{}, {"--config", "experimental.treemanifest=1"}} {
		r := newHgRepo(t, config...)
		r.tell()
		spec := "none-v2"
		if len(config) > 0 {
			spec += ";cg.version=03"
		}
		all := record(t, r.bundle("--all", "--type", spec))
		whole := openGraph(t, t.TempDir(), "a", Options{})
		readGraph(t, whole, all)
		want := told(t, whole)
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%v %d", config, seed), func(t *testing.T) {
				t.Parallel()
				readInPieces(t, all, len(want), want, rand.New(rand.NewPCG(seed, 0)))
			})
		}
	}
}

func readInPieces(t *testing.T, all *sent, count int, want map[string]string, random *rand.Rand) {
	dir := t.TempDir()
	var counts Counts
	for at, owner := 0, 0; at < count; owner++ {
		c := openGraph(t, dir, fmt.Sprintf("w%d", owner), Options{Earlier: func(string) bool { return true }})
		next := at + 1 + random.IntN(count-at)
		piece := all.part(at, next)
		switch random.IntN(4) {
		case 0: // the connection breaks
			piece.failAt = 1 + random.IntN(len(piece.revisions))
			if err := c.ReadGraph(t.Context(), piece); piece.failAt < len(piece.revisions) && !errors.Is(err, origin.ErrTemporary) {
				t.Fatalf("broken off: %v", err)
			} else if err == nil {
				at = next
			}
		case 1: // the process is killed before anything is committed
			c.opt.Journal = refusing{c.opt.Journal}
			if err := c.ReadGraph(t.Context(), piece); !errors.Is(err, errRefused) {
				t.Fatalf("refused: %v", err)
			}
		case 2: // all of it comes once more, in two rounds
			piece.revisions = append(all.part(0, at).revisions, append(piece.revisions, all.part(max(0, next-2), next).revisions...)...)
			fallthrough
		default:
			readGraph(t, c, piece)
			at = next
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := openGraph(t, dir, "last", Options{})
	if diff := cmp.Diff(want, told(t, c)); diff != "" {
		t.Error(diff)
	}
	counts = c.State().Counts
	if counts.Revisions != int64(count) || counts.Verified != counts.Files {
		t.Errorf("counted %+v of %d changesets", counts, count)
	}
}

// refusing is a journal that loses what it is given.
type refusing struct{ Journal }

var errRefused = errors.New("refused")

func (refusing) Commit(context.Context, State, News) error { return errRefused }

// What does not match its node is refused, with the names of what is wrong.
func TestGraphIsVerified(t *testing.T) {
	t.Parallel()
	r := newHgRepo(t)
	r.tell()
	all := record(t, r.bundle("--all", "--type", "none-v2"))
	for _, c := range []struct {
		name string
		kind laneKind
		path string
	}{{"changeset", changesets, ""}, {"manifest", manifests, ""}, {"file", files, "long"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			broken := *all
			broken.revisions = slices.Clone(all.revisions)
			i := slices.IndexFunc(broken.revisions, func(r sentRevision) bool { return r.kind == c.kind && r.path == c.path })
			bad := &broken.revisions[i]
			bad.Patch = bytes.Clone(bad.Patch)
			bad.Patch[len(bad.Patch)-2] ^= 1
			err := openGraph(t, t.TempDir(), "a", Options{}).ReadGraph(t.Context(), &broken)
			if !errors.Is(err, origin.ErrCorrupt) {
				t.Fatalf("%v is not said to be corrupt", err)
			}
			for _, word := range []string{bad.Node.String(), bad.Link.String(), c.path} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not name %s", err, word)
				}
			}
		})
	}
}

// Another origin under the same address is not taken for the one that was read before.
func TestGraphOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	r, other := newHgRepo(t), newHgRepo(t)
	r.commit(map[string]string{"a": "one\n"})
	other.commit(map[string]string{"a": "other\n"})
	c := openGraph(t, t.TempDir(), "a", Options{})
	readGraph(t, c, r.bundle("--all"))
	before := told(t, c)
	err := c.ReadGraph(t.Context(), other.bundle("--all"))
	if gantry.KindOf(err) != gantry.Conflict {
		t.Errorf("%v is no conflict", err)
	}
	if diff := cmp.Diff(before, told(t, c)); diff != "" {
		t.Error(diff)
	}
}

// An empty origin gives an empty log.
func TestGraphOfNothing(t *testing.T) {
	t.Parallel()
	c := openGraph(t, t.TempDir(), "a", Options{})
	readGraph(t, c, &sent{heads: origin.GraphHeads{Heads: []revlog.Node{revlog.Null}}})
	if state := c.State(); !state.Complete || state.Counts != (Counts{}) || len(state.Graph.Heads) != 0 {
		t.Errorf("%+v", state)
	}
}

// Large files are found where they are first met, also when they come twice.
func TestGraphLargeFiles(t *testing.T) {
	t.Parallel()
	r := newHgRepo(t)
	r.commit(map[string]string{"small": "s\n", "b/large": strings.Repeat("x", 2000), "a": strings.Repeat("y", 3000)})
	r.commit(map[string]string{"b/large": strings.Repeat("x", 2001)})
	all := record(t, r.bundle("--all"))
	dir := t.TempDir()
	c := openGraph(t, dir, "a", Options{LargeFile: 1000})
	broken := *all
	broken.failAt = len(all.revisions) - 1
	if err := c.ReadGraph(t.Context(), &broken); !errors.Is(err, origin.ErrTemporary) {
		t.Fatal(err)
	}
	readGraph(t, c, all)
	var found []string
	for r, err := range c.log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Large {
			found = append(found, fmt.Sprintf("%d %s %d", r.Number, f.Path, f.Size))
		}
	}
	if diff := cmp.Diff([]string{"1 a 3000", "1 b/large 2000", "2 b/large 2001"}, found); diff != "" {
		t.Error(diff)
	}
	if state := c.State(); state.LargeFiles != 3 || state.LargeFileSize != 7001 {
		t.Errorf("%+v", state)
	}
}

// Texts that are not held in memory come to the same blobs, with whatever they are patches against.
func TestGraphStreams(t *testing.T) {
	t.Parallel()
	r := newHgRepo(t)
	var text strings.Builder
	for n := 0; text.Len() < maxInMemory; n++ { // few lines: hg compares them
		fmt.Fprintf(&text, "line %d%s\n", n, strings.Repeat("-", 64<<10))
	}
	long := text.String()
	r.commit(map[string]string{"long": long, "marked": "\x01\n" + long})
	r.commit(map[string]string{"long": "begin\n" + long[:len(long)/2] + "middle\n" + long[len(long)/2+100:]})
	r.hg("copy", "long", "copy")
	r.commit(map[string]string{"long": "short\n", "copy": long, "marked": "\x01\n" + long + "end\n"})
	r.commit(map[string]string{"long": long, "copy": long + "end\n"})
	want := r.trees()
	all := record(t, r.bundle("--all", "--type", "none-v2"))
	dir := t.TempDir()
	c := openGraph(t, dir, "a", Options{})
	for number := range want {
		readGraph(t, c, all.part(number, number+1))
	}
	trees := rootTrees(t, c)
	for number, node := range strings.Fields(r.hg("log", "-r", "all()", "-T", "{node}\n")) {
		if diff := cmp.Diff(want[number], list(t, c.store, trees[node], "", map[string]string{})); diff != "" {
			t.Errorf("changeset %d: %s", number, diff)
		}
	}
	if counts := c.State().Counts; counts.Verified != counts.Files || counts.Files != 8 {
		t.Errorf("counted %+v", counts)
	}
	broken := *all
	i := slices.IndexFunc(all.revisions, func(r sentRevision) bool { return r.path == "long" })
	broken.revisions = slices.Clone(all.revisions)
	broken.revisions[i].Patch = bytes.Replace(broken.revisions[i].Patch, []byte("line 7-"), []byte("line 8-"), 1)
	if err := openGraph(t, t.TempDir(), "a", Options{}).ReadGraph(t.Context(), &broken); !errors.Is(err, origin.ErrCorrupt) {
		t.Errorf("%v is not said to be corrupt", err)
	}
}
