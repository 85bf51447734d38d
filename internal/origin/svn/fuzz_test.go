package svn

import (
	"context"
	"io"
	"os"
	"testing"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// drain is a sink that reads every text and keeps nothing. It fails on what no reader may send.
type drain struct{ t *testing.T }

func (d drain) BeginRevision(*origin.Revision) error { return nil }
func (d drain) EndRevision() error                   { return nil }

func (d drain) Change(c *origin.Change) error {
	if clean, err := cleanPath(c.Path); err != nil || clean != c.Path {
		d.t.Errorf("path %q", c.Path)
	}
	if c.Copied && c.Action != origin.Add && c.Action != origin.Replace {
		d.t.Errorf("action %d is a copy", c.Action)
	}
	if c.Text == nil {
		return nil
	}
	r, err := c.Text.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// FuzzDump reads arbitrary dumps to their end.
func FuzzDump(f *testing.F) {
	small := svnfixture.NewHistory(svnfixture.StandardUUID)
	small.Commit("alice", "Begin", svnfixture.Mkdir("a"), svnfixture.Put("a/b", "text\n").With("x", "y"))
	small.Commit("", "Copy", svnfixture.CopyDir("a", 1, "c"), svnfixture.Delete("a"))
	f.Add(small.Bytes())
	f.Add([]byte("SVN-fs-dump-format-version: 3\n\nUUID: x\n\nRevision-number: 1\n\nNode-path: a\nNode-kind: file\nNode-action: change\n" +
		"Prop-delta: true\nProp-content-length: 16\nText-delta: true\nText-content-length: 4\n\nD 1\na\nPROPS-END\nSVN\x00\n\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	name := f.TempDir() + "/dump"
	f.Fuzz(func(t *testing.T, dump []byte) {
		if err := os.WriteFile(name, dump, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDump(context.Background(), name)
		if err != nil {
			return
		}
		defer d.Close()
		_ = d.Replay(context.Background(), 1, d.Info().Head, drain{t})
	})
}
