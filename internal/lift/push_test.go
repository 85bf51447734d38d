package lift

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/pack"
)

// A result moves only refs that earlier ones made and that nobody has moved since.
func TestPlanPush(t *testing.T) {
	a, b, c := pack.ID{1}, pack.ID{2}, pack.ID{3}
	const main, gone, theirs = "refs/heads/main", "refs/heads/gone", "refs/heads/theirs"
	for _, test := range []struct {
		name string
		have []gitdir.Ref
		put  map[string]string
		want []history.Ref
		plan pushPlan
	}{
		{
			name: "an empty repository gets every ref",
			want: []history.Ref{{Name: main, ID: a}},
			plan: pushPlan{updates: []gitdir.RefUpdate{{Name: main, New: a}}, put: map[string]string{main: a.String()}},
		},
		{
			name: "what is there already stays",
			have: []gitdir.Ref{{Name: main, ID: a}},
			want: []history.Ref{{Name: main, ID: a}},
			plan: pushPlan{put: map[string]string{main: a.String()}},
		},
		{
			name: "own refs move, and go with their origin",
			have: []gitdir.Ref{{Name: gone, ID: b}, {Name: main, ID: a}},
			put:  map[string]string{main: a.String(), gone: b.String()},
			want: []history.Ref{{Name: main, ID: c}},
			plan: pushPlan{
				updates: []gitdir.RefUpdate{{Name: main, Old: a, New: c}, {Name: gone, Old: b}},
				put:     map[string]string{main: c.String()},
			},
		},
		{
			name: "refs of others stay",
			have: []gitdir.Ref{{Name: gone, ID: c}, {Name: main, ID: b}, {Name: theirs, ID: b}},
			put:  map[string]string{main: a.String(), gone: b.String()},
			want: []history.Ref{{Name: main, ID: c}},
			plan: pushPlan{put: map[string]string{}, kept: []string{main}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := planPush(test.have, test.put, test.want)
			if diff := cmp.Diff(test.plan, got, cmp.AllowUnexported(pushPlan{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The last bytes of a pack reach the receiver only after the check, however the pack was cut into writes.
func TestFence(t *testing.T) {
	pack := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), 3)
	for size := 1; size <= len(pack); size++ {
		var out bytes.Buffer
		checked := errors.New("lost")
		f := &fence{to: &out, check: func() error { return checked }}
		for rest := pack; len(rest) > 0; {
			n, err := f.Write(rest[:min(size, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := f.release(); !errors.Is(err, checked) || !bytes.Equal(out.Bytes(), pack[:len(pack)-fenceSize]) {
			t.Fatalf("writes of %d: before the check the receiver has %q, release says %v", size, out.Bytes(), err)
		}
		checked = nil
		if err := f.release(); err != nil || !bytes.Equal(out.Bytes(), pack) {
			t.Fatalf("writes of %d: after the check the receiver has %q, release says %v", size, out.Bytes(), err)
		}
	}
}
