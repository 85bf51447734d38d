package svn

import (
	"bytes"
	"io"
	"os"

	"gantry/internal/origin"
)

const (
	spoolMemory = 1 << 20  // bytes of a text that are held in memory
	spoolBound  = 64 << 30 // bytes of a text at most
)

// spool gathers one text after the other: small ones in memory, large ones in a file without a name, so that nothing is
// left behind however the program ends.
type spool struct {
	dir  string
	mem  []byte
	file *os.File // made for the first large text, used again for others
	size int64
}

func (s *spool) reset() { s.mem, s.size = s.mem[:0], 0 }

func (s *spool) Write(p []byte) (int, error) {
	if s.size+int64(len(p)) > spoolBound {
		return 0, malformedf("a text of more than %d bytes came", int64(spoolBound))
	}
	if s.size+int64(len(p)) <= spoolMemory {
		s.mem = append(s.mem, p...)
		s.size += int64(len(p))
		return len(p), nil
	}
	if s.size <= spoolMemory {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	n, err := s.file.Write(p)
	s.size += int64(n)
	return n, err
}

// spill moves what is in memory to the file.
func (s *spool) spill() error {
	if s.file == nil {
		file, err := origin.Spool(s.dir)
		if err != nil {
			return err
		}
		s.file = file
	}
	if err := s.file.Truncate(0); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := s.file.Write(s.mem)
	return err
}

// reader reads what was gathered; it is valid until reset.
func (s *spool) reader() io.Reader {
	if s.size <= spoolMemory {
		return bytes.NewReader(s.mem)
	}
	return io.NewSectionReader(s.file, 0, s.size)
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// spooledText is a delta that came over the wire.
type spooledText struct {
	spool   *spool
	baseMD5 []byte
	opened  bool
}

func (t *spooledText) Delta() bool     { return true }
func (t *spooledText) BaseMD5() []byte { return t.baseMD5 }

func (t *spooledText) Open() (io.ReadCloser, error) {
	if t.opened {
		return nil, errTextOpened
	}
	t.opened = true
	return io.NopCloser(t.spool.reader()), nil
}
