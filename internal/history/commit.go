package history

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"gantry/internal/pack"
)

// signature is who did something when, as a commit or tag says it.
type signature struct {
	Identity
	seconds int64
	zone    int // seconds east of UTC
}

func (s signature) String() string {
	sign, minutes := '+', gitZone(s.zone)/60
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", s.Name, s.Email, s.seconds, sign, minutes/60, minutes%60)
}

// gitZone is what Git can say of a time zone: whole minutes, and hours of two digits.
func gitZone(zone int) int {
	zone -= zone % 60
	if zone <= -100*60*60 || zone >= 100*60*60 {
		return 0
	}
	return zone
}

// signer knows what commits of each author carry.
type signer struct {
	uuid     string
	identify func(Author) Identity
	known    map[string]Identity // by raw author
}

func newSigner(uuid string, identify func(Author) Identity) signer {
	return signer{uuid: uuid, identify: identify, known: map[string]Identity{}}
}

func (s *signer) identity(r *Record) Identity {
	identity, ok := s.known[string(r.Author)]
	if !ok {
		identity = s.identify(authorOf(r, s.uuid)).Clean()
		s.known[string(r.Author)] = identity
	}
	return identity
}

func encodeCommit(buf *bytes.Buffer, tree pack.ID, parents []pack.ID, by signature, message string) []byte {
	buf.Reset()
	fmt.Fprintf(buf, "tree %s\n", tree)
	for _, parent := range parents {
		fmt.Fprintf(buf, "parent %s\n", parent)
	}
	fmt.Fprintf(buf, "author %s\ncommitter %s\n\n%s", by, by, message)
	return buf.Bytes()
}

func encodeTag(buf *bytes.Buffer, commit pack.ID, name string, by signature, message string) []byte {
	buf.Reset()
	fmt.Fprintf(buf, "object %s\ntype commit\ntag %s\ntagger %s\n\n%s", commit, name, by, message)
	return buf.Bytes()
}

// gitMessage makes a message fit for Git: UTF-8, without NULs and carriage returns, one line end at its end.
func gitMessage(raw []byte) string {
	text := strings.ReplaceAll(toUTF8(raw), "\x00", "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// gitSeconds turns a revision's date into Git's. A revision without one has that of the revision before it. Git's own
// check refuses dates before 1970, so they become its first second.
func gitSeconds(t time.Time, before int64) int64 {
	if t.IsZero() {
		return before
	}
	return max(t.Unix(), 0)
}
