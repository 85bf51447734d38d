package lift

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"gantry"
	"gantry/internal/origin"
)

// signatures are how the files of an origin begin: bundles as in gitformat-bundle(5), dumps as svnadmin writes them,
// Mercurial's bundles of both versions and its streams.
var signatures = []struct {
	begin string
	vcs   gantry.VCS
}{
	{"# v2 git bundle\n", gantry.Git},
	{"# v3 git bundle\n", gantry.Git},
	{"SVN-fs-dump-format-version:", gantry.Subversion},
	{"HG10", gantry.Mercurial},
	{"HG20", gantry.Mercurial},
	{"HGS1", gantry.Mercurial},
}

// longest is the length of the longest signature, with some empty lines before it, which svnadmin load bears.
const longest = 64

// Identify tells by its content what system a file comes from, plain or compressed by gzip or zstd. It is "" for a file
// that is none.
func Identify(name string) (gantry.VCS, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, compressed, err := origin.Inflate(bufio.NewReader(file))
	if err != nil {
		return "", unlessBroken(compressed, err)
	}
	defer content.Close()
	begin := make([]byte, longest)
	n, err := io.ReadFull(content, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", unlessBroken(compressed, err)
	}
	text := strings.TrimLeft(string(begin[:n]), "\r\n")
	for _, s := range signatures {
		if strings.HasPrefix(text, s.begin) {
			return s.vcs, nil
		}
	}
	return "", nil
}

// unlessBroken drops the error of a file that only looks compressed: it is no fault, it is nothing that is known.
func unlessBroken(compressed bool, err error) error {
	if compressed {
		return nil
	}
	return err
}
