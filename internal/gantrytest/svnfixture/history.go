package svnfixture

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// History is a Subversion history written down as data: a dump of format 2 in the making. The same calls give the same
// bytes, so that what is imported from it has the same ids everywhere.
type History struct {
	buf  bytes.Buffer
	to   io.Writer // buf, unless somebody else takes the dump
	head int64
}

// Start is the date of revision 0. Each revision is a minute younger than the one before.
var Start = time.Date(2010, 1, 2, 3, 4, 5, 678900000, time.UTC)

// NewHistory begins a history that has revision 0 only.
func NewHistory(uuid string) *History {
	h := &History{}
	h.to = &h.buf
	h.begin(uuid)
	return h
}

// WriteHistory is NewHistory for one that is too long to be kept: it is written as it is made. Bytes has nothing of it.
func WriteHistory(to io.Writer, uuid string) *History {
	h := &History{to: to}
	h.begin(uuid)
	return h
}

func (h *History) begin(uuid string) {
	fmt.Fprintf(h.to, "SVN-fs-dump-format-version: 2\n\nUUID: %s\n\n", uuid)
	h.revision(map[string]string{"svn:date": h.date()})
}

// Commit adds a revision and returns its number. An empty author means that the revision has none.
func (h *History) Commit(author, message string, nodes ...Node) int64 {
	h.head++
	props := map[string]string{"svn:date": h.date(), "svn:log": message}
	if author != "" {
		props["svn:author"] = author
	}
	return h.commit(props, nodes)
}

// CommitProps adds a revision with exactly these revision properties.
func (h *History) CommitProps(props map[string]string, nodes ...Node) int64 {
	h.head++
	return h.commit(props, nodes)
}

// Head is the newest revision.
func (h *History) Head() int64 { return h.head }

// Bytes is the dump.
func (h *History) Bytes() []byte { return bytes.Clone(h.buf.Bytes()) }

func (h *History) commit(props map[string]string, nodes []Node) int64 {
	h.revision(props)
	for _, n := range nodes {
		n.write(h.to)
	}
	return h.head
}

func (h *History) date() string {
	return Start.Add(time.Duration(h.head) * time.Minute).Format("2006-01-02T15:04:05.000000Z")
}

func (h *History) revision(props map[string]string) {
	block := propBlock(props)
	fmt.Fprintf(h.to, "Revision-number: %d\nProp-content-length: %d\nContent-length: %d\n\n%s\n", h.head, len(block), len(block), block)
}

// Node is one change of a revision.
type Node struct {
	path, kind, action string
	copied             bool
	copyPath           string
	copyRev            int64
	props              map[string]string
	text               *string
}

// Mkdir adds a directory.
func Mkdir(path string) Node { return Node{path: path, kind: "dir", action: "add"} }

// Put adds a file.
func Put(path, text string) Node { return Node{path: path, kind: "file", action: "add", text: &text} }

// Edit gives a file another content.
func Edit(path, text string) Node {
	return Node{path: path, kind: "file", action: "change", text: &text}
}

// Touch changes nothing of a file but what With says.
func Touch(path string) Node { return Node{path: path, kind: "file", action: "change"} }

// TouchDir changes nothing of a directory but what With says.
func TouchDir(path string) Node { return Node{path: path, kind: "dir", action: "change"} }

// CopyDir copies a directory as it was in a revision; "" is the root.
func CopyDir(from string, rev int64, to string) Node {
	return Node{path: to, kind: "dir", action: "add", copied: true, copyPath: from, copyRev: rev}
}

// CopyFile copies a file as it was in a revision.
func CopyFile(from string, rev int64, to string) Node {
	return Node{path: to, kind: "file", action: "add", copied: true, copyPath: from, copyRev: rev}
}

// Delete removes a path and all below it.
func Delete(path string) Node { return Node{path: path, action: "delete"} }

// Replacing makes an addition take the place of what is at its path.
func (n Node) Replacing() Node {
	n.action = "replace"
	return n
}

// Text gives a copied file another content.
func (n Node) Text(text string) Node {
	n.text = &text
	return n
}

// With sets a property. The properties set on a node are all that the path has after it.
func (n Node) With(name, value string) Node {
	n.props = maps.Clone(n.props)
	if n.props == nil {
		n.props = map[string]string{}
	}
	n.props[name] = value
	return n
}

// WithNone takes all properties away.
func (n Node) WithNone() Node {
	n.props = map[string]string{}
	return n
}

func (n Node) write(w io.Writer) {
	fmt.Fprintf(w, "Node-path: %s\n", n.path)
	if n.kind != "" {
		fmt.Fprintf(w, "Node-kind: %s\n", n.kind)
	}
	fmt.Fprintf(w, "Node-action: %s\n", n.action)
	if n.copied {
		fmt.Fprintf(w, "Node-copyfrom-rev: %d\nNode-copyfrom-path: %s\n", n.copyRev, n.copyPath)
	}
	var content string
	if n.props != nil {
		content = propBlock(n.props)
		fmt.Fprintf(w, "Prop-content-length: %d\n", len(content))
	}
	if n.text != nil {
		content += *n.text
		fmt.Fprintf(w, "Text-content-length: %d\n", len(*n.text))
	}
	if n.props != nil || n.text != nil {
		fmt.Fprintf(w, "Content-length: %d\n", len(content))
	}
	fmt.Fprintf(w, "\n%s\n\n", content)
}

func propBlock(props map[string]string) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(props)) {
		fmt.Fprintf(&b, "K %d\n%s\nV %d\n%s\n", len(name), name, len(props[name]), props[name])
	}
	b.WriteString("PROPS-END\n")
	return b.String()
}
