package history

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gantry/internal/origin"
	"gantry/internal/pack"
	"gantry/internal/revlog"
)

// story is a graph of changesets that a test tells: each is known by a word, and its node by the word's hash.
type story struct {
	t       *testing.T
	log     *Log
	store   *pack.Store
	numbers map[string]int64
	words   map[revlog.Node]string
	records []*Record
}

func newStory(t *testing.T) *story {
	t.Helper()
	dir := t.TempDir()
	log, err := OpenLog(dir, "w", nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := pack.OpenStore(dir, "w", nil, pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close(); store.Close() })
	return &story{t: t, log: log, store: store, numbers: map[string]int64{}, words: map[revlog.Node]string{}}
}

func nodeOf(word string) revlog.Node { return sha1.Sum([]byte(word)) }

// tell adds a changeset: its word, its parents' words, and what differs from a plain one on the branch default.
func (s *story) tell(word string, parents []string, change ...func(*Record)) {
	s.t.Helper()
	r := &Record{
		Number: int64(len(s.records) + 1), Author: []byte("Ann <ann@example.com>"), Time: time.Unix(1e9, 0).UTC(), Message: []byte(word),
		Root: EmptyNode, Changeset: &Changeset{Node: nodeOf(word)},
	}
	for _, p := range parents {
		r.Changeset.Parents = append(r.Changeset.Parents, s.numbers[p])
	}
	for _, c := range change {
		c(r)
	}
	s.numbers[word], s.words[r.Changeset.Node] = r.Number, word
	s.records = append(s.records, r)
	if err := s.log.Append(r); err != nil {
		s.t.Fatal(err)
	}
}

func extra(name, value string) func(*Record) {
	return func(r *Record) {
		r.Changeset.Extras = append(r.Changeset.Extras, origin.Prop{Name: name, Value: []byte(value)})
	}
}

func on(branch string) func(*Record) { return extra("branch", branch) }

func closing() func(*Record) { return extra("close", "1") }

// file puts a file at the root, in place of all others.
func (s *story) file(name, content string) func(*Record) {
	return func(r *Record) {
		blob, err := s.store.Put(pack.Blob, []byte(content))
		if err != nil {
			s.t.Fatal(err)
		}
		if r.Root.Tree, err = s.store.Put(pack.Tree, pack.AppendTreeEntry(nil, pack.ModeFile, name, blob)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// mapping maps what was told. Heads are all that have no children, unless some are named.
func (s *story) mapping(bookmarks map[string]string, change ...func(*GraphOptions)) (*Mapping, map[pack.ID][]string) {
	s.t.Helper()
	words := map[pack.ID][]string{}
	opt := GraphOptions{
		Identity: func(a Author) Identity { return a.Default }, DefaultBranch: "main", Bookmarks: map[string]revlog.Node{},
		Commit: func(c Commit) error {
			words[c.ID] = append(words[c.ID], s.words[c.Node])
			return nil
		},
	}
	for name, word := range bookmarks {
		opt.Bookmarks[name] = nodeOf(word)
	}
	parents := map[int64]bool{}
	for _, r := range s.records {
		for _, p := range r.Changeset.Parents {
			parents[p] = true
		}
	}
	for _, r := range s.records {
		if !parents[r.Number] {
			opt.Heads = append(opt.Heads, r.Changeset.Node)
		}
	}
	for _, c := range change {
		c(&opt)
	}
	m, err := MapGraph(s.t.Context(), s.log, s.store, opt)
	if err != nil {
		s.t.Fatal(err)
	}
	return m, words
}

// refs lists what refs lead to, HEAD first.
func refs(m *Mapping, words map[pack.ID][]string) string {
	lines := []string{"HEAD " + m.Head}
	for _, r := range m.Refs {
		lines = append(lines, r.Name+" "+strings.Join(words[r.ID], "="))
	}
	return strings.Join(lines, "\n") + "\n"
}

func short(word string) string { return nodeOf(word).String()[:12] }

func TestGraphRefs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		tell      func(*story)
		bookmarks map[string]string
		want      string
		renames   []Rename
	}{
		{
			name: "nothing",
			tell: func(*story) {},
			want: "HEAD refs/heads/main\n",
		},
		{
			name: "a branch that was merged stays; the merged head of default has no name of its own",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("x", []string{"a"}, on("side"))
				s.tell("b", []string{"a"})
				s.tell("m", []string{"b", "x"})
			},
			want: "HEAD refs/heads/main\nrefs/heads/main m\nrefs/heads/side x\n",
		},
		{
			name: "several heads, of which the newest has the name",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("b", []string{"a"})
				s.tell("c", []string{"a"})
				s.tell("x", []string{"a"}, on("side"))
				s.tell("y", []string{"a"}, on("side"))
			},
			want: "HEAD refs/heads/main\nrefs/heads/main c\nrefs/heads/main@" + short("b") + " b\nrefs/heads/side y\nrefs/heads/side@" + short("x") + " x\n",
		},
		{
			name: "a branch that goes on by way of another has one head",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("x", []string{"a"}, on("side"))
				s.tell("b", []string{"x"})
			},
			want: "HEAD refs/heads/main\nrefs/heads/main b\nrefs/heads/side x\n",
		},
		{
			name: "closed branches and closed heads are archived, and what was opened again is open",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("x", []string{"a"}, on("done"))
				s.tell("x2", []string{"x"}, on("done"), closing())
				s.tell("b", []string{"a"}, closing())
				s.tell("y", []string{"a"}, on("again"), closing())
				s.tell("y2", []string{"y"}, on("again"))
				s.tell("c", []string{"a"})
			},
			want: "HEAD refs/heads/main\nrefs/archive/default@" + short("b") + " b\nrefs/archive/done@" + short("x2") + " x2\nrefs/heads/again y2\nrefs/heads/main c\n",
		},
		{
			name: "where default is closed HEAD names what was changed last",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("x", []string{"a"}, on("one"))
				s.tell("y", []string{"a"}, on("two"))
				s.tell("b", []string{"a"}, closing())
			},
			want: "HEAD refs/heads/two\nrefs/archive/default@" + short("b") + " b\nrefs/heads/one x\nrefs/heads/two y\n",
		},
		{
			name: "where everything is closed default is shown",
			tell: func(s *story) {
				s.tell("a", nil, closing())
				s.tell("x", []string{"a"}, on("one"), closing())
			},
			want: "HEAD refs/heads/main\nrefs/archive/one@" + short("x") + " x\nrefs/heads/main a\n",
		},
		{
			name: "without default and everything closed the last one is shown",
			tell: func(s *story) {
				s.tell("x", nil, on("one"), closing())
				s.tell("y", nil, on("two"), closing())
			},
			want: "HEAD refs/heads/two\nrefs/archive/one@" + short("x") + " x\nrefs/heads/two y\n",
		},
		{
			name: "bookmarks are branches, and name heads; those that are there already are not there twice",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("b", []string{"a"})
				s.tell("c", []string{"a"})
				s.tell("x", []string{"a"}, on("side"))
			},
			bookmarks: map[string]string{"work": "b", "old": "a", "main": "c", "side": "a", "with space": "c", "@": "c", "lost": "nothing"},
			want: "HEAD refs/heads/main\nrefs/heads/_@ c\nrefs/heads/main c\nrefs/heads/old a\nrefs/heads/side x\nrefs/heads/side-2 a\n" +
				"refs/heads/with_space c\nrefs/heads/work b\n",
			renames: []Rename{
				{Path: "bookmark @", Ref: "refs/heads/_@"},
				{Path: "bookmark lost", Reason: "the origin does not show the changeset that it names"},
				{Path: "bookmark side", Ref: "refs/heads/side-2"},
				{Path: "bookmark with space", Ref: "refs/heads/with_space"},
			},
		},
		{
			name: "names that stand in each other's way",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("f", []string{"a"}, on("Feature"))
				s.tell("g", []string{"a"}, on("feature"))
				s.tell("h", []string{"a"}, on("feature/one"))
				s.tell("i", []string{"a"}, on("main"))
			},
			want: "HEAD refs/heads/main\nrefs/heads/Feature f\nrefs/heads/feature-2 g\nrefs/heads/feature_one h\nrefs/heads/main a\nrefs/heads/main-2 i\n",
			renames: []Rename{
				{Path: "branch feature", Ref: "refs/heads/feature-2"},
				{Path: "branch feature/one", Ref: "refs/heads/feature_one"},
				{Path: "branch main", Ref: "refs/heads/main-2"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			test.tell(s)
			m, words := s.mapping(test.bookmarks)
			if diff := cmp.Diff(test.want, refs(m, words)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.renames, m.Renames); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The heads of many branches are those that a plain search finds.
func TestBranchHeadsOfMany(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	const changesets, branches = 1500, 150
	random := uint32(1)
	next := func(n int) int {
		random = random*1664525 + 1013904223
		return int(random>>8) % n
	}
	ancestors := make([]map[int]bool, changesets)
	branchOf := make([]int, changesets)
	for i := range changesets {
		ancestors[i] = map[int]bool{}
		var parents []string
		for range min(i, 1+next(2)) {
			p := max(0, i-1-next(100))
			if word := fmt.Sprint(p); !slices.Contains(parents, word) {
				parents = append(parents, word)
			}
			ancestors[i][p] = true
			for a := range ancestors[p] {
				ancestors[i][a] = true
			}
		}
		branchOf[i] = next(branches)
		s.tell(fmt.Sprint(i), parents, on(fmt.Sprint("b", branchOf[i])))
	}
	want := map[string]bool{}
	for i := range changesets {
		head := true
		for j := i + 1; j < changesets; j++ {
			head = head && !(branchOf[j] == branchOf[i] && ancestors[j][i])
		}
		if head {
			want[fmt.Sprint(i)] = true
		}
	}
	m, words := s.mapping(nil)
	got := map[string]bool{}
	for _, ref := range m.Refs {
		got[words[ref.ID][0]] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is neither a head nor before one is in no commit.
func TestGraphHidesWhatIsNotShown(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.tell("a", nil)
	s.tell("secret", []string{"a"})
	s.tell("b", []string{"a"})
	m, words := s.mapping(nil, func(opt *GraphOptions) { opt.Heads = []revlog.Node{nodeOf("b")} })
	if got := refs(m, words); got != "HEAD refs/heads/main\nrefs/heads/main b\n" || m.Changesets != 2 || len(words) != 2 {
		t.Errorf("%d changesets as %d commits:\n%s", m.Changesets, len(words), got)
	}
}

func TestGraphTags(t *testing.T) {
	t.Parallel()
	line := func(word, name string) string { return nodeOf(word).String() + " " + name + "\n" }
	null := func(name string) string { return revlog.Null.String() + " " + name + "\n" }
	for _, test := range []struct {
		name string
		tell func(*story)
		want string // of refs/tags
		left []Rename
	}{
		{
			name: "moved, removed, odd ones and ones of nothing",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("b", []string{"a"}, s.file(".hgtags", line("a", "v1")+line("a", "moved")+line("b", "moved")+line("a", "gone")+null("gone")+
					line("a", "with space ")+line("a", "tip")+line("nothing", "unknown")+"no tag\n"+line("a", "short")+"abcd short\r"+strings.ToUpper(nodeOf("a").String())+" upper\r\n"+line("a", "")))
			},
			want: "refs/tags/_ a\nrefs/tags/moved b\nrefs/tags/upper a\nrefs/tags/v1 a\nrefs/tags/with_space a\n",
			left: []Rename{
				{Path: "tag with space", Ref: "refs/tags/with_space"},
				{Path: "tag tip", Reason: "Mercurial itself calls the newest changeset so, and has no tag of the name"},
				{Path: "tag unknown", Reason: "the origin does not show the changeset that it names, " + nodeOf("nothing").String()},
				{Path: "tag short", Reason: "what it names is no changeset"},
				{Path: "tag ", Ref: "refs/tags/_"},
			},
		},
		{
			name: "a head that knows what another one replaced counts, whichever is newer",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("b", []string{"a"}, s.file(".hgtags", line("a", "v1")))
				s.tell("c", []string{"b"}, s.file(".hgtags", line("a", "v1")+line("b", "v1")))
				s.tell("d", []string{"b"}, s.file(".hgtags", line("a", "v1")))
			},
			want: "refs/tags/v1 b\n",
		},
		{
			name: "of heads that know nothing of each other the newest counts",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("b", []string{"a"}, s.file(".hgtags", line("a", "v1")))
				s.tell("c", []string{"a"}, s.file(".hgtags", line("b", "v1")))
			},
			want: "refs/tags/v1 b\n",
		},
		{
			name: "a removal by one head is one for all that have the tag from before",
			tell: func(s *story) {
				s.tell("a", nil)
				s.tell("b", []string{"a"}, s.file(".hgtags", line("a", "v1")))
				s.tell("c", []string{"b"}, s.file(".hgtags", line("a", "v1")+null("v1")))
				s.tell("d", []string{"b"}, on("side"), s.file(".hgtags", line("a", "v1")+line("a", "v2")))
			},
			want: "refs/tags/v2 a\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			test.tell(s)
			m, words := s.mapping(nil)
			var got strings.Builder
			for _, ref := range m.Refs {
				if strings.HasPrefix(ref.Name, tags) {
					fmt.Fprintln(&got, ref.Name, strings.Join(words[ref.ID], "="))
				}
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.left, m.Renames); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A commit says what its changeset says, as far as Git can; what differs is counted.
func TestGraphCommit(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.tell("old", nil, func(r *Record) {
		r.Author, r.Message, r.Time, r.Changeset.Zone = []byte("J\xf6rg"), []byte("caf\xe9\r\nau lait"), time.Unix(-5, 0).UTC(), -12600
	})
	s.tell("new", []string{"old"}, extra("source", "a\nb"), on("side"), func(r *Record) {
		r.Time, r.Changeset.Zone = time.Unix(1<<33, 0).UTC(), 3601
	})
	s.tell("twin", []string{"old"}, on("side"), func(r *Record) {
		r.Message, r.Time, r.Changeset.Zone = []byte("new"), time.Unix(1<<33, 0).UTC(), 3600
	})
	s.tell("merge", []string{"new", "twin"}, on("side"))
	m, words := s.mapping(nil)
	if got, want := []int64{m.Changesets, m.Commits, m.Redated, m.Retold}, []int64{4, 3, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("changesets, commits, other dates and texts are %v, want %v", got, want)
	}
	if diff := cmp.Diff(map[string]int64{"branch": 3, "source": 1}, m.Extras); diff != "" {
		t.Error(diff)
	}
	texts := map[string]string{}
	for id, of := range words {
		_, data, err := s.store.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.Join(of, "=")] = string(data)
	}
	const empty = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
	id := func(of string) string { return pack.Sum(pack.Commit, []byte(texts[of])).String() }
	ann := func(when string) string {
		return "author Ann <ann@example.com> " + when + "\ncommitter Ann <ann@example.com> " + when + "\n\n"
	}
	want := map[string]string{
		"old":      empty + "author Jörg <Jörg> 0 -0330\ncommitter Jörg <Jörg> 0 -0330\n\ncafé\nau lait\n",
		"new=twin": empty + "parent " + id("old") + "\n" + ann("8589934592 +0100") + "new\n",
		"merge":    empty + "parent " + id("new=twin") + "\n" + ann("1000000000 +0000") + "merge\n",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Twin{{Commit: pack.Sum(pack.Commit, []byte(texts["new=twin"])), Node: nodeOf("twin")}}, m.Twins); diff != "" {
		t.Error(diff)
	}

	m, words = s.mapping(nil, func(opt *GraphOptions) { opt.Trailers = true })
	if m.Commits != 4 {
		t.Errorf("with trailers there are %d commits of 4 changesets", m.Commits)
	}
	for id, of := range words {
		if of[0] != "new" {
			continue
		}
		_, data, err := s.store.Get(id)
		if want := "\n\nnew\n\nMercurial: " + nodeOf("new").String() + "\nMercurial-branch: side\nMercurial-extra: source=a?b\n"; err != nil || !strings.HasSuffix(string(data), want) {
			t.Errorf("%v\n%s\nwant it to end in\n%s", err, data, want)
		}
	}
}

func TestSubrepositories(t *testing.T) {
	t.Parallel()
	sub := "# comment\nlib = https://example.com/lib\n continued\nvendor/tool = [git]https://example.com/tool.git\nnonsense\n[subpaths]\na = b\n"
	state := strings.Repeat("a", 40) + " lib\n" + strings.Repeat("b", 40) + " vendor/tool\r\n"
	want := []subrepo{
		{"lib", "hg", "https://example.com/lib", strings.Repeat("a", 40)},
		{"vendor/tool", "git", "https://example.com/tool.git", strings.Repeat("b", 40)},
	}
	if got := parseSubrepos([]byte(sub), []byte(state)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// On request subrepositories are submodules where that can be: those of Git, and those of which it is told what they are.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	commit := pack.ID{1, 2, 3}
	s.tell("a", nil, func(r *Record) {
		var tree []byte
		for _, f := range []struct{ name, content string }{
			{".hgsub", "lib = ../lib\nnone = ../none\nvendor/tool = [git]https://example.com/tool.git\nevil/../x = [git]https://example.com/x\nbad = [git]ext::sh -c x\nfile = [git]https://example.com/x\n"},
			{".hgsubstate", fmt.Sprintf("%s lib\n%[1]s none\n%[2]s vendor/tool\n%[2]s evil/../x\n%[2]s bad\n%[2]s file\n", nodeOf("theirs"), commit)},
			{"file", "in the way"},
		} {
			blob, err := s.store.Put(pack.Blob, []byte(f.content))
			if err != nil {
				t.Fatal(err)
			}
			tree = pack.AppendTreeEntry(tree, pack.ModeFile, f.name, blob)
		}
		var err error
		if r.Root.Tree, err = s.store.Put(pack.Tree, tree); err != nil {
			t.Fatal(err)
		}
	})
	m, _ := s.mapping(nil, func(opt *GraphOptions) {
		opt.Submodules = true
		opt.Submodule = func(source, revision string) (Submodule, bool) {
			return Submodule{"https://example.com/lib.git", pack.ID{9}}, source == "../lib" && revision == nodeOf("theirs").String()
		}
	})
	root := m.Tips[0].Node
	links := map[string]pack.ID{}
	for _, path := range []string{"lib", "none", "vendor/tool", "bad"} {
		if e, err := Walk(s.store, root, path); err != nil {
			t.Error(err)
		} else if e.Mode == pack.ModeGitlink {
			links[path] = e.ID
		}
	}
	if diff := cmp.Diff(map[string]pack.ID{"lib": {9}, "vendor/tool": commit}, links); diff != "" {
		t.Error(diff)
	}
	file, err := Walk(s.store, root, ".gitmodules")
	if err != nil {
		t.Fatal(err)
	}
	_, modules, err := s.store.Get(file.ID)
	want := "[submodule \"lib\"]\n\tpath = \"lib\"\n\turl = \"https://example.com/lib.git\"\n[submodule \"vendor/tool\"]\n\tpath = \"vendor/tool\"\n\turl = \"https://example.com/tool.git\"\n"
	if err != nil || string(modules) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, modules, want)
	}
	became := map[string]bool{}
	for _, sub := range m.Subrepositories {
		became[sub.Path] = sub.Submodule
	}
	if diff := cmp.Diff(map[string]bool{"lib": true, "none": false, "vendor/tool": true, "evil/../x": false, "bad": false, "file": false}, became); diff != "" {
		t.Error(diff)
	}
}

func FuzzSubrepos(f *testing.F) {
	f.Add([]byte("a = b\nc/d = [git]https://example.com/x\n"), []byte(strings.Repeat("1", 40)+" a\n"))
	f.Add([]byte("= [\n[\na"), []byte(" \n\xff \xff"))
	f.Fuzz(func(t *testing.T, sub, state []byte) {
		list := parseSubrepos(sub, state)
		if !slices.IsSortedFunc(list, func(a, b subrepo) int { return strings.Compare(a.path, b.path) }) || len(list) > strings.Count(string(sub), "=") {
			t.Errorf("%q of %q", list, sub)
		}
		for _, s := range list {
			module := Submodule{"https://example.com/x", pack.ID{1}}
			if isModulePath(s.path) && !areHarmlessModules([]byte(module.section(s.path))) {
				t.Errorf("%q is a path that git refuses", s.path)
			}
		}
	})
}
