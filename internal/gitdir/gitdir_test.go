package gitdir_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gantry"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gitdir"
	"gantry/internal/pack"
)

func newGit(t *testing.T) *gitdir.Git {
	t.Helper()
	g, err := gitdir.New(gitdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sample returns the scripted repository, its refs, and a writer of a pack of all its objects.
func sample(t *testing.T, g *gitdir.Git) (dir string, refs map[string]pack.ID, writePack func(context.Context, io.Writer) error) {
	t.Helper()
	dir = filepath.Join(gitfixture.Repository(t, "sample.git"), "sample.git")
	list, err := g.Refs(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	refs = make(map[string]pack.ID)
	for _, r := range list {
		refs[r.Name] = r.ID
	}
	return dir, refs, func(ctx context.Context, w io.Writer) error {
		cmd := g.Command(ctx, dir, "pack-objects", "--all", "--revs", "--stdout", "--quiet")
		cmd.Stdin, cmd.Stdout = strings.NewReader(""), w
		return gitdir.Run(cmd)
	}
}

func TestNewNeedsGit(t *testing.T) {
	t.Parallel()
	_, err := gitdir.New(gitdir.Options{GitPath: filepath.Join(t.TempDir(), "git")})
	if gantry.KindOf(err) != gantry.Unavailable || !strings.Contains(gantry.Message(err), "install git") {
		t.Errorf("%v", err)
	}
	old := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho git version 2.11.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := gitdir.New(gitdir.Options{GitPath: old}); !strings.Contains(gantry.Message(err), "is git 2.11.0") {
		t.Errorf("%v", err)
	}
}

// Nothing of the machine's or the user's configuration, and no hook of a repository, has a say.
func TestCommandIsIsolated(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = From home\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'user.name=From environment'")
	g := newGit(t)
	out, err := g.Output(t.Context(), "", "config", "--get-all", "user.name")
	if err == nil {
		t.Errorf("user.name is %q", out)
	}
	_, refs, writePack := sample(t, g)
	dir := filepath.Join(t.TempDir(), "r.git")
	if err := g.Init(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	witness := filepath.Join(t.TempDir(), "hook-ran")
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hooks", "pre-receive"), []byte("#!/bin/sh\ntouch "+witness+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	err = g.Push(t.Context(), dir, []gitdir.RefUpdate{{Name: "refs/heads/main", New: refs["refs/heads/main"]}}, writePack)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(witness); err == nil {
		t.Error("a hook of the repository ran")
	}
}

// The end of a context takes git's children along.
func TestCommandKillsTheGroup(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	cmd := g.Command(ctx, "", "-c", "alias.wait=!echo $$ >"+pidFile+"; sleep 60; true", "wait")
	began := time.Now()
	if err := gitdir.Run(cmd); err == nil {
		t.Fatal("no error")
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		state, err := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(pid))).Output()
		if err != nil || strings.HasPrefix(string(state), "Z") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the child still runs")
}

func TestPush(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	_, refs, writePack := sample(t, g)
	main, release := refs["refs/heads/main"], refs["refs/heads/release/1.0"]
	noPack := func(context.Context, io.Writer) error { return errors.New("a pack was asked for") }

	dir := filepath.Join(t.TempDir(), "r.git")
	if err := g.Init(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	var all []gitdir.RefUpdate
	for name, id := range refs {
		all = append(all, gitdir.RefUpdate{Name: name, New: id})
	}
	all = append(all, gitdir.RefUpdate{Name: "refs/archive/r7-gone", New: release})
	if err := g.Push(t.Context(), dir, all, writePack); err != nil {
		t.Fatal(err)
	}
	got, err := g.Refs(t.Context(), dir)
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d refs, %v", len(got), err)
	}
	gitfixture.Git(t, dir, "fsck", "--strict")

	tests := []struct {
		name    string
		updates []gitdir.RefUpdate
		pack    func(context.Context, io.Writer) error
		kind    gantry.Kind
		text    string
	}{
		{"nothing", nil, noPack, 0, ""},
		{"delete", []gitdir.RefUpdate{{Name: "refs/archive/r7-gone", Old: release}}, noPack, 0, ""},
		{"stale old", []gitdir.RefUpdate{{Name: "refs/heads/orphan", Old: main, New: release}}, writePack, gantry.Conflict, "refs/heads/orphan"},
		{"exists", []gitdir.RefUpdate{{Name: "refs/heads/orphan", New: release}}, writePack, gantry.Conflict, "refs/heads/orphan"},
		{"delete of what has moved", []gitdir.RefUpdate{{Name: "refs/heads/orphan", Old: main}}, noPack, gantry.Conflict, "refs/heads/orphan"},
		{
			"one stale of two moves none",
			[]gitdir.RefUpdate{{Name: "refs/heads/new", New: main}, {Name: "refs/heads/orphan", Old: main, New: release}},
			writePack, gantry.Conflict, "refs/heads/orphan",
		},
		{"in the way", []gitdir.RefUpdate{{Name: "refs/heads/main/below", New: main}}, writePack, gantry.Conflict, "refs/heads/main/below"},
		{"bad name", []gitdir.RefUpdate{{Name: "refs/heads/-x", New: main}}, writePack, gantry.Invalid, "hyphen"},
		{"missing object", []gitdir.RefUpdate{{Name: "refs/heads/new", New: pack.ID{1, 2, 3}}}, writePack, gantry.Internal, "bad object 010203"},
		{
			"pack cut off",
			[]gitdir.RefUpdate{{Name: "refs/heads/new", New: main}},
			func(ctx context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "PACK\x00\x00\x00\x02\x00\x00\x00\x09")
				return err
			},
			gantry.Internal, "receive-pack",
		},
		{
			"writer fails",
			[]gitdir.RefUpdate{{Name: "refs/heads/new", New: main}},
			func(context.Context, io.Writer) error { return errors.New("disk on fire") },
			gantry.Internal, "disk on fire",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := gitfixture.Git(t, dir, "for-each-ref")
			err := g.Push(t.Context(), dir, tt.updates, tt.pack)
			if tt.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || gantry.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("kind %v: %v", gantry.KindOf(err), err)
			}
			if after := gitfixture.Git(t, dir, "for-each-ref"); after != before {
				t.Errorf("refs changed: %s", after)
			}
		})
	}
}

// A writer that is cancelled in the middle leaves nothing, and Push returns at once.
func TestPushCancelled(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	_, refs, _ := sample(t, g)
	dir := filepath.Join(t.TempDir(), "r.git")
	if err := g.Init(t.Context(), dir, "main"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := g.Push(ctx, dir, []gitdir.RefUpdate{{Name: "refs/heads/main", New: refs["refs/heads/main"]}}, func(ctx context.Context, w io.Writer) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Old histories may have odd dates and identities; trees that would harm a checkout are refused.
func TestPushChecksObjects(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	const blobs = "blob\nmark :1\ndata 2\nx\n\n"
	commit := func(t *testing.T, author, entry string) (source string, id pack.ID) {
		source = filepath.Join(t.TempDir(), "s.git")
		gitfixture.Fill(t, source, []byte(blobs))
		blob := hashObject(t, source, "blob", "x\n")
		raw, err := pack.ParseID(blob)
		if err != nil {
			t.Fatal(err)
		}
		tree := hashObject(t, source, "tree", entry+"\x00"+string(raw[:]))
		hex := hashObject(t, source, "commit", "tree "+tree+"\nauthor "+author+"\ncommitter A <a@b> 1 +0000\n\nm\n")
		id, err = pack.ParseID(hex)
		if err != nil {
			t.Fatal(err)
		}
		return source, id
	}
	tests := []struct {
		name, author, entry string
		check               string // "" when it may pass
	}{
		{"time zone", "A <a@b> 1 +051800", "100644 f", ""},
		{"e-mail", "A <a@<b> 1 +0000", "100644 f", ""},
		{"no space before the date", "A <a@b>1 +0000", "100644 f", ""},
		{"no name", "<a@b> 1 +0000", "100644 f", ""},
		{"zero-padded mode", "A <a@b> 1 +0000", "0100644 f", ""},
		{".git", "A <a@b> 1 +0000", "100644 .git", "hasDotgit"},
		{"..", "A <a@b> 1 +0000", "100644 ..", "hasDotdot"},
		{".git as NTFS sees it", "A <a@b> 1 +0000", "100644 git~1", "hasDotgit"},
		{"slash", "A <a@b> 1 +0000", "100644 a/b", "fullPathname"},
		{"symbolic .gitmodules", "A <a@b> 1 +0000", "120000 .gitmodules", "gitmodulesSymlink"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source, id := commit(t, tt.author, tt.entry)
			dir := filepath.Join(t.TempDir(), "r.git")
			if err := g.Init(t.Context(), dir, "main"); err != nil {
				t.Fatal(err)
			}
			writePack := func(ctx context.Context, w io.Writer) error {
				cmd := g.Command(ctx, source, "pack-objects", "--revs", "--stdout", "--quiet")
				cmd.Stdin, cmd.Stdout = strings.NewReader(id.String()+"\n"), w
				return gitdir.Run(cmd)
			}
			push := g.Push(t.Context(), dir, []gitdir.RefUpdate{{Name: "refs/heads/main", New: id}}, writePack)
			install := g.Install(t.Context(), filepath.Join(t.TempDir(), "i.git"), gitdir.Installation{
				Refs: []gitdir.Ref{{Name: "refs/heads/main", ID: id}}, Head: "refs/heads/main", Pack: writePack,
			})
			for _, err := range []error{push, install} {
				switch {
				case tt.check == "" && err != nil:
					t.Error(err)
				case tt.check != "" && (gantry.KindOf(err) != gantry.Invalid || !strings.Contains(gantry.Message(err), tt.check)):
					t.Errorf("want %s, got %v", tt.check, err)
				}
			}
		})
	}
}

func hashObject(t *testing.T, dir, kind, data string) string {
	t.Helper()
	cmd := exec.Command("git", "hash-object", "-w", "--literally", "--stdin", "-t", kind)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestInstall(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	source, refs, writePack := sample(t, g)
	var list []gitdir.Ref
	for name, id := range refs {
		list = append(list, gitdir.Ref{Name: name, ID: id})
	}
	// An index as a conversion would supply it: git's own, of the same pack.
	gitfixture.Git(t, source, "repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(source, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	copyFile := func(name string) func(io.Writer) error {
		return func(w io.Writer) error {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		}
	}
	supplied := func(_ context.Context, w io.Writer) error { return copyFile(packs[0])(w) }
	index := copyFile(strings.TrimSuffix(packs[0], ".pack") + ".idx")

	want := gitfixture.Git(t, source, "for-each-ref")
	for name, in := range map[string]gitdir.Installation{
		"indexed by git":  {Refs: list, Head: "refs/heads/release/1.0", Pack: writePack},
		"index supplied":  {Refs: list, Head: "refs/heads/release/1.0", Pack: supplied, Index: index},
		"empty":           {Head: "refs/heads/release/1.0"},
		"empty directory": {Refs: list, Head: "refs/heads/release/1.0", Pack: writePack},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := filepath.Join(parent, "r.git")
			if name == "empty directory" {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.Install(t.Context(), dir, in); err != nil {
				t.Fatal(err)
			}
			if got := gitfixture.Git(t, dir, "for-each-ref"); got != want && in.Pack != nil {
				t.Errorf("refs:\n%s", got)
			}
			if head, err := g.Head(dir); head != "refs/heads/release/1.0" || err != nil {
				t.Errorf("HEAD %q, %v", head, err)
			}
			gitfixture.Git(t, dir, "fsck", "--strict")
			if err := g.Maintain(t.Context(), dir); err != nil {
				t.Error(err)
			}
			gitfixture.Git(t, dir, "fsck", "--strict")
			if names, _ := filepath.Glob(filepath.Join(parent, ".*")); len(names) > 0 {
				t.Errorf("left behind: %q", names)
			}
		})
	}

	failing := map[string]struct {
		in   gitdir.Installation
		text string
	}{
		"writer fails":   {gitdir.Installation{Refs: list, Head: "refs/heads/main", Pack: func(context.Context, io.Writer) error { return errors.New("disk on fire") }}, "disk on fire"},
		"index fails":    {gitdir.Installation{Refs: list, Head: "refs/heads/main", Pack: supplied, Index: func(io.Writer) error { return errors.New("disk on fire") }}, "disk on fire"},
		"missing object": {gitdir.Installation{Refs: []gitdir.Ref{{Name: "refs/heads/x", ID: pack.ID{1}}}, Head: "refs/heads/main", Pack: writePack}, "missing object"},
		"in the way":     {gitdir.Installation{Refs: []gitdir.Ref{{Name: "refs/heads/x"}, {Name: "refs/heads/x-y"}, {Name: "refs/heads/x/y/z"}}, Head: "refs/heads/main"}, "cannot both exist"},
		"twice":          {gitdir.Installation{Refs: []gitdir.Ref{{Name: "refs/heads/x"}, {Name: "refs/heads/x"}}, Head: "refs/heads/main"}, "twice"},
		"odd head":       {gitdir.Installation{Head: "refs/tags/x"}, "not a branch"},
	}
	for name, tt := range failing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			err := g.Install(t.Context(), filepath.Join(parent, "r.git"), tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Error(err)
			}
			if names, _ := os.ReadDir(parent); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
	t.Run("occupied", func(t *testing.T) {
		t.Parallel()
		err := g.Install(t.Context(), source, gitdir.Installation{Refs: list, Head: "refs/heads/main", Pack: writePack})
		if gantry.KindOf(err) != gantry.Conflict {
			t.Error(err)
		}
	})
}

func TestServe(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	dir, refs, _ := sample(t, g)
	for protocol, want := range map[string]string{
		"": "HEAD\x00", "version=2": "000eversion 2\n", "agent=x:version=2": "000eversion 2\n", "version=2;touch x": "HEAD\x00", "version=7": "HEAD\x00",
	} {
		var out bytes.Buffer
		if err := g.Advertise(t.Context(), gitdir.UploadPack, dir, protocol, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q: %v: %.80q", protocol, err, out.String())
		}
	}
	var out bytes.Buffer
	if err := g.Advertise(t.Context(), gitdir.ReceivePack, dir, "", &out); err != nil || !strings.Contains(out.String(), "report-status") {
		t.Errorf("%v: %.80q", err, out.String())
	}
	out.Reset()
	request := "0011command=fetch0001000fno-progress0032want " + refs["refs/heads/orphan"].String() + "\n0009done\n0000"
	if err := g.Serve(t.Context(), gitdir.UploadPack, dir, "version=2", strings.NewReader(request), &out); err != nil || !strings.Contains(out.String(), "PACK") {
		t.Errorf("%v: %.80q", err, out.String())
	}
	// A client that says nothing more holds git no longer than its connection.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	stuck, end := io.Pipe()
	defer end.Close()
	if err := g.Serve(ctx, gitdir.UploadPack, dir, "version=2", stuck, io.Discard); err == nil {
		t.Error("no error")
	}
}

func TestCheckRefName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"refs/heads/main": true, "refs/heads/a/b": true, "refs/archive/r7/x": true, "refs/tags/ü": true, "refs/heads/HEAD/x": true,
		"refs/heads/it's": true, "refs/heads/@": true,
		"HEAD": false, "refs/x": false, "refs/heads/": false, "refs/heads//a": false, "refs/heads/a/": false, "refs/heads/.a": false, "refs/heads/a.lock": false,
		"refs/heads/a.lock/b": false, "refs/heads/a..b": false, "refs/heads/a@{b": false, "refs/heads/a b": false, "refs/heads/a\x7f": false, "refs/heads/a\n": false,
		"refs/heads/a~1": false, "refs/heads/a^": false, "refs/heads/a:b": false, "refs/heads/a?": false, "refs/heads/[": false, `refs/heads/a\b`: false,
		"refs/heads/a.": false, "refs/heads/-a": false, "refs/tags/-a": false, "refs/heads/HEAD": false,
		"refs/heads/0123456789012345678901234567890123456789": false,
		"refs/heads/" + strings.Repeat("a", 256):              false,
	} {
		if err := gitdir.CheckRefName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		// Git refuses nothing that is accepted here.
		if ok && exec.Command("git", "check-ref-format", name).Run() != nil {
			t.Errorf("git refuses %q", name)
		}
	}
}
