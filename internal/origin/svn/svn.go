// Package svn reads Subversion repositories natively: over the network with the ra_svn protocol
// (subversion/libsvn_ra_svn/protocol in Subversion's source) and from dump files, formats 1 to 3
// (notes/dump-load-format.txt there). Texts keep the svndiff form in which they come; internal/delta decodes it.
package svn

// Kind is what a path is in a revision.
type Kind uint8

const (
	None Kind = iota
	File
	Dir
)

// Entry is one entry of a directory.
type Entry struct {
	Name    string
	Kind    Kind
	Size    int64 // of a file's content; -1 when it is not told
	Changed int64 // the last revision that changed it or something in it; -1 when it is not told
}
