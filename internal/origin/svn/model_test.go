package svn

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/delta"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

// node is a path's state in the model. Nodes are never changed once a revision has ended.
type node struct {
	Dir   bool
	Props map[string]string
	Text  string
}

// model is a sink that builds every revision's whole tree in memory and verifies every checksum it is told.
type model struct {
	tree  map[string]node
	trees map[int64]map[string]node
	revs  []origin.Revision
	told  []string // what came, in words
	rev   int64

	running bool
	before  struct { // the running revision
		tree map[string]node
		told int
	}
	again int // revisions that began again
}

func newModel() *model {
	return &model{tree: map[string]node{"": {Dir: true, Props: map[string]string{}}}, trees: map[int64]map[string]node{}}
}

func (m *model) BeginRevision(rev *origin.Revision) error {
	if m.running && rev.Number == m.rev {
		m.again++
		m.tree, m.told, m.revs = m.before.tree, m.told[:m.before.told], m.revs[:len(m.revs)-1]
	} else if m.running || rev.Number <= m.rev {
		return fmt.Errorf("r%d comes after r%d", rev.Number, m.rev)
	}
	m.running, m.before.tree, m.before.told = true, maps.Clone(m.tree), len(m.told)
	m.revs, m.rev = append(m.revs, *rev), rev.Number
	m.told = append(m.told, fmt.Sprintf("r%d", rev.Number))
	return nil
}

func (m *model) EndRevision() error {
	m.trees[m.rev], m.running = maps.Clone(m.tree), false
	return nil
}

func (m *model) Change(c *origin.Change) error {
	text := "no text"
	_, exists := m.tree[c.Path]
	switch c.Action {
	case origin.Delete, origin.Replace:
		if !exists {
			return fmt.Errorf("%s is not there", c.Path)
		}
		m.remove(c.Path)
	case origin.Add:
		if exists {
			return fmt.Errorf("%s is there already", c.Path)
		}
	case origin.Modify:
		if !exists {
			return fmt.Errorf("%s is not there", c.Path)
		}
	}
	if c.Action != origin.Delete {
		if err := m.apply(c); err != nil {
			return fmt.Errorf("r%d %s: %w", m.rev, c.Path, err)
		}
		text = fmt.Sprintf("%v %x", m.tree[c.Path].Props, md5.Sum([]byte(m.tree[c.Path].Text)))
	}
	m.told = append(m.told, fmt.Sprintf("%d %s dir=%v copy=%v %s@%d %s", c.Action, c.Path, c.Dir, c.Copied, c.CopyPath, c.CopyRev, text))
	return nil
}

func (m *model) remove(root string) {
	for p := range m.tree {
		if p == root || root == "" || strings.HasPrefix(p, root+"/") {
			delete(m.tree, p)
		}
	}
}

func (m *model) apply(c *origin.Change) error {
	n := m.tree[c.Path]
	if c.Action != origin.Modify {
		n = node{Dir: c.Dir}
	}
	if c.Copied {
		source := m.trees[c.CopyRev]
		from, ok := source[c.CopyPath]
		if !ok {
			return fmt.Errorf("the copy source %s@%d is not there", c.CopyPath, c.CopyRev)
		}
		n = from
		for p, child := range source {
			if below, ok := strings.CutPrefix("/"+p, path.Join("/", c.CopyPath)); ok && p != c.CopyPath && (c.CopyPath == "" || below[0] == '/') {
				m.tree[path.Join(c.Path, below)] = child
			}
		}
	}
	if n.Dir != c.Dir {
		return fmt.Errorf("dir is %v, not %v", n.Dir, c.Dir)
	}
	n.Props = maps.Clone(n.Props)
	if n.Props == nil || c.FullProps {
		n.Props = map[string]string{}
	}
	for _, p := range c.Props {
		if p.Value == nil {
			delete(n.Props, p.Name)
		} else {
			n.Props[p.Name] = string(p.Value)
		}
	}
	if c.Text != nil {
		var err error
		if n.Text, err = newText(c, n.Text); err != nil {
			return err
		}
	}
	if sum := md5.Sum([]byte(n.Text)); c.MD5 != nil && !bytes.Equal(c.MD5, sum[:]) {
		return origin.ErrCorrupt
	}
	if sum := sha1.Sum([]byte(n.Text)); c.SHA1 != nil && !bytes.Equal(c.SHA1, sum[:]) {
		return origin.ErrCorrupt
	}
	m.tree[c.Path] = n
	return nil
}

func newText(c *origin.Change, base string) (string, error) {
	r, err := c.Text.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	var out bytes.Buffer
	if !c.Text.Delta() {
		_, err = io.Copy(&out, r)
		return out.String(), err
	}
	if sum := md5.Sum([]byte(base)); c.Text.BaseMD5() != nil && !bytes.Equal(c.Text.BaseMD5(), sum[:]) {
		return "", fmt.Errorf("the base is %x, not %x", sum, c.Text.BaseMD5())
	}
	_, err = delta.NewSVNDiff(r).ApplyTo(&out, strings.NewReader(base))
	return out.String(), err
}

// replay reads all of a source into a model.
func replay(t *testing.T, src origin.PathSource) *model {
	t.Helper()
	m := newModel()
	if err := src.Replay(context.Background(), 1, src.Info().Head, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// judge compares every revision of a model with what Subversion's own tools say of a path of the repository.
func judge(t *testing.T, r *svnfixture.Repo, path string, m *model) {
	t.Helper()
	for rev := r.Head(t); rev > 0; rev-- {
		got, ok := m.trees[rev]
		if !ok {
			t.Fatalf("r%d did not come", rev)
		}
		if diff := cmp.Diff(subversionTree(t, r, path, rev), got); diff != "" {
			t.Fatalf("r%d differs (-svn +read):\n%s", rev, diff)
		}
	}
}

// subversionTree is a tree as svn export and svn proplist show it.
func subversionTree(t *testing.T, r *svnfixture.Repo, path string, rev int64) map[string]node {
	t.Helper()
	tree := map[string]node{}
	root := r.Export(t, path, rev)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		if rel == "." {
			rel = ""
		}
		n := node{Dir: d.IsDir(), Props: map[string]string{}}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			n.Text = "link " + target
			if err != nil {
				return err
			}
		case !d.IsDir():
			text, err := os.ReadFile(name)
			n.Text = string(text)
			if err != nil {
				return err
			}
		}
		tree[rel] = n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("svn", "proplist", "--xml", "--verbose", "--recursive", "--config-dir", t.TempDir(), r.At(path, rev)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Targets []struct {
			Path  string `xml:"path,attr"`
			Props []struct {
				Name     string `xml:"name,attr"`
				Encoding string `xml:"encoding,attr"`
				Value    string `xml:",chardata"`
			} `xml:"property"`
		} `xml:"target"`
	}
	if err := xml.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	base, _, _ := strings.Cut(r.At(path, rev), "@")
	for _, target := range list.Targets {
		rel := strings.TrimPrefix(strings.TrimPrefix(unescape(t, target.Path), unescape(t, base)), "/")
		n, ok := tree[rel]
		if !ok {
			t.Fatalf("svn has properties of %s, which is not there", target.Path)
		}
		for _, p := range target.Props {
			if p.Encoding == "base64" {
				value, err := base64.StdEncoding.DecodeString(p.Value)
				if err != nil {
					t.Fatal(err)
				}
				p.Value = string(value)
			}
			n.Props[p.Name] = p.Value
		}
	}
	return tree
}
