package hg

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"gantry/internal/delta"
	"gantry/internal/revlog"
)

// What bundles are made of, to be broken.

func word(n int64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func chunk(p ...[]byte) []byte {
	all := bytes.Join(p, nil)
	return append(word(int64(len(all)+4)), all...)
}

// newRevision is a chunk of a changegroup. It is against nothing and has no parents.
func newRevision(version int, text string) (p []byte, node revlog.Node) {
	node = revlog.Sum(revlog.Null, revlog.Null, []byte(text))
	if version == 4 {
		p = append(p, 0)
	}
	p = append(append(p, node[:]...), make([]byte, 40)...) // parents
	if version > 1 {
		p = append(p, make([]byte, 20)...) // base
	}
	p = append(p, node[:]...) // link
	if version >= 3 {
		p = append(p, 0, 0) // flags
	}
	return chunk(p, delta.FullPatch(nil, len(text)), []byte(text)), node
}

// newChangegroup has one changeset with one file; links are not right.
func newChangegroup(version int) []byte {
	end := word(0)
	file, fileNode := newRevision(version, "text\n")
	manifest, manifestNode := newRevision(version, "a\x00"+fileNode.String()+"\n")
	changeset, _ := newRevision(version, manifestNode.String()+"\nu\n1 0\na\n\nm")
	all := [][]byte{changeset, end, manifest, end}
	if version >= 3 {
		all = append(all, end)
	}
	return bytes.Join(append(all, chunk([]byte("a")), file, end, end), nil)
}

type testPart struct {
	header, payload []byte
}

// newPart has parameters of which the first so many must be understood.
func newPart(name string, mandatory int, params ...string) testPart {
	header := append([]byte{byte(len(name))}, name...)
	header = append(header, 0, 0, 0, 1, byte(mandatory), byte(len(params)/2-mandatory))
	for i := 0; i < len(params); i += 2 {
		header = append(header, byte(len(params[i])), byte(len(params[i+1])))
	}
	return testPart{header: append(header, strings.Join(params, "")...), payload: word(0)}
}

// body makes p the payload, in one chunk.
func (p testPart) body(b []byte) testPart {
	if len(b) > 0 {
		p.payload = bytes.Join([][]byte{word(int64(len(b))), b, word(0)}, nil)
	}
	return p
}

// broken makes p what stands for the payload.
func (p testPart) broken(b ...[]byte) testPart {
	p.payload = bytes.Join(b, nil)
	return p
}

func (p testPart) bytes() []byte {
	return bytes.Join([][]byte{word(int64(len(p.header))), p.header, p.payload}, nil)
}

func newParts(parts ...testPart) (all []byte) {
	for _, p := range parts {
		all = append(all, p.bytes()...)
	}
	return append(all, word(0)...)
}

func newBundle2(parts ...testPart) []byte {
	return append([]byte("HG20\x00\x00\x00\x00"), newParts(parts...)...)
}

// newMarker1 is a marker of the second format that says it has so many bytes.
func newMarker1(size int) []byte {
	return append(word(int64(size)), make([]byte, 56)...)
}

func uvarint(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// newStream has files, each told with a size.
func newStream(requirements string, count string, files ...[]byte) testPart {
	return newPart("STREAM2", 3, "requirements", requirements, "filecount", count, "bytecount", "1").body(bytes.Join(files, nil))
}

func streamed(name string, size uint64, content string) []byte {
	return bytes.Join([][]byte{{'s'}, uvarint(uint64(len(name))), uvarint(size), []byte(name), []byte(content)}, nil)
}

// entry is one of an index that is not inline.
func entry(flags uint16, offset, packed, size, base, link, p1 int32) []byte {
	p := []byte{0, 0, 0, 1, 0, byte(offset)}
	p = binary.BigEndian.AppendUint16(p, flags)
	for _, n := range []int32{packed, size, base, link, p1, -1} {
		p = binary.BigEndian.AppendUint32(p, uint32(n))
	}
	return append(p, "0123456789abcdefghij............"...)
}

func newStore(index []byte, data string) testPart {
	return newStream("revlogv1", "2", streamed("00changelog.i", uint64(len(index)), string(index)), streamed("00changelog.d", uint64(len(data)), data))
}

func read(t *testing.T, bundle []byte) error {
	return readBundle(bytes.NewReader(bundle), newIntake(t.Context(), &drain{t: t}, t.TempDir()))
}

// What these are made of is right before it is broken.
func TestNewChangegroup(t *testing.T) {
	t.Parallel()
	for version := 1; version < len(headerSizes); version++ {
		part := newPart("CHANGEGROUP", 1, "version", string([]byte{'0', '0' + byte(version)}), "nbchanges", "1").body(newChangegroup(version))
		to := newIntake(t.Context(), &drain{t: t}, "")
		if err := readBundle(bytes.NewReader(newBundle2(part)), to); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
		if got := to.shown().Heads; len(got) != 1 {
			t.Errorf("version %d: heads %v", version, got)
		}
	}
}

// Whatever is wrong with a bundle is said; memory is taken for what comes, never for what is said to come.
func TestBrokenBundles(t *testing.T) {
	t.Parallel()
	group := newChangegroup(1)
	revision, _ := newRevision(1, "text")
	for _, test := range []struct {
		name   string
		bundle []byte
		says   string
	}{
		{"nothing", nil, "unexpected EOF"},
		{"no bundle", []byte("<!DOCTYPE html>"), "not a Mercurial bundle"},
		{"part of a magic", []byte("HG1"), "unexpected EOF"},
		{"another version", []byte("HG30\x00\x00\x00\x00"), "not a Mercurial bundle"},
		{"no zlib", []byte("HG10GZxxxxxxx"), "invalid header"},
		{"no bzip2", []byte("HG10BZxxxxxxx"), "bzip2"},
		{"unknown compression", []byte("HG20\x00\x00\x00\x0eCompression=XX"), `compressed as "XX"`},
		{"unknown need", []byte("HG20\x00\x00\x00\x04Need"), `needs "Need"`},
		{"parameters without end", []byte("HG20\x7f\xff\xff\xff"), "65536 is the most"},
		{"parameters below 0", []byte("HG20\xff\xff\xff\xff"), "65536 is the most"},
		{"parameters that are none", []byte("HG20\x00\x00\x00\x03a=%"), `parameter "a=%"`},
		{"cut in a chunk", append([]byte("HG10UN"), group[:60]...), "unexpected EOF"},
		{"cut between chunks", append([]byte("HG10UN"), revision...), "unexpected EOF"},
		{"a chunk of 3 bytes", []byte("HG10UN\x00\x00\x00\x03"), "length of 3"},
		{"a chunk of -1 bytes", []byte("HG10UN\xff\xff\xff\xff"), "length of -1"},
		{"a chunk of 2 GB", []byte("HG10UN\x7f\xff\xff\xff...."), "unexpected EOF"},
		{"a revision without header", append([]byte("HG10UN"), chunk(make([]byte, 79))...), "79 bytes"},
		{"a revision without node", append([]byte("HG10UN"), chunk(make([]byte, 80))...), "stands for none"},
		{"a file with a long name", bytes.Join([][]byte{[]byte("HG10UN"), word(0), word(0), chunk(make([]byte, maxPath+1))}, nil), "at most 65536"},
		{"a header of 2 GB", []byte("HG20\x00\x00\x00\x00\x7f\xff\xff\xff"), "524288 is the most"},
		{"a header below 0", []byte("HG20\x00\x00\x00\x00\xff\xff\xff\xff"), "524288 is the most"},
		{"a header that is none", append([]byte("HG20\x00\x00\x00\x00"), newParts(testPart{header: []byte("\x09part")})...), "does not keep to its format"},
		{"a header with more", append([]byte("HG20\x00\x00\x00\x00"), newParts(testPart{header: append(newPart("x", 0).header, 0)})...), "does not keep to its format"},
		{"parameters twice", newBundle2(newPart("x", 0, "a", "1", "a", "2")), "does not keep to its format"},
		{"unknown part", newBundle2(newPart("CHECK:heads", 0)), `part "check:heads", which must be understood`},
		{"unknown parameter", newBundle2(newPart("BOOKMARKS", 1, "more", "1")), `parameter "more", which must be understood`},
		{"unknown version", newBundle2(newPart("CHANGEGROUP", 1, "version", "05")), `version "05"`},
		{"a payload that is short", newBundle2(newPart("CHANGEGROUP", 0).body(group[:60])), "too short"},
		{"a chunk of a part below 0", newBundle2(newPart("x", 0).broken(word(-2))), "-2 bytes"},
		{"no end of parts", newPart("x", 0).bytes(), "not a Mercurial bundle"},
		{"parts that interrupt each other", newBundle2(interrupting(9)), "more than 4 parts"},
		{"a changegroup within a part", newBundle2(newPart("output", 0).broken(word(interrupt), newPart("CHANGEGROUP", 0).body(group).bytes(), word(0))), "interrupts another"},
		{"what the server says", newBundle2(newPart("ERROR:ABORT", 1, "message", "no", "hint", "ask")), "the server says: no (ask)"},
		{"what the server says within", newBundle2(newPart("CHANGEGROUP", 0).broken(word(4), group[:4], word(interrupt), newPart("error:abort", 0, "message", "lost").bytes())), "the server says: lost"},
		{"what the server did not understand", newBundle2(newPart("error:unsupportedcontent", 0, "parttype", "x", "params", "a\x00b")), "did not understand x a b"},
		{"a bookmark cut short", newBundle2(newPart("bookmarks", 0).body(append(make([]byte, 20), 0, 9))), "too short"},
		{"a bookmark that is none", newBundle2(newPart("listkeys", 0, "namespace", "bookmarks").body([]byte("name\tnode\n"))), `told as "name\tnode"`},
		{"a phase cut short", newBundle2(newPart("phase-heads", 0).body(make([]byte, 25))), "too short"},
		{"markers of another format", newBundle2(newPart("obsmarkers", 0).body([]byte{9})), "format 9"},
		{"a marker of 2 GB", newBundle2(newPart("obsmarkers", 0).body(append([]byte{1}, newMarker1(math.MaxInt32)...))), "2147483647 bytes"},
		{"a marker that is short", newBundle2(newPart("obsmarkers", 0).body(append([]byte{1}, newMarker1(8)...))), "has 8 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := read(t, test.bundle); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// interrupting is a part that another interrupts, which another interrupts ...
func interrupting(depth int) testPart {
	p := newPart("output", 0)
	if depth == 0 {
		return p
	}
	return p.broken(word(interrupt), interrupting(depth-1).bytes(), word(0))
}

// The same for streams and the revlogs in them.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	text := "u" + someManifest + "\nu\n1 0\n\nm"
	size := int32(len(text))
	good := entry(0, 0, size, size-1, 0, 0, -1)
	for _, test := range []struct {
		name string
		part testPart
		says string
	}{
		{"unknown requirement", newStream("revlogv1,exp-revlogv2.2", "0"), `needs "exp-revlogv2.2"`},
		{"requirements that are none", newStream("%", "0"), `told as "%"`},
		{"before 2006", newStream("store", "0"), "before 2006"},
		{"files without number", newStream("revlogv1", "many"), `"many" files`},
		{"files without end", newStream("revlogv1", "99999999999"), "99999999999 files"},
		{"a file too few", newStream("revlogv1", "1"), "too short"},
		{"a file elsewhere", newStream("revlogv1", "1", []byte("x\x01\x00a")), "unknown kind 'x'"},
		{"a file without end", newStream("revlogv1", "1", streamed("data/a.i", 1<<62, "")), "a file of 4611686018427387904 bytes"},
		{"a file cut short", newStream("revlogv1", "1", streamed("data/a.i", 1<<30, "x")), "too short"},
		{"a name without end", newStream("revlogv1", "1", append([]byte{'s'}, append(uvarint(1<<40), 0)...)), "a name of 1099511627776"},
		{"a file twice", newStream("revlogv1", "2", streamed("data/a.i", 0, ""), streamed("data/a.i", 0, "")), "twice"},
		{"a file without name", newStream("revlogv1", "1", streamed("data/.i", 4, "\x00\x00\x00\x01")), "no name"},
		{"an index of 3 bytes", newStore(good[:3], text), "too short"},
		{"an index of 65 bytes", newStore(append(bytes.Clone(good), 0), text), "too short"},
		{"another version", newStore([]byte("\x00\x00\xde\xad"), text), "version 57005"},
		{"no data", newStream("revlogv1", "1", streamed("00changelog.i", 64, string(good))), "missing"},
		{"data beyond its end", newStore(entry(0, 0, size+1, size, 0, 0, -1), text), "bytes at 0 of a file of"},
		{"data of 2 GB", newStore(entry(0, 0, math.MaxInt32, 1, 0, 0, -1), text), "2147483647 bytes at 0"},
		{"inline data of 2 GB", newStore(inline(entry(0, 0, math.MaxInt32, 1, 0, 0, -1)), text), "too short"},
		{"a text of another size", newStore(entry(0, 0, size, size, 0, 0, -1), text), "bytes instead of"},
		{"unknown flags", newStore(entry(1, 0, size, size-1, 0, 0, -1), text), "unknown flags 0x1"},
		{"a flag that keeps a text from being checked", newStore(entry(uint16(revlog.Censored), 0, size, size-1, 0, 0, -1), text), "was taken away, and has one"},
		{"another such flag", newStore(entry(uint16(revlog.External), 0, size, size-1, 0, 0, -1), text), "kept elsewhere, and not where"},
		{"a narrow clone", newStore(entry(uint16(revlog.Ellipsis), 0, size, size-1, 0, 0, -1), text), "narrow clone"},
		{"a parent that is itself", newStore(entry(0, 0, size, size-1, 0, 0, 0), text), "do not come before it"},
		{"unknown compression", newStore(entry(0, 0, 1, 1, 0, 0, -1), "?"), `begins with '?'`},
		{"no zlib", newStore(entry(0, 0, 3, 1, 0, 0, -1), "xxx"), "zlib"},
		{"no zstd", newStore(entry(0, 0, 3, 1, 0, 0, -1), "(xx"), "zstd"},
		{"zstd of 4 GB", newStore(entry(0, 0, 13, 1, 0, 0, -1), "(\xb5\x2f\xfd\xe0\x00\x00\x00\xff\x00\x00\x00\x00"), "13 bytes would be 4278190080"},
		{"phases that are none", newStream("revlogv1", "1", streamed("phaseroots", 2, "1\n")), `the line "1"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := read(t, newBundle2(test.part)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, head := range map[string]string{
		"a name without line": strings.Repeat("x", bundleBuffer), "a file without size": "data/a.i\n", "a size below 0": "data/a.i\x00-1\n",
	} {
		bundle := append([]byte("HGS1UN\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x09revlogv1\x00"), head...)
		if err := read(t, bundle); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const someManifest = "0123456789abcdef0123456789abcdef01234567"

func inline(index []byte) []byte {
	index[1] |= 1
	return index
}

// What would lead elsewhere is found before anything was sent; later, nothing leads elsewhere any more.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	err := read(t, newBundle2(newStream("revlogv1,more", "0")))
	if !errors.As(err, new(unsupported)) {
		t.Errorf("at first: %v", err)
	}
	to := newIntake(t.Context(), &drain{t: t}, "")
	err = readBundle(bytes.NewReader(newBundle2(newPart("CHANGEGROUP", 0).body(newChangegroup(1)), newPart("MORE", 0))), to)
	if err == nil || errors.As(err, new(unsupported)) {
		t.Errorf("later: %v", err)
	}
}

// An error of the sink comes back as it was.
func TestSinkError(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for _, bundle := range [][]byte{append([]byte("HG10UN"), newChangegroup(1)...), newBundle2(newStore(entry(0, 0, 1, 0, 0, 0, -1), "u"))} {
		_, err := ReadBundle(bytes.NewReader(bundle), "b", t.TempDir()).Pull(t.Context(), nil, refusing{full})
		if err != full {
			t.Errorf("%v", err)
		}
	}
}

type refusing struct{ err error }

func (r refusing) Changeset(*revlog.Revision) error        { return r.err }
func (r refusing) Manifest(string, *revlog.Revision) error { return r.err }
func (r refusing) File(string, *revlog.Revision) error     { return r.err }

// Interrupts and parts that need not be understood are passed over.
func TestPartsPassedOver(t *testing.T) {
	t.Parallel()
	group := newChangegroup(2)
	parts := newParts(
		newPart("unknown", 0, "a", "b").body([]byte("anything")),
		newPart("CHANGEGROUP", 1, "version", "02").broken(word(50), group[:50], word(interrupt), newPart("output", 0).body([]byte("hello")).bytes(), word(int64(len(group)-50)), group[50:], word(0)),
	)
	to := newIntake(t.Context(), &drain{t: t}, "")
	if err := readParts(bufio.NewReader(bytes.NewReader(parts)), to); err != nil || len(to.shown().Heads) != 1 {
		t.Errorf("%v, %v", to.shown(), err)
	}
}
