package svndump_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gantry/bench/synth"
	"gantry/bench/synth/svndump"
)

const uuid = "5d7a8f10-0000-4000-8000-000000000001"

// Numbers of one benchmark can be compared with those of another only while the same parameters give the same history.
func TestSameHistoryForEver(t *testing.T) {
	t.Parallel()
	sum := sha256.New()
	if _, err := svndump.Write(sum, uuid, synth.Revisions(synth.Params{Seed: 1, Revisions: 300})); err != nil {
		t.Fatal(err)
	}
	const want = "284667376b07bfc6"
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want {
		t.Errorf("the dump's SHA-256 begins with %s, want %s: numbers measured before can no longer be compared", got, want)
	}
}

// Subversion itself is the judge of the dump.
func TestSubversionAcceptsTheDump(t *testing.T) {
	t.Parallel()
	repo := filepath.Join(t.TempDir(), "repo")
	run(t, nil, "svnadmin", "create", repo)
	var dump bytes.Buffer
	facts, err := svndump.Write(&dump, uuid, synth.Revisions(synth.Params{Seed: 7, Revisions: 600}))
	if err != nil {
		t.Fatal(err)
	}
	run(t, dump.Bytes(), "svnadmin", "load", "--quiet", "--no-flush-to-disk", repo)
	run(t, nil, "svnadmin", "verify", "--quiet", repo)
	if facts.Branches < 20 || facts.Tags == 0 || len(facts.Merges) < 20 || len(facts.Picks) == 0 {
		t.Errorf("too little happens: %d branches, %d tags, %d merges, %d picks", facts.Branches, facts.Tags, len(facts.Merges), len(facts.Picks))
	}
	last := facts.Merges[len(facts.Merges)-1]
	if info := run(t, nil, "svn", "propget", "svn:mergeinfo", "file://"+repo+"/"+last.Into); !strings.Contains(info, "/"+last.From+":") {
		t.Errorf("svn:mergeinfo of %s does not name %s:\n%s", last.Into, last.From, info)
	}
}

func run(t *testing.T, stdin []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
