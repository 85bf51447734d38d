package delta

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"pgregory.net/rapid"
)

// Git reads what svndiffs were rewritten into, and finds the same texts.
func TestGitReadsTranscodedDeltas(t *testing.T) {
	t.Parallel()
	type sample struct{ base, target, gitDelta []byte }
	draw := rapid.Custom(func(t *rapid.T) sample {
		stream, base, target := drawSVNDiff(t)
		_, gitDelta, err := transcode(stream, base)
		if err != nil {
			t.Fatal(err)
		}
		return sample{base, target, gitDelta}
	})
	var p testPack
	want := map[string][]byte{}
	for seed := range 300 {
		s := draw.Example(seed)
		p.blob(s.base)
		// Git refuses deltas that make nothing, and we never store them.
		if _, twice := want[blobID(s.target)]; !twice && len(s.target) > 0 && !bytes.Equal(s.target, s.base) {
			p.refDelta(s.base, s.gitDelta)
			want[blobID(s.target)] = s.target
		}
	}
	source, target := subversionTexts()
	stream, err := os.ReadFile("testdata/edit.svndiff2")
	if err != nil {
		t.Fatal(err)
	}
	_, gitDelta, err := transcode(stream, source)
	if err != nil {
		t.Fatal(err)
	}
	p.blob(source)
	p.refDelta(source, gitDelta)
	want[blobID(target)] = target

	dir := t.TempDir()
	runGit(t, dir, nil, "init", "-q", "--bare")
	runGit(t, dir, p.finish(), "unpack-objects", "-q", "--strict")
	var ids strings.Builder
	for id := range want {
		fmt.Fprintln(&ids, id)
	}
	listed := runGit(t, dir, []byte(ids.String()), "cat-file", "--batch-check=%(objectname) %(objectsize)")
	for line := range strings.Lines(listed) {
		id, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if size != fmt.Sprint(len(want[id])) {
			t.Errorf("git has %s as %s, want %d bytes", id, size, len(want[id]))
		}
	}
}

func blobID(data []byte) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
}

// testPack is a pack of blobs and deltas of blobs, each blob once.
type testPack struct {
	body  bytes.Buffer
	count uint32
	seen  map[string]bool
}

func (p *testPack) blob(data []byte) {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if id := blobID(data); !p.seen[id] {
		p.seen[id] = true
		p.entry(3, nil, data)
	}
}

func (p *testPack) refDelta(base, gitDelta []byte) {
	id := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(base), base))
	p.entry(7, id[:], gitDelta)
}

func (p *testPack) entry(typ byte, base, data []byte) {
	p.count++
	size := len(data)
	c := typ<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.body.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	p.body.WriteByte(c)
	p.body.Write(base)
	z := zlib.NewWriter(&p.body)
	z.Write(data)
	z.Close()
}

func (p *testPack) finish() []byte {
	out := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	out = append(out, p.body.Bytes()...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func runGit(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
