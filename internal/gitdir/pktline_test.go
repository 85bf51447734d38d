package gitdir

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"gantry"
)

func FuzzParseReport(f *testing.F) {
	f.Add([]byte("000eunpack ok\n0019ok refs/heads/main\n0000"))
	f.Add([]byte("000eunpack ok\n0027ng refs/heads/main failed to update\n0000"))
	f.Add([]byte("fffe"))
	f.Add([]byte("0003"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rep, err := parseReport(bytes.NewReader(data))
		if err == nil && rep.unpack == "" {
			t.Error("a report without its first line")
		}
	})
}

func TestPacketRoundTrip(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := bufio.NewWriter(&buf)
	for _, s := range []string{"", "a", strings.Repeat("x", maxPacket-4)} {
		writePacket(w, s)
	}
	w.WriteString(flushPacket)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{0, 1, maxPacket - 4} {
		got, err := ReadPacket(&buf)
		if err != nil || got == nil || len(got) != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if got, err := ReadPacket(&buf); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// What git says in each of its forms is recognised.
func TestObjectFault(t *testing.T) {
	t.Parallel()
	const id = "be4ac4edcc2ed5de02beabdb2974db0fd99e6e97"
	for said, want := range map[string]string{
		"error: object " + id + ": badTree: contains x\nfatal: fsck error in packed object": id + " is not well formed (badTree: contains x)",
		"remote: error: object " + id + ": badTree: contains x\n":                           id + " is not well formed (badTree: contains x)",
		"warning: object " + id + ": badEmail: bad\n":                                       "",
		"fatal: early EOF": "",
	} {
		if got := gantry.Message(ObjectFault(said)); !strings.HasPrefix(got, "object "+want) && want != "" || want == "" && got != "" {
			t.Errorf("%q: %q", said, got)
		}
	}
}
