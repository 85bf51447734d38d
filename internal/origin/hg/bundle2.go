package hg

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	maxStreamParams = 64 << 10 // bytes
	maxPartHeader   = 1 << 19  // bytes; no header that keeps to the format needs more
	maxInterrupts   = 4        // parts within parts
	interrupt       = -1       // in the place of a chunk's size: a whole part comes first
)

// readStreamParams reads the parameters that stand before all parts, and returns the compression.
func readStreamParams(in *bufio.Reader) (compression string, err error) {
	n, err := readInt32(in)
	if err != nil {
		return "", err
	}
	if n < 0 || n > maxStreamParams {
		return "", malformedf("the parameters of the bundle have %d bytes, %d is the most", n, maxStreamParams)
	}
	block, err := readInto(in, nil, int(n))
	if err != nil {
		return "", err
	}
	for param := range strings.FieldsSeq(string(block)) {
		name, value, _ := strings.Cut(param, "=")
		name, value, err := unquotePair(name, value)
		switch {
		case err != nil || name == "":
			return "", malformedf("the bundle has the parameter %.60q", param)
		case strings.EqualFold(name, "compression"):
			compression = value
		case name[0] >= 'A' && name[0] <= 'Z':
			return "", unsupportedf("the bundle needs %.60q to be understood", name)
		}
	}
	return compression, nil
}

func unquotePair(a, b string) (string, string, error) {
	a, err1 := url.PathUnescape(a)
	b, err2 := url.PathUnescape(b)
	return a, b, errors.Join(err1, err2)
}

// part is a part of a bundle whose header was read. It reads as its payload.
type part struct {
	name      string // in lower case
	mandatory bool
	params    map[string]string
	needed    []string // names of the parameters that must be understood

	in    *bufio.Reader
	to    *intake
	depth int   // how many parts it interrupts
	left  int64 // bytes of the chunk that is being read
	ended bool
}

// readParts reads parts up to the end of a bundle.
func readParts(in *bufio.Reader, to *intake) error {
	for {
		p, err := readPart(in, to, 0)
		if err != nil || p == nil {
			return err
		}
		if err := p.take(); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, p); err != nil {
			return err
		}
	}
}

// readPart reads the header of a part, nil at the end of the bundle.
func readPart(in *bufio.Reader, to *intake, depth int) (*part, error) {
	n, err := readInt32(in)
	if err != nil || n == 0 {
		return nil, err
	}
	if n < 0 || n > maxPartHeader {
		return nil, malformedf("the header of a part has %d bytes, %d is the most", n, maxPartHeader)
	}
	header, err := readInto(in, nil, int(n))
	if err != nil {
		return nil, err
	}
	p := &part{in: in, to: to, depth: depth, params: make(map[string]string)}
	if !p.parse(header) {
		return nil, malformedf("the header of a part does not keep to its format: %.60q", header)
	}
	return p, nil
}

// parse reads name, number (which nothing refers to) and parameters.
func (p *part) parse(header []byte) bool {
	take := func(n int) []byte {
		if n > len(header) {
			header = nil
			return nil
		}
		taken := header[:n]
		header = header[n:]
		return taken
	}
	if len(header) == 0 {
		return false
	}
	name := string(take(1 + int(header[0])))
	if name == "" || len(header) < 6 {
		return false
	}
	p.name = strings.ToLower(name[1:])
	p.mandatory = p.name != name[1:]
	take(4)
	counts := take(2)
	mandatory, all := int(counts[0]), int(counts[0])+int(counts[1])
	sizes := take(2 * all)
	if len(sizes) < 2*all {
		return false
	}
	for i := range all {
		keySize, valueSize := int(sizes[2*i]), int(sizes[2*i+1])
		if keySize+valueSize > len(header) {
			return false
		}
		key := string(take(keySize))
		if _, twice := p.params[key]; twice {
			return false
		}
		p.params[key] = string(take(valueSize))
		if i < mandatory {
			p.needed = append(p.needed, key)
		}
	}
	return len(header) == 0
}

// Read reads the payload.
func (p *part) Read(buf []byte) (int, error) {
	for p.left == 0 && !p.ended {
		n, err := readInt32(p.in)
		switch {
		case err != nil:
			return 0, err
		case n == 0:
			p.ended = true
		case n == interrupt:
			if err := p.interrupted(); err != nil {
				return 0, err
			}
		case n < 0:
			return 0, malformedf("a chunk of the part %q has %d bytes", p.name, n)
		default:
			p.left = int64(n)
		}
	}
	if p.ended {
		return 0, io.EOF
	}
	n, err := p.in.Read(buf[:min(int64(len(buf)), p.left)])
	p.left -= int64(n)
	return n, unexpected(err)
}

// interrupted reads the part that comes before the next chunk of this one.
func (p *part) interrupted() error {
	if p.depth == maxInterrupts {
		return malformedf("more than %d parts interrupt each other", maxInterrupts)
	}
	other, err := readPart(p.in, p.to, p.depth+1)
	if err != nil || other == nil {
		return err
	}
	if other.name == "changegroup" || other.name == "stream2" {
		return malformedf("a part %q interrupts another", other.name)
	}
	if err := other.take(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, other)
	return err
}

// partKind is what is done with parts of one name.
type partKind struct {
	params []string // that are understood
	take   func(*part) error
}

// partKinds are those that are understood. What a part leaves unread is passed over.
func partKinds(name string) (partKind, bool) {
	pass := func(*part) error { return nil }
	switch name {
	case "changegroup":
		return partKind{[]string{"version", "nbchanges", "treemanifest", "targetphase", "exp-sidedata", "exp-wanted-sidedata"}, (*part).changegroup}, true
	case "stream2":
		return partKind{[]string{"requirements", "filecount", "bytecount"}, (*part).stream2}, true
	case "listkeys":
		return partKind{[]string{"namespace"}, (*part).listKeys}, true
	case "bookmarks":
		return partKind{nil, (*part).bookmarks}, true
	case "phase-heads":
		return partKind{nil, (*part).phaseHeads}, true
	case "obsmarkers":
		return partKind{nil, func(p *part) error { return p.to.told.readMarkers(bufio.NewReader(p)) }}, true
	case "error:abort":
		return partKind{[]string{"message", "hint"}, func(p *part) error { return &aborted{p.params["message"], p.params["hint"]} }}, true
	case "error:unsupportedcontent":
		return partKind{[]string{"parttype", "params"}, (*part).notUnderstood}, true
	case "output", "replycaps", "hgtagsfnodes", "cache:rev-branch-cache":
		return partKind{nil, pass}, true
	}
	return partKind{}, false
}

// take does with a part what is to be done with it.
func (p *part) take() error {
	kind, known := partKinds(p.name)
	if !known {
		if p.mandatory {
			return p.to.unsupportedf("the bundle has a part %.60q, which must be understood and is not", p.name)
		}
		return nil
	}
	for _, name := range p.needed {
		if !slices.Contains(kind.params, name) {
			return p.to.unsupportedf("the part %q of the bundle has the parameter %.60q, which must be understood and is not", p.name, name)
		}
	}
	err := kind.take(p)
	if p.ended && errors.Is(err, io.ErrUnexpectedEOF) {
		return malformedf("the part %q of the bundle is too short for what it says", p.name)
	}
	return err
}

func (p *part) notUnderstood() error {
	return &aborted{message: "it did not understand " + strings.TrimSpace(p.params["parttype"]+" "+strings.ReplaceAll(p.params["params"], "\x00", " "))}
}

func (p *part) changegroup() error {
	version := 1
	if v, told := p.params["version"]; told {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n >= len(headerSizes) {
			return p.to.unsupportedf("the bundle has a changegroup of version %.20q: 01 to 04 can be read", v)
		}
		version = n
	}
	if target, told := p.params["targetphase"]; told {
		n, err := strconv.ParseInt(target, 10, 32)
		if err != nil {
			return malformedf("the changegroup is of phase %.20q", target)
		}
		p.to.told.phase = phase(n)
	}
	return readChangegroup(bufio.NewReaderSize(p, bundleBuffer), version, p.to)
}

func readInt32(in io.Reader) (int32, error) {
	var word [4]byte
	if _, err := io.ReadFull(in, word[:]); err != nil {
		return 0, unexpected(err)
	}
	return int32(binary.BigEndian.Uint32(word[:])), nil
}
