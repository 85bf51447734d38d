package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

func drawID(t *rapid.T) pack.ID {
	return pack.ID(rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "id"))
}

func drawRecord(t *rapid.T, number int64) Record {
	path := rapid.StringN(0, 20, -1)
	r := Record{
		Number:  number,
		Message: rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "message"),
		Root:    Node{drawID(t), drawID(t)},
	}
	if rapid.Bool().Draw(t, "has author") {
		r.Author = rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "author")
	}
	if rapid.Bool().Draw(t, "has time") {
		r.Time = time.UnixMicro(rapid.Int64Range(-1<<50, 1<<55).Draw(t, "time")).UTC()
	}
	for range rapid.IntRange(0, 3).Draw(t, "props") {
		r.Props = append(r.Props, origin.Prop{Name: path.Draw(t, "name"), Value: []byte(path.Draw(t, "value"))})
	}
	for range rapid.IntRange(0, 4).Draw(t, "dirs") {
		c := DirChange{Path: path.Draw(t, "path"), Action: origin.Action(rapid.IntRange(0, 3).Draw(t, "action"))}
		if c.Action != origin.Delete {
			c.Node.Tree = drawID(t)
			if rapid.Bool().Draw(t, "side") {
				c.Node.Side = drawID(t)
			}
		}
		if rapid.Bool().Draw(t, "copied") {
			c.Copied, c.CopyPath, c.CopyRev = true, path.Draw(t, "from"), rapid.Int64Range(0, number).Draw(t, "rev")
		}
		r.Dirs = append(r.Dirs, c)
	}
	for range rapid.IntRange(0, 2).Draw(t, "large") {
		r.Large = append(r.Large, LargeFile{path.Draw(t, "path"), drawID(t), rapid.Int64().Draw(t, "size")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "copies") {
		r.Copies = append(r.Copies, FileCopy{path.Draw(t, "path"), path.Draw(t, "from"), rapid.Int64Range(0, number).Draw(t, "rev")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "unchanged") {
		r.Unchanged = append(r.Unchanged, path.Draw(t, "path"))
	}
	if rapid.Bool().Draw(t, "changeset") {
		c := &Changeset{Node: revlog.Node(drawID(t)), Zone: rapid.IntRange(-50000, 50000).Draw(t, "zone")}
		for range rapid.IntRange(0, 2).Draw(t, "parents") {
			c.Parents = append(c.Parents, rapid.Int64Range(1, number).Draw(t, "parent"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "extras") {
			c.Extras = append(c.Extras, origin.Prop{Name: path.Draw(t, "name"), Value: []byte(path.Draw(t, "value"))})
		}
		r.Changeset = c
	}
	return r
}

func readAll(t interface{ Fatal(...any) }, log *Log) []Record {
	var records []Record
	for r, err := range log.Records() {
		if err != nil {
			t.Fatal(err)
		}
		taken := *r
		taken.Props = append([]origin.Prop(nil), r.Props...)
		taken.Dirs = append([]DirChange(nil), r.Dirs...)
		taken.Large = append([]LargeFile(nil), r.Large...)
		taken.Copies = append([]FileCopy(nil), r.Copies...)
		taken.Unchanged = append([]string(nil), r.Unchanged...)
		records = append(records, taken)
	}
	return records
}

// Whatever owners come and go, with whatever they leave behind after their last Sync: what was synced is there.
func TestLogKeepsWhatWasSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		dir := filepath.Join(dir, fmt.Sprint(run))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var segments []Segment
		var kept []Record
		for owner := range rapid.IntRange(1, 4).Draw(t, "owners") {
			log, err := OpenLog(dir, fmt.Sprintf("w%d", owner), segments)
			if err != nil {
				t.Fatal(err)
			}
			written := append([]Record(nil), kept...)
			for range rapid.IntRange(0, 5).Draw(t, "records") {
				r := drawRecord(t, int64(len(written)+1))
				if err := log.Append(&r); err != nil {
					t.Fatal(err)
				}
				written = append(written, r)
				if rapid.Bool().Draw(t, "sync") {
					if segments, err = log.Sync(); err != nil {
						t.Fatal(err)
					}
					kept = written[:len(written):len(written)]
				}
			}
			if diff := cmp.Diff(written, readAll(t, log), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("read by its owner: %s", diff)
			}
			log.Close()
		}
		log, err := OpenLog(dir, "last", segments)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept, readAll(t, log), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLogFindsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := OpenLog(dir, "w", nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if err := log.Append(&Record{Number: n + 1, Message: []byte("message"), Root: EmptyNode}); err != nil {
			t.Fatal(err)
		}
	}
	segments, err := log.Sync()
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	name := filepath.Join(dir, segments[0].Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x40
		if err := os.WriteFile(name, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := OpenLog(dir, "x", segments)
		if err != nil {
			t.Fatal(err)
		}
		var found error
		for _, err := range log.Records() {
			found = err
		}
		if !errors.Is(found, ErrCorrupt) {
			t.Errorf("byte %d changed: %v", at, found)
		}
	}
	if err := os.Truncate(name, segments[0].Length-1); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(dir, "x", segments); !errors.Is(err, ErrCorrupt) {
		t.Errorf("cut short: %v", err)
	}
	if _, err := OpenLog(dir, "x", []Segment{{Name: "../log", Length: 1}}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("outside of its directory: %v", err)
	}
}

// A reader of frames and records takes anything, and what it takes for a record is written the same way again.
func FuzzRecords(f *testing.F) {
	var log bytes.Buffer
	log.WriteString(logMagic)
	for _, r := range []Record{
		{Number: 1, Author: []byte("a"), Message: []byte("m"), Root: EmptyNode},
		{Number: 2, Time: time.Unix(1, 0), Dirs: []DirChange{{Path: "trunk", Action: origin.Add, Node: EmptyNode, Copied: true, CopyPath: "x", CopyRev: 1}, {Path: "x", Action: origin.Delete}}},
		{Number: 3, Props: []origin.Prop{{Name: "n", Value: []byte("v")}}, Large: []LargeFile{{Path: "big", Size: 1 << 40}}, Copies: []FileCopy{{"a", "b", 1}}, Unchanged: []string{"", "d"}},
	} {
		f.Add(r.encode(nil))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in := newFrames(bytes.NewReader(body), int64(len(body)))
		if in.magic() == nil {
			for {
				if _, err := in.next(); err != nil {
					if err != io.EOF && !errors.Is(err, ErrCorrupt) {
						t.Fatal(err)
					}
					break
				}
			}
		}
		if props, err := DecodeProps(body); err == nil {
			if same, err := DecodeProps(EncodeProps(slices.Clone(props))); err != nil || len(same) != len(props) {
				t.Fatalf("%d properties became %d: %v", len(props), len(same), err)
			}
		}
		var r, again Record
		if err := r.decode(body); err != nil {
			return
		}
		if err := again.decode(r.encode(nil)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
