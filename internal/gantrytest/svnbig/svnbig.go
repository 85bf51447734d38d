// Package svnbig makes Subversion histories that have very much of one thing: one great file, a hundred thousand files,
// thousands of branches, mergeinfo without end.
package svnbig

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"gantry/internal/gantrytest/svnfixture"
)

// Shape is one kind of big history.
type Shape struct {
	Name  string
	Write func(h *svnfixture.History, n int) // a history with n of what there is much of
	Small int                                // an n that takes no time
	Big   int                                // an n that is rarely met
	Rules func(n int) string                 // another layout for it, nil for none
	Short int                                // when not 0, an n for what svnadmin has to load: it takes too long for a big one
}

// Shapes are all of them.
var Shapes = []Shape{
	{Name: "megabytes of a file", Write: greatFile, Small: 2, Big: 300},
	{Name: "files in a revision", Write: manyFiles, Small: 300, Big: 100000},
	{Name: "branches and tags", Write: manyBranches, Small: 24, Big: 5000, Rules: branchByBranch},
	{Name: "sources in mergeinfo", Write: muchMergeinfo, Small: 40, Big: 4000},
	{Name: "paths with mergeinfo", Write: subtreeMergeinfo, Small: 60, Big: 3000},
	{Name: "entries of a directory", Write: wideDirectory, Small: 500, Big: 50000},
	{Name: "megabytes of a message", Write: longMessages, Small: 1, Big: 5},
	{Name: "versions of a text", Write: manyVersions, Small: 5, Big: 2000},
	{Name: "revisions", Write: manyRevisions, Small: 60, Big: 200000, Short: 2000},
}

func begin(h *svnfixture.History) {
	h.Commit("alice", "Begin", svnfixture.Mkdir("trunk"), svnfixture.Mkdir("branches"), svnfixture.Mkdir("tags"), svnfixture.Put("trunk/README", "Read me.\n"))
}

// lines is text of some bytes that deflates as text does.
func lines(chance *rand.Rand, bytes int) []byte {
	text := make([]byte, 0, bytes+80)
	for len(text) < bytes {
		text = fmt.Appendf(text, "line %d of many: %x\n", len(text), chance.Uint32())
	}
	return text[:bytes]
}

// greatFile has a file of n MB, half of which cannot be deflated.
func greatFile(h *svnfixture.History, n int) {
	begin(h)
	chance := rand.NewChaCha8([32]byte{1})
	size := n << 20
	text := make([]byte, size)
	_, _ = chance.Read(text[:size/2]) // it never fails
	copy(text[size/2:], lines(rand.New(chance), size-size/2))
	edited := func(note string) string {
		copy(text[size/2-len(note)/2:], note)
		return string(text)
	}
	h.Commit("alice", "A great file", svnfixture.Put("trunk/great", string(text)))
	h.Commit("alice", "Edit it", svnfixture.Edit("trunk/great", edited("The first edit in the middle.")))
	h.Commit("bob", "And again", svnfixture.Edit("trunk/great", edited("The second edit.")))
	head := h.Commit("bob", "Branch", svnfixture.CopyDir("trunk", h.Head(), "branches/b"))
	h.Commit("bob", "Edit the branch", svnfixture.Edit("branches/b/great", edited("On the branch.")), svnfixture.CopyFile("trunk/great", head, "branches/b/copy"))
}

// manyFiles adds n files at once, copies all of them, changes each tenth, and deletes all.
func manyFiles(h *svnfixture.History, n int) {
	begin(h)
	const inDirectory = 50
	file := func(root string, i int) string {
		return fmt.Sprintf("%s/directory%04d/file%02d.txt", root, i/inDirectory, i%inDirectory)
	}
	var nodes []svnfixture.Node
	for i := range n {
		if i%inDirectory == 0 {
			nodes = append(nodes, svnfixture.Mkdir(fmt.Sprintf("trunk/directory%04d", i/inDirectory)))
		}
		nodes = append(nodes, svnfixture.Put(file("trunk", i), fmt.Sprintf("This is file %d.\n%s", i, strings.Repeat("It has a few lines.\n", i%20))))
	}
	all := h.Commit("alice", "Everything", nodes...)
	h.Commit("alice", "Branch", svnfixture.CopyDir("trunk", all, "branches/b"))
	nodes = nodes[:0]
	for i := 0; i < n; i += 10 {
		nodes = append(nodes, svnfixture.Edit(file("branches/b", i), fmt.Sprintf("This is file %d.\nIt was changed.\n", i)))
	}
	h.Commit("bob", "Change each tenth", nodes...)
	nodes = nodes[:0]
	for i := 0; i < n; i += inDirectory {
		nodes = append(nodes, svnfixture.Delete(fmt.Sprintf("trunk/directory%04d", i/inDirectory)))
	}
	h.Commit("bob", "Delete all", nodes...)
}

// manyBranches makes n branches with a commit each and n tags; half of the branches go again.
func manyBranches(h *svnfixture.History, n int) {
	begin(h)
	for i := range n {
		name := fmt.Sprintf("branches/b%05d", i)
		made := h.Commit("alice", "Branch", svnfixture.CopyDir("trunk", h.Head(), name))
		h.Commit("bob", "Work", svnfixture.Put(name+"/work", fmt.Sprint(i)))
		h.Commit("alice", "Tag", svnfixture.CopyDir("trunk", made, fmt.Sprintf("tags/t%05d", i)))
		switch i % 4 {
		case 0:
			h.Commit("alice", "Remove it", svnfixture.Delete(name))
		case 1:
			h.Commit("alice", "Go on", svnfixture.Edit("trunk/README", fmt.Sprintf("Read me %d times.\n", i)))
		case 2:
			h.Commit("alice", "Remove another", svnfixture.Delete(fmt.Sprintf("branches/b%05d", i-1)))
		}
	}
}

// branchByBranch is a rule for each of them.
func branchByBranch(n int) string {
	rules := "trunk trunk\ntags tags/*\n"
	for i := range n {
		rules += fmt.Sprintf("branches branches/b%05d as work/%d\n", i, i)
	}
	return rules
}

// muchMergeinfo changes the mergeinfo of a trunk that names n branches 200 times. A third of them are there.
func muchMergeinfo(h *svnfixture.History, n int) {
	begin(h)
	var nodes []svnfixture.Node
	for i := 0; i < n; i += 3 {
		nodes = append(nodes, svnfixture.CopyDir("trunk", 1, source(i)))
	}
	h.Commit("alice", "Branches", nodes...)
	nodes = nodes[:0]
	for i := 0; i < n; i += 3 {
		nodes = append(nodes, svnfixture.Put(source(i)+"/work", fmt.Sprint(i)))
	}
	worked := h.Commit("alice", "Work everywhere", nodes...)
	info := make([]string, n)
	for i := range info {
		info[i] = "/" + source(i) + ":"
		for r := range 40 {
			info[i] += fmt.Sprintf("%d,", 1000000+i+100*r)
		}
		info[i] += "9999999"
	}
	for r := range int64(200) {
		i := int(r) * 3 % n
		info[i] = fmt.Sprintf("/%s:%d,%d-%d", source(i), worked, 1000000+r, 1000050+r)
		info[(i+1)%n] = fmt.Sprintf("/%s:%d-%d", source((i+1)%n), 100+r, 1000+r)
		h.Commit("bob", "Merge", svnfixture.TouchDir("trunk").With("svn:mergeinfo", strings.Join(info, "\n")))
	}
}

func source(i int) string { return fmt.Sprintf("branches/b%05d", i) }

// subtreeMergeinfo has n files and directories with mergeinfo of their own, which 10 merges of a branch change.
func subtreeMergeinfo(h *svnfixture.History, n int) {
	begin(h)
	path := func(i int) string {
		if i%3 == 0 {
			return fmt.Sprintf("directory%05d", i)
		}
		return fmt.Sprintf("directory%05d/file", i-i%3) + fmt.Sprint(i%3)
	}
	var nodes []svnfixture.Node
	for i := range n {
		if i%3 == 0 {
			nodes = append(nodes, svnfixture.Mkdir("trunk/"+path(i)))
		} else {
			nodes = append(nodes, svnfixture.Put("trunk/"+path(i), fmt.Sprint(i)))
		}
	}
	made := h.Commit("alice", "Paths", nodes...)
	work := h.Commit("alice", "Branch", svnfixture.CopyDir("trunk", made, "branches/b"))
	for i := range n {
		h.Commit("alice", "Work", svnfixture.Edit("branches/b/README", fmt.Sprintf("Read me %d times.\n", i)))
	}
	for r := range int64(10) {
		nodes = nodes[:0]
		for i := range n {
			touch := svnfixture.Touch
			if i%3 == 0 {
				touch = svnfixture.TouchDir
			}
			info := fmt.Sprintf("/branches/b/%s:%d-%d,%d", path(i), work+1, work+2+r*180, work+20+r*180)
			nodes = append(nodes, touch("trunk/"+path(i)).With("svn:mergeinfo", info))
		}
		h.Commit("bob", "Merge a part", nodes...)
	}
}

// wideDirectory changes single files of a directory of n, and then each tenth of them at once.
func wideDirectory(h *svnfixture.History, n int) {
	begin(h)
	file := func(i int) string { return fmt.Sprintf("trunk/file%06d", i*7919%n) }
	var nodes []svnfixture.Node
	for i := range n {
		nodes = append(nodes, svnfixture.Put(fmt.Sprintf("trunk/file%06d", i), fmt.Sprint(i)))
	}
	h.Commit("alice", "Everything", nodes...)
	for i := range n / 100 {
		h.Commit("bob", "One of them", svnfixture.Edit(file(i), fmt.Sprintf("changed by %d\n", i)))
	}
	nodes = nodes[:0]
	for i := range n / 10 {
		nodes = append(nodes, svnfixture.Edit(file(i), "changed with others\n"), svnfixture.Put(fmt.Sprintf("trunk/another%06d", i), ""))
	}
	h.Commit("bob", "Many of them", nodes...)
}

// longMessages has a message, and another property of a revision, of n MB, and paths of 4000 bytes in 200 directories.
func longMessages(h *svnfixture.History, n int) {
	begin(h)
	message := string(lines(rand.New(rand.NewPCG(1, 1)), n<<20))
	h.CommitProps(map[string]string{"svn:log": message, "note": message, "svn:author": "alice"}, svnfixture.Put("trunk/a", "1\n"))
	dir, nodes := "trunk", []svnfixture.Node{}
	for i := range 200 {
		dir += fmt.Sprintf("/deep-directory-%04d", i)
		nodes = append(nodes, svnfixture.Mkdir(dir))
	}
	h.Commit("alice", "Deep", append(nodes, svnfixture.Put(dir+"/file", "deep\n"))...)
	for i := range 10 * n {
		h.Commit("bob", "Edit", svnfixture.Edit(dir+"/file", fmt.Sprintf("edited %d times\n", i)))
	}
}

// manyVersions has n versions of a text of 1 MB.
func manyVersions(h *svnfixture.History, n int) {
	begin(h)
	chance := rand.New(rand.NewPCG(2, 2))
	text := lines(chance, 1<<20)
	h.Commit("alice", "A text", svnfixture.Put("trunk/text", string(text)))
	for i := range n {
		copy(text[chance.IntN(len(text)-40):], fmt.Sprintf("version %d", i))
		h.Commit("bob", "Edit", svnfixture.Edit("trunk/text", string(text)))
	}
}

// manyRevisions has n small revisions of three files.
func manyRevisions(h *svnfixture.History, n int) {
	begin(h)
	for i := range 3 {
		h.Commit("alice", "A file", svnfixture.Put(fmt.Sprintf("trunk/file%d", i), ""))
	}
	for i := range n {
		h.Commit("bob", "Edit", svnfixture.Edit(fmt.Sprintf("trunk/file%d", i%3), fmt.Sprintf("revision %d\n", i)))
	}
}
