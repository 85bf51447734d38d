package git_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/gantrytest/gitfixture"
	"gantry/internal/gitdir"
	"gantry/internal/origin/git"
	"gantry/internal/pack"
)

func sample(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(gitfixture.Repository(t, "sample.git"), "sample.git")
	for _, ref := range []string{"refs/notes/commits", "refs/pull/1/head"} { // a fetch does not bring these
		gitfixture.Git(t, dir, "update-ref", "-d", ref)
	}
	return dir
}

func TestAuthors(t *testing.T) {
	t.Parallel()
	var got []git.Identity
	err := git.Authors(t.Context(), newGit(t), sample(t), func(id git.Identity) error {
		got = append(got, id)
		return nil
	})
	want := []git.Identity{
		{Email: "ada@example.org", Name: "Ada Lovelace"},
		{Email: "grace@example.org", Name: "Grace Hopper"},
		{Email: "koichi@example.org", Name: "Kōichi 工"},
		{Email: "root@build-7.(none)", Name: "root"},
		{Email: "", Name: "ci-bot"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// A rewrite that changes nothing keeps every id and writes nothing.
func TestRewriteNothing(t *testing.T) {
	t.Parallel()
	g, dir := newGit(t), sample(t)
	before, err := g.Refs(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	objects := gitfixture.Git(t, dir, "count-objects", "-v")
	result, err := git.Rewrite(t.Context(), g, dir, func(id git.Identity) (git.Identity, bool) { return id, true })
	if err != nil || len(result.Commits) != 0 || !slices.Equal(result.Refs, before) {
		t.Errorf("%+v, %v", result, err)
	}
	if now := gitfixture.Git(t, dir, "count-objects", "-v"); now != objects {
		t.Errorf("objects: %s", now)
	}
}

// Git's own rewriting (filter-branch) is the judge: the same mapping gives the same ids.
func TestRewriteAsGitDoes(t *testing.T) {
	t.Parallel()
	g, dir := newGit(t), sample(t)
	result, err := git.Rewrite(t.Context(), g, dir, func(id git.Identity) (git.Identity, bool) {
		if id.Email != "koichi@example.org" {
			return git.Identity{}, false
		}
		return git.Identity{Email: "k@new.example", Name: "Kōichi Étoile"}, true
	})
	if err != nil {
		t.Fatal(err)
	}
	// What does not descend from the mapped author's commit keeps its id.
	release := gitfixture.Git(t, dir, "rev-parse", "release/1.0")
	if len(result.Commits) != 5 {
		t.Errorf("%d commits changed", len(result.Commits))
	}
	copied := t.TempDir()
	gitfixture.Git(t, "", "clone", "--quiet", "--mirror", dir, filepath.Join(copied, ".git"))
	gitfixture.Git(t, copied, "config", "core.bare", "false")
	gitfixture.Git(t, copied, "reset", "--quiet", "--hard")
	filter := exec.Command("git", "filter-branch", "--force", "--tag-name-filter", "cat", "--env-filter",
		`if [ "$GIT_AUTHOR_EMAIL" = koichi@example.org ]; then GIT_AUTHOR_EMAIL=k@new.example; GIT_AUTHOR_NAME="Kōichi Étoile"; fi`, "--", "--all")
	filter.Dir = copied
	filter.Env = append(os.Environ(), "FILTER_BRANCH_SQUELCH_WARNING=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@x")
	if out, err := filter.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, ref := range result.Refs {
		if ref.Name == "refs/heads/release/1.0" && ref.ID.String() != release {
			t.Errorf("%s moved", ref.Name)
		}
		if want := gitfixture.Git(t, copied, "rev-parse", ref.Name); ref.ID.String() != want {
			t.Errorf("%s is %s, git makes it %s", ref.Name, ref.ID, want)
		}
	}
	push(t, g, dir, result.Refs)
}

// push sends refs to a new repository, as an import does, and returns that.
func push(t *testing.T, g *gitdir.Git, dir string, refs []gitdir.Ref) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "target.git")
	if err := g.Init(t.Context(), target, "main"); err != nil {
		t.Fatal(err)
	}
	var updates []gitdir.RefUpdate
	var tips []pack.ID
	for _, ref := range refs {
		updates = append(updates, gitdir.RefUpdate{Name: ref.Name, New: ref.ID})
		tips = append(tips, ref.ID)
	}
	var done, total int64
	writer := git.PackWriter(g, dir, tips, []pack.ID{{1, 2, 3}}, func(d, n int64) { done, total = d, n })
	if err := g.Push(t.Context(), target, updates, writer); err != nil {
		t.Fatal(err)
	}
	if done == 0 || done != total {
		t.Errorf("progress %d of %d", done, total)
	}
	gitfixture.Git(t, target, "fsck", "--strict")
	return target
}

// Signatures go where they would be wrong, and only there; tags of tags follow; the encoding of a commit is kept.
func TestRewriteOddities(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	dir := filepath.Join(t.TempDir(), "odd.git")
	gitfixture.Git(t, "", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	tree := gitfixture.Git(t, dir, "hash-object", "-w", "-t", "tree", "/dev/null")
	write := func(kind, text string) string {
		file := filepath.Join(t.TempDir(), "object")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return gitfixture.Git(t, dir, "hash-object", "-w", "-t", kind, file)
	}
	const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n"
	kept := write("commit", "tree "+tree+"\nauthor Keep <keep@x> 1 +0000\ncommitter Keep <keep@x> 1 +0000\n"+signature+"\nfirst\n")
	mapped := write("commit", "tree "+tree+"\nparent "+kept+"\nauthor M\xfcller <m@x> 2 +0000\ncommitter M\xfcller <m@x> 2 +0000\nencoding ISO-8859-1\n"+signature+"\nz\xe4hlen\n\ngpgsig is no header here\n")
	child := write("commit", "tree "+tree+"\nparent "+mapped+"\nauthor Keep <keep@x> 3 +0000\ncommitter Keep <keep@x> 3 +0000\nmergetag object "+kept+"\n type commit\n tag t\n\nlast, without a line end")
	inner := write("tag", "object "+child+"\ntype commit\ntag inner\ntagger Keep <keep@x> 4 +0000\n\ninner\n-----BEGIN PGP SIGNATURE-----\nabc\n-----END PGP SIGNATURE-----\n")
	outer := write("tag", "object "+inner+"\ntype tag\ntag outer\ntagger Keep <keep@x> 5 +0000\n\nouter\n")
	still := write("tag", "object "+kept+"\ntype commit\ntag still\ntagger Keep <keep@x> 6 +0000\n\nstill\n-----BEGIN PGP SIGNATURE-----\nabc\n-----END PGP SIGNATURE-----\n")
	for ref, id := range map[string]string{"refs/heads/main": child, "refs/tags/outer": outer, "refs/tags/inner": inner, "refs/tags/still": still} {
		gitfixture.Git(t, dir, "update-ref", ref, id)
	}
	result, err := git.Rewrite(t.Context(), g, dir, func(id git.Identity) (git.Identity, bool) {
		return git.Identity{Email: "m@new", Name: "Möller"}, id.Email == "m@x"
	})
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]string{}
	for _, ref := range result.Refs {
		now[ref.Name] = ref.ID.String()
	}
	cat := func(id string) string { return gitfixture.Git(t, dir, "cat-file", "-p", id) }
	if result.Signatures != 2 || len(result.Commits) != 2 || now["refs/tags/still"] != still {
		t.Errorf("%+v", result)
	}
	id, err := pack.ParseID(mapped)
	if err != nil {
		t.Fatal(err)
	}
	want := "tree " + tree + "\nparent " + kept + "\nauthor M\xf6ller <m@new> 2 +0000\ncommitter M\xf6ller <m@new> 2 +0000\nencoding ISO-8859-1\n\nz\xe4hlen\n\ngpgsig is no header here"
	if got := cat(result.Commits[id].String()); got != want {
		t.Errorf("%q", got)
	}
	if got := cat(now["refs/heads/main"]); !strings.Contains(got, "mergetag object "+kept) || !strings.HasSuffix(got, "without a line end") {
		t.Errorf("%q", got)
	}
	if got := cat(now["refs/tags/inner"]); strings.Contains(got, "SIGNATURE") || !strings.Contains(got, "object "+now["refs/heads/main"]) {
		t.Errorf("%q", got)
	}
	if got := cat(now["refs/tags/outer"]); !strings.Contains(got, "object "+now["refs/tags/inner"]) {
		t.Errorf("%q", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "rewrite-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	_, err = git.Rewrite(t.Context(), g, dir, func(git.Identity) (git.Identity, bool) { return git.Identity{Name: "a\nparent x"}, true })
	if gantry.KindOf(err) != gantry.Invalid {
		t.Errorf("an identity that forges a header: %v", err)
	}
}

func TestLargeFiles(t *testing.T) {
	t.Parallel()
	g, dir := newGit(t), sample(t)
	files, err := git.LargeFiles(t.Context(), g, dir, 4999)
	if err != nil || len(files) != 1 || files[0].Path != "big.bin" || files[0].Ref != "refs/heads/main" || files[0].Size != 5000 {
		t.Errorf("%+v, %v", files, err)
	}
	if files, err := git.LargeFiles(t.Context(), g, dir, 5000); err != nil || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}
	all, err := git.LargeFiles(t.Context(), g, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]string{}
	for _, f := range all {
		refs[f.Path] = f.Ref
	}
	// main has taken everything in but the release's own change, which the merge holds too.
	if refs["ünï/cödé.txt"] != "refs/heads/main" || refs["index.html"] != "refs/heads/main" || refs[""] != "" {
		t.Errorf("%v", refs)
	}
}

func TestBundleFaults(t *testing.T) {
	t.Parallel()
	dir := sample(t)
	file := func(data string) string {
		name := filepath.Join(t.TempDir(), "bundle")
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	thin := filepath.Join(t.TempDir(), "thin")
	gitfixture.Git(t, dir, "bundle", "create", "--quiet", thin, "main~1..main")
	whole := filepath.Join(t.TempDir(), "whole")
	gitfixture.Git(t, dir, "bundle", "create", "--quiet", whole, "--all")
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(data)
	damaged[len(damaged)-100] ^= 1
	for name, tt := range map[string]struct{ file, text string }{
		"no file":        {filepath.Join(t.TempDir(), "none"), "cannot be read"},
		"no bundle":      {file("PK\x03\x04"), "not a Git bundle"},
		"thin":           {thin, "not complete"},
		"cut off":        {file(string(data[:len(data)/2])), "checksum"},
		"damaged":        {file(string(damaged)), "checksum"},
		"head cut off":   {file("# v2 git bundle\n0123"), "checksum"},
		"filter":         {file("# v3 git bundle\n@filter=blob:none\n\n"), "filter"},
		"SHA-256":        {file("# v3 git bundle\n@object-format=sha256\n\n"), "sha256"},
		"names no good":  {file("# v2 git bundle\n0123456789012345678901234567890123456789 refs/heads/-x\n\n"), "hyphen"},
		"missing object": {file(strings.Replace(string(data), "refs/heads/main\n", "refs/heads/main\n0123456789012345678901234567890123456789 refs/heads/x\n", 1)), "missing object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := options(t, "https://unused.example/")
			_, err := git.FetchBundle(t.Context(), tt.file, opt)
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Error(err)
			}
			if _, err := os.Stat(opt.Dir); err == nil {
				t.Error("the repository is left behind")
			}
		})
	}
}

// Branches that git would take for something else are left out and reported; the rest comes.
func TestFetchSkipsRefs(t *testing.T) {
	t.Parallel()
	root := gitfixture.Repository(t, "sample.git")
	dir := filepath.Join(root, "sample.git")
	main := gitfixture.Git(t, dir, "rev-parse", "main")
	odd := []string{"refs/heads/0123456789012345678901234567890123456789", "refs/heads/HEAD", "refs/tags/-v1"}
	for _, name := range odd {
		gitfixture.Git(t, dir, "update-ref", name, main)
	}
	gitfixture.Git(t, dir, "symbolic-ref", "HEAD", "refs/heads/gone")
	opt := options(t, gitfixture.ServeHTTP(t, root, "", "")+"/sample.git")
	result, err := git.Fetch(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, s := range result.Skipped {
		skipped = append(skipped, s.Name)
	}
	if !slices.Equal(skipped, odd) || len(result.Refs) != gitfixture.Branches+gitfixture.Tags || result.Head != "refs/heads/main" {
		t.Errorf("%+v", result)
	}
}

func TestFetchEmpty(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gitfixture.Git(t, "", "init", "--quiet", "--bare", filepath.Join(root, "empty.git"))
	opt := options(t, gitfixture.ServeHTTP(t, root, "", "")+"/empty.git")
	result, err := git.Fetch(t.Context(), opt)
	if err != nil || len(result.Refs) != 0 || result.Head != "" || result.Commits != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// A fetch ends with its context, and takes everything along.
func TestFetchCancelled(t *testing.T) {
	t.Parallel()
	root := gitfixture.Repository(t, "sample.git")
	opt := options(t, gitfixture.ServeHTTP(t, root, "", "")+"/sample.git")
	ctx, cancel := context.WithCancel(t.Context())
	opt.Progress = func(git.Progress) { cancel() }
	if _, err := git.Fetch(ctx, opt); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(opt.Dir); err == nil {
		t.Error("the repository is left behind")
	}
}
