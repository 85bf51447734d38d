package hg

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"gantry/internal/origin"
)

const (
	maxStream      = 64 << 30 // bytes of files
	maxStreamFiles = 4 << 20
	maxStreamNames = 256 << 20 // bytes
)

// requirements are what a repository may need of who reads its files (mercurial/helptext/internals/requirements.txt).
// Many of them are about how files are named on a disk, which a stream does not tell.
var requirements = []string{
	"revlogv1", "generaldelta", "sparserevlog", "revlog-compression-zstd", "treemanifest",
	"store", "fncache", "dotencode", "share-safe", "shared", "relshared", "bookmarksinstore", "persistent-nodemap",
	"dirstate-v2", "exp-dirstate-v2", "internal-phase", "internal-phase-2", "exp-archived-phase", "exp-sparse",
	"largefiles", "lfs",
}

// checkRequirements refuses a stream of files that cannot be read.
func checkRequirements(to *intake, told string) error {
	list := strings.Split(told, ",")
	for _, name := range list {
		if name != "" && !slices.Contains(requirements, name) {
			return to.unsupportedf("the stream needs %.60q, which is not known", name)
		}
	}
	if !slices.Contains(list, "revlogv1") {
		return to.unsupportedf("the stream is of a repository from before 2006: it has %q", told)
	}
	return nil
}

// stream2 reads a clone of a store's files (mercurial/streamclone.py): where each belongs, the sizes of its name and of
// itself, both.
func (p *part) stream2() error {
	told, err := url.PathUnescape(p.params["requirements"])
	if err != nil {
		return malformedf("the requirements of the stream are told as %.60q", p.params["requirements"])
	}
	if err := checkRequirements(p.to, told); err != nil {
		return err
	}
	count, err := strconv.ParseUint(p.params["filecount"], 10, 64)
	if err != nil {
		return malformedf("the stream has %.20q files", p.params["filecount"])
	}
	in := bufio.NewReaderSize(p, bundleBuffer)
	return p.to.stream(count, func() (file streamFile, err error) {
		where, err := in.ReadByte()
		if err != nil {
			return file, unexpected(err)
		}
		if where != 's' && where != 'c' {
			return file, malformedf("the stream has a file of the unknown kind %q", where)
		}
		nameSize, err := binary.ReadUvarint(in)
		if err != nil {
			return file, unexpected(err)
		}
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return file, unexpected(err)
		}
		if nameSize > maxPath || size > maxStream {
			return file, malformedf("the stream has a file of %d bytes with a name of %d", size, nameSize)
		}
		name, err := readInto(in, nil, int(nameSize))
		file = streamFile{name: string(name), size: int64(size), in: in}
		if where == 'c' { // caches
			file.name = ""
		}
		return file, err
	})
}

// readStream1 reads the older form: how many files and bytes come, the requirements, then for each file its name and size
// on a line, and itself.
func readStream1(in *bufio.Reader, to *intake) error {
	var head [18]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return unexpected(err)
	}
	told, err := readInto(in, nil, int(binary.BigEndian.Uint16(head[16:])))
	if err != nil {
		return err
	}
	if err := checkRequirements(to, strings.TrimRight(string(told), "\x00")); err != nil {
		return err
	}
	return to.stream(binary.BigEndian.Uint64(head[:]), func() (file streamFile, err error) {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return file, malformedf("the stream has a file whose name has no end")
		}
		if err != nil {
			return file, unexpected(err)
		}
		name, digits, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\x00")
		size, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || size < 0 || size > maxStream || len(name) > maxPath {
			return file, malformedf("the stream has a file told as %.100q", line)
		}
		return streamFile{name: plainFolders.Replace(name), size: size, in: in}, nil
	})
}

// plainFolders takes off what sets apart folders from files that Mercurial makes, where only folders have it.
var plainFolders = strings.NewReplacer(".d.hg/", ".d/", ".i.hg/", ".i/", ".hg.hg/", ".hg/")

// streamFile is a file that comes: its bytes are the next ones.
type streamFile struct {
	name string // as the store calls it; "" when it is of no use
	size int64
	in   io.Reader
}

// stream reads a stream of so many files. The files come in an order of their own, so they are gathered first.
func (in *intake) stream(count uint64, next func() (streamFile, error)) (err error) {
	if count > maxStreamFiles {
		return malformedf("the stream has %d files, %d is the most", count, maxStreamFiles)
	}
	s := &store{}
	if s.file, err = origin.Spool(in.tempDir); err != nil {
		return err
	}
	defer s.file.Close()
	out := bufio.NewWriterSize(s.file, bundleBuffer)
	for range count {
		file, err := next()
		if err != nil {
			return err
		}
		if err := s.put(out, file); err != nil {
			return err
		}
		if err := in.ctx.Err(); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("the stream cannot be stored: %w", err)
	}
	if err := s.sort(); err != nil {
		return err
	}
	return s.read(in)
}

// store is the files of a repository's store, as they were when the stream began.
type store struct {
	file  *os.File
	size  int64
	names int      // bytes
	files []stored // in the order of their names
}

// stored is where a file of the store lies in the spool.
type stored struct {
	name         string
	offset, size int64
}

// put stores a file if it is worth it.
func (s *store) put(out *bufio.Writer, file streamFile) error {
	to := io.Discard
	if wanted(file.name) {
		s.names += len(file.name)
		if s.size+file.size > maxStream || s.names > maxStreamNames {
			return malformedf("the stream has more than %d bytes, or %d of names", int64(maxStream), maxStreamNames)
		}
		s.files = append(s.files, stored{file.name, s.size, file.size})
		s.size += file.size
		to = spoolWriter{out}
	}
	_, err := io.CopyN(to, file.in, file.size)
	return unexpected(err)
}

// spoolWriter says that an error is of writing.
type spoolWriter struct{ w io.Writer }

func (s spoolWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		err = fmt.Errorf("the stream cannot be stored: %w", err)
	}
	return n, err
}

// Names of files in a store.
const (
	changelogName = "00changelog"
	manifestName  = "00manifest"
	filesFolder   = "data/"
	treesFolder   = "meta/"
	rootsName     = "phaseroots"
	markersName   = "obsstore"
)

func wanted(name string) bool {
	switch {
	case name == rootsName, name == markersName:
		return true
	case strings.HasSuffix(name, ".i"), strings.HasSuffix(name, ".d"):
		base := name[:len(name)-2]
		return base == changelogName || base == manifestName || strings.HasPrefix(name, filesFolder) || strings.HasPrefix(name, treesFolder)
	}
	return false
}

// sort makes files be found by their names.
func (s *store) sort() error {
	slices.SortFunc(s.files, func(a, b stored) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(s.files); i++ {
		if s.files[i].name == s.files[i-1].name {
			return malformedf("the stream has the file %.200q twice", s.files[i].name)
		}
	}
	return nil
}

// open returns a file's bytes, nil when there is none of this name.
func (s *store) open(name string) *io.SectionReader {
	i, found := slices.BinarySearchFunc(s.files, name, func(f stored, name string) int { return strings.Compare(f.name, name) })
	if !found {
		return nil
	}
	return io.NewSectionReader(s.file, s.files[i].offset, s.files[i].size)
}
