package imports

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"gantry"
)

// upload is a file on its way to the server. What the disk holds is how far it has come, so it survives this process. The
// lock on its directory keeps others away, of other processes, too.
type upload struct {
	dir      *os.File // locked
	file     *os.File // nil as long as there is none
	name     string   // of file
	received int64
	total    int64 // Unknown as long as nobody told
}

// openUpload locks the upload into a repository and finds out how far it has come.
func (s *Service) openUpload(repositoryID int64) (*upload, error) {
	name := s.uploadDir(repositoryID)
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	u := &upload{dir: dir, total: Unknown}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		u.close()
		return nil, gantry.Errorf(gantry.Conflict, "imports.Receive", "Another request is uploading into this repository; wait for it, or try again in a minute.")
	}
	if err := u.find(); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *upload) find() error {
	name, total, err := findUpload(u.dir.Name())
	if err != nil || name == "" {
		return err
	}
	if total == Unknown { // left by a process that was killed; nobody can go on with it
		return os.Remove(name)
	}
	u.name = name
	if u.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
		return err
	}
	info, err := u.file.Stat()
	if err == nil {
		u.received, u.total = info.Size(), total
	}
	return err
}

// findUpload returns the file in an upload's directory, "" for none.
func findUpload(dir string) (name string, total int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", 0, err
	}
	for _, e := range entries {
		if total, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			return filepath.Join(dir, e.Name()), total, nil
		}
	}
	return "", 0, nil
}

func (u *upload) close() {
	if u.file != nil {
		u.file.Close() // what counts has been synced
	}
	u.dir.Close()
}

// begin makes sure that a part goes on where the upload stands. Nothing but a whole file replaces what is there: a first
// part may be late, from a connection that was given up long ago.
func (u *upload) begin(part Part) error {
	switch {
	case part.Whole, part.Offset == 0 && u.received == 0:
		return u.create(part.Total)
	case u.file == nil || part.Offset != Unknown && part.Offset != u.received:
		err := &OffsetError{Received: u.received}
		return &gantry.Error{Kind: gantry.Invalid, Op: "imports.Receive", Msg: err.Error(), Err: err}
	case part.Total != u.total:
		return gantry.Errorf(gantry.Invalid, "imports.Receive", "The file has %d bytes in this request, and %d in those before; cancel the import first if it is another one.", part.Total, u.total)
	}
	return nil
}

// create replaces whatever is there by an empty file.
func (u *upload) create(total int64) error {
	if u.file != nil {
		if err := errors.Join(u.file.Close(), os.Remove(u.name)); err != nil {
			return err
		}
	}
	u.name = u.nameFor(total)
	var err error
	u.file, err = os.OpenFile(u.name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	u.received, u.total = 0, total
	return err
}

func (u *upload) nameFor(total int64) string {
	return filepath.Join(u.dir.Name(), strconv.FormatInt(total, 10))
}

// receive writes a part. However it ends, what the file holds is on disk and counts; a file of unknown size that ends early
// is dropped, as nobody can tell how much of it is missing.
func (u *upload) receive(part Part, body io.Reader, limit int64) error {
	bound := part.Length
	if bound == Unknown {
		bound = limit
	}
	n, err := io.Copy(io.NewOffsetWriter(u.file, u.received), io.LimitReader(body, bound))
	u.received += n
	if err == nil {
		err = checkEnd(body, part, n, limit)
	}
	if errors.Is(err, unix.ENOSPC) {
		err = noRoom(err)
	}
	if part.Length == Unknown {
		if err != nil {
			return errors.Join(err, os.Remove(u.name))
		}
		if err := os.Rename(u.name, u.nameFor(u.received)); err != nil {
			return err
		}
		u.name, u.total = u.nameFor(u.received), u.received
	}
	return errors.Join(err, u.file.Sync())
}

// checkEnd makes sure that a body ended where it was to end.
func checkEnd(body io.Reader, part Part, n, limit int64) error {
	switch more, err := io.ReadFull(body, make([]byte, 1)); {
	case more > 0 && part.Length == Unknown:
		return tooLarge(limit)
	case more > 0:
		return gantry.Errorf(gantry.Invalid, "imports.Receive", "The body is longer than its Content-Range says.")
	case !errors.Is(err, io.EOF):
		return err
	case part.Length != Unknown && n < part.Length:
		return gantry.Errorf(gantry.Invalid, "imports.Receive", "The body is shorter than its Content-Range says; what came of it is kept.")
	}
	return nil
}
