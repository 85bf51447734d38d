package repos_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gantry"
	"gantry/internal/repos"
)

// commit makes a commit in a bare repository and points refs at it.
func (b *bundle) commit(dir string, refs ...string) {
	b.Helper()
	run := func(stdin string, args ...string) string {
		cmd := exec.Command("git", append([]string{"--git-dir", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		cmd.Stdin = strings.NewReader(stdin)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			b.Fatal(args, err)
		}
		return strings.TrimSpace(out.String())
	}
	blob := run(strings.Repeat(dir, 100)+strings.Join(refs, " "), "hash-object", "-w", "--stdin")
	tree := run("100644 blob "+blob+"\tfile\n", "mktree")
	id := run("", "commit-tree", tree, "-m", "message")
	for _, ref := range refs {
		run("", "update-ref", ref, id)
	}
}

// push opens a repository, commits to refs and closes it; the result is the record after it.
func (b *bundle) push(v *repos.View, refs ...string) gantry.Repository {
	b.Helper()
	w, err := b.OpenWrite(b.Context(), &v.Repository)
	if err != nil {
		b.Fatal(err)
	}
	if len(refs) > 0 {
		b.commit(w.Dir, refs...)
	}
	if err := w.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	after, err := b.GetByID(b.Context(), byPassword(b.admin), v.Repository.ID)
	if err != nil {
		b.Fatal(err)
	}
	return after.Repository
}

func (b *bundle) head(v *repos.View) string {
	b.Helper()
	dir, release, err := b.OpenRead(b.Context(), &v.Repository)
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	head, err := b.git.Head(dir)
	if err != nil {
		b.Fatal(err)
	}
	return head
}

// A push is recorded when refs have moved, and the default branch is one that exists.
func TestPush(t *testing.T) {
	each(t, func(b *bundle) {
		v := b.create(b.ada, "engine", true)
		if empty, err := b.IsEmpty(b.Context(), &v.Repository); err != nil || !empty {
			b.Errorf("new: empty %v, %v", empty, err)
		}
		if head := b.head(v); head != "refs/heads/main" {
			b.Errorf("HEAD of a new repository is %s", head)
		}
		if r := b.push(v); !r.PushedAt.IsZero() || r != v.Repository {
			b.Errorf("nothing pushed: %+v", r)
		}
		r := b.push(v, "refs/heads/trunk", "refs/heads/zero")
		if !r.PushedAt.Equal(now) || r.Size == 0 || r.DefaultBranch != "trunk" || b.head(v) != "refs/heads/trunk" {
			b.Errorf("first push: %+v, HEAD %s", r, b.head(v))
		}
		if r := b.push(v, "refs/heads/main"); r.DefaultBranch != "trunk" {
			b.Errorf("a new branch took the place of the default one: %+v", r)
		}
		if empty, err := b.IsEmpty(b.Context(), &v.Repository); err != nil || empty {
			b.Errorf("pushed: empty %v, %v", empty, err)
		}
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(b *bundle) {
		ada := byPassword(b.ada)
		v := b.create(b.ada, "engine", true)
		b.create(b.ada, "other", false)
		name, description, public, dev := "Engine-2", "new", false, "dev"
		v, err := b.Update(b.Context(), ada, v, repos.Update{Name: &name, Description: &description, Private: &public, DefaultBranch: &dev})
		if err != nil {
			b.Fatal(err)
		}
		if r := v.Repository; r.Name != name || r.Description != description || r.Private || r.DefaultBranch != dev || b.head(v) != "refs/heads/dev" {
			b.Errorf("updated: %+v, HEAD %s", r, b.head(v))
		}
		b.push(v, "refs/heads/dev", "refs/heads/main")
		main, missing, bad, taken := "main", "missing", "a..b", "OTHER"
		if v, err = b.Update(b.Context(), ada, v, repos.Update{DefaultBranch: &main}); err != nil || b.head(v) != "refs/heads/main" {
			b.Errorf("default branch: %v, HEAD %s", err, b.head(v))
		}
		for what, in := range map[string]repos.Update{"missing branch": {DefaultBranch: &missing}, "bad branch": {DefaultBranch: &bad}} {
			_, err = b.Update(b.Context(), ada, v, in)
			b.kind(what, err, gantry.Invalid, "default_branch")
		}
		_, err = b.Update(b.Context(), ada, v, repos.Update{Name: &taken})
		b.kind("taken name", err, gantry.Conflict, "name")
		_, err = b.Update(b.Context(), ada, v, repos.Update{Name: &bad, DefaultBranch: &dev})
		if err != nil { // a..b is a name, though no branch
			b.Error(err)
		}
		reader, err := b.GetByID(b.Context(), byPassword(b.bob), v.Repository.ID)
		if err != nil {
			b.Fatal(err)
		}
		_, err = b.Update(b.Context(), byPassword(b.bob), reader, repos.Update{Name: &taken})
		b.kind("by a reader", err, gantry.Forbidden)
		b.kind("removal by a reader", b.Delete(b.Context(), byPassword(b.bob), reader), gantry.Forbidden)
	})
}

// After Delete nothing is left, and those who still hold the record cannot bring it back.
func TestDelete(t *testing.T) {
	each(t, func(b *bundle) {
		v := b.create(b.ada, "engine", false)
		b.push(v, "refs/heads/main")
		if err := b.Delete(b.Context(), byPassword(b.ada), v); err != nil {
			b.Fatal(err)
		}
		_, err := b.Get(b.Context(), byPassword(b.ada), "ada", "engine")
		b.kind("deleted", err, gantry.NotFound)
		_, err = b.OpenWrite(b.Context(), &v.Repository)
		b.kind("open for writing", err, gantry.NotFound)
		_, _, err = b.OpenRead(b.Context(), &v.Repository)
		b.kind("open for reading", err, gantry.NotFound)
		left, err := filepath.Glob(filepath.Join(b.root, "*", "*", "*"))
		if err != nil || len(left) > 0 {
			b.Errorf("left behind: %v, %v", left, err)
		}
		b.create(b.ada, "engine", false)
	})
}

// One writer at a time has a repository open, whichever service of whichever process it came from; another repository is not held up.
func TestOneWriter(t *testing.T) {
	each(t, func(b *bundle) {
		v, other := b.create(b.ada, "engine", false), b.create(b.ada, "other", false)
		second := repos.New(b.db, b.git, b.root, func() time.Time { return now })
		var open, turns atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			service := b.Service
			if i%2 == 1 {
				service = second
			}
			wg.Go(func() {
				w, err := service.OpenWrite(b.Context(), &v.Repository)
				if err != nil {
					b.Error(err)
					return
				}
				if open.Add(1) != 1 {
					b.Error("two writers at once")
				}
				time.Sleep(5 * time.Millisecond)
				open.Add(-1)
				turns.Add(1)
				if err := w.Close(b.Context()); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		w, err := b.OpenWrite(b.Context(), &v.Repository)
		if err != nil {
			b.Fatal(err)
		}
		impatient, cancel := context.WithTimeout(b.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := second.OpenWrite(impatient, &v.Repository); !errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("opened while another writer has it: %v", err)
		}
		b.push(other, "refs/heads/main")
		if err := w.Close(b.Context()); err != nil {
			b.Error(err)
		}
		if turns.Load() != 8 {
			b.Errorf("%d of 8 writers had their turn", turns.Load())
		}
	})
}

// A lock that was taken on a file that Delete then removed keeps nobody out, so it must not be given.
func TestDeleteAndWrite(t *testing.T) {
	each(t, func(b *bundle) {
		for range 10 {
			v := b.create(b.ada, "engine", false)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					w, err := b.OpenWrite(b.Context(), &v.Repository)
					switch {
					case err == nil:
						err = w.Close(b.Context())
						if err != nil {
							b.Error(err)
						}
					case gantry.KindOf(err) != gantry.NotFound:
						b.Error(err)
					}
				})
			}
			if err := b.Delete(b.Context(), byPassword(b.ada), v); err != nil {
				b.Error(err)
			}
			wg.Wait()
		}
		left, err := filepath.Glob(filepath.Join(b.root, "*", "*", "*"))
		if err != nil || len(left) > 0 {
			b.Errorf("left behind: %v, %v", left, err)
		}
	})
}
