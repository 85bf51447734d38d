package revlog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const someNode = "0123456789abcdef0123456789abcdef01234567"

func TestParseChangeset(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       string // user | seconds | zone | extras | files | description
	}{
		{"whole", "alice <a@b>\n12 -3600 branch:stable\x00close:1\na\nb c\n\nOne\n\ntwo", "alice <a@b>|12|3600|branch=stable;close=1;|a,b c|One\n\ntwo"},
		{"no files", "alice\n12 0\n\nMessage", "alice|12|0|||Message"},
		{"no description", "alice\n12 0\na\n\n", "alice|12|0||a|"},
		{"no user", "\n12 0\n\nm", "|12|0|||m"},
		{"before 1970", "u\n-86400 18000\n\nm", "u|-86400|-18000|||m"},
		{"beyond 2038", "u\n5000000000 0\n\nm", "u|5000000000|0|||m"},
		{"fraction", "u\n1234.75 0\n\nm", "u|1234|0|||m"},
		{"a zone that is none", "u\n12 CEST\n\nm", "u|12|0|||m"},
		{"no zone", "u\n12\n\nm", "u|12|0|||m"},
		{"beyond all time", "u\n99999999999999999999 0\n\nm", "u|8796093022208|0|||m"},
		{"escapes", "u\n1 0 k:a\\nb\\\\n\\0\\r\\t\\x41\\q\x00l:x:y\n\nm", "u|1|0|k=a\nb\\n\x00\r\tA\\q;l=x:y;||m"},
		{"any bytes", "\xff\xfe\n1 0\n\xe4\n\n\x80", "\xff\xfe|1|0||\xe4|\x80"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := ParseChangeset([]byte(someNode + "\n" + test.text))
			if err != nil {
				t.Fatal(err)
			}
			if c.Manifest.String() != someNode {
				t.Errorf("manifest %s", c.Manifest)
			}
			if got := show(&c); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func show(c *Changeset) string {
	var extras strings.Builder
	for _, e := range c.Extras {
		extras.WriteString(e.Key + "=" + string(e.Value) + ";")
	}
	var files []string
	for f := range c.Files() {
		files = append(files, string(f))
	}
	return strings.Join([]string{
		string(c.User), strconv.FormatInt(c.Time.Unix(), 10), strconv.Itoa(c.Zone), extras.String(), strings.Join(files, ","), string(c.Description),
	}, "|")
}

// The empty text is that of a changeset which says nothing.
func TestEmptyChangeset(t *testing.T) {
	t.Parallel()
	c, err := ParseChangeset(nil)
	if err != nil || !c.Manifest.IsNull() || !c.Time.Equal(time.Unix(0, 0)) || c.Branch() != DefaultBranch || c.Closes() {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	c, err := ParseChangeset([]byte(someNode + "\nu\n1 0 branch:b\x00close:1\n\nm"))
	if err != nil || c.Branch() != "b" || !c.Closes() || c.Extra("source") != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestParseChangesetRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"x", someNode, someNode + "\nu\n1 0", someNode + "\nu\n1 0\nfile\n", "0123\nu\n1 0\n\nm", strings.Repeat("g", 40) + "\nu\n1 0\n\nm",
		someNode + "\nu\nyesterday 0\n\nm", someNode + "\nu\nNaN 0\n\nm", someNode + "\nu\n1 0 branch\n\nm",
	} {
		if c, err := ParseChangeset([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, c)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	text := "a\x00" + someNode + "\na-b\x00" + someNode + "x\na/\xff\x00" + someNode + "l\nd\x00" + someNode + "t\n"
	var got []string
	for e, err := range Entries([]byte(text)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Path)+string(rune(e.Flag))+e.Node.String()[:4])
	}
	if want := []string{"a\x000123", "a-bx0123", "a/\xffl0123", "dt0123"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEntriesRefuses(t *testing.T) {
	t.Parallel()
	line := "b\x00" + someNode
	for _, text := range []string{
		line, line + "x", line + "y\n", line + "xx\n", "\x00" + someNode + "\n", "\n", "b\n", "b\x00" + someNode[:39] + "\n", "b\x00" + someNode[:39] + "g\n",
		"a\nb\x00" + someNode + "\n", line + "\na\x00" + someNode + "\n", line + "\n" + line + "\n", line + "\r\n",
	} {
		var last error
		for _, err := range Entries([]byte(text)) {
			last = err
		}
		if last == nil {
			t.Errorf("%q is a manifest", text)
		}
	}
}

func TestSplitMetadata(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, header, content string }{
		{"", "", ""},
		{"content\n", "", "content\n"},
		{"\x01\ncopy: a b\ncopyrev: 12\n\x01\ncontent", "\x01\ncopy: a b\ncopyrev: 12\n\x01\n", "content"},
		{"\x01\n\x01\n\x01\nescaped", "\x01\n\x01\n", "\x01\nescaped"},
		{"\x01\nno end", "", "\x01\nno end"},
		{"\x01\n", "", "\x01\n"},
	} {
		header, content := SplitMetadata([]byte(test.text))
		if string(header) != test.header || string(content) != test.content {
			t.Errorf("%q is %q and %q", test.text, header, content)
		}
	}
	header, _ := SplitMetadata([]byte("\x01\ncopy: a: b\ncopyrev: 12\n\x01\n"))
	if got := Metadata(header, CopyPath); string(got) != "a: b" {
		t.Errorf("copied from %q", got)
	}
	if got := Metadata(header, CensoredKey); got != nil {
		t.Errorf("censored: %q", got)
	}
}

// Lines that say nothing are passed over as hg does.
func TestTags(t *testing.T) {
	t.Parallel()
	null := Null.String()
	text := someNode + " v1\n\nno tag\n" + someNode[:39] + " odd\n" + someNode[:38] + " short\n" + someNode + " with space \r\n" + null + " v1\n" + someNode + "\n" + someNode + "  \n" + someNode + " last"
	var got []string
	for tag := range Tags([]byte(text)) {
		got = append(got, tag.Node.String()[:1]+string(tag.Name)+map[bool]string{true: "-"}[tag.Node.IsNull()])
	}
	if want := []string{"0v1", "fshort", "0with space", "0v1-", "0", "0last"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParseLayout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		head string
		want Layout
		says string
	}{
		{"\x00\x00\x00\x01", Layout{}, ""},
		{"\x00\x01\x00\x01", Layout{Inline: true}, ""},
		{"\x00\x03\x00\x01", Layout{Inline: true, GeneralDelta: true}, ""},
		{"\x00\x00\x00\x00", Layout{}, "version 0"},
		{"\x00\x00\xde\xad", Layout{}, "version 57005"},
		{"\x00\x04\x00\x01", Layout{}, "unknown features 0x4"},
	} {
		got, err := ParseLayout([]byte(test.head))
		if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q is %+v, %v", test.head, got, err)
		}
	}
}

func TestParseIndexEntry(t *testing.T) {
	t.Parallel()
	entry := func(fields ...string) []byte {
		return []byte(strings.Join(fields, "") + "0123456789abcdefghij" + strings.Repeat("\x00", 12))
	}
	const minus = "\xff\xff\xff\xff"
	e, err := ParseIndexEntry(entry("\x00\x00\x00\x00\x01\x02\x80\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x06", "\x00\x00\x00\x02", "\x00\x00\x00\x09", "\x00\x00\x00\x01", minus), 3)
	if want := (IndexEntry{Offset: 0x102, Flags: Censored, Packed: 5, Size: 6, Base: 2, Link: 9, P1: 1, P2: -1, Node: Node([]byte("0123456789abcdefghij"))}); err != nil || e != want {
		t.Errorf("%+v, %v, want %+v", e, err, want)
	}
	// The layout lies over the offset of the first.
	e, err = ParseIndexEntry(entry("\x00\x03\x00\x01\x00\x00\x00\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x06", "\x00\x00\x00\x00", "\x00\x00\x00\x00", minus, minus), 0)
	if err != nil || e.Offset != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	for name, bad := range map[string][]byte{
		"a size below 0":        entry("\x00\x00\x00\x00\x00\x00\x00\x00", minus, "\x00\x00\x00\x06", "\x00\x00\x00\x00", "\x00\x00\x00\x00", minus, minus),
		"a later base":          entry("\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x06", "\x00\x00\x00\x04", "\x00\x00\x00\x00", minus, minus),
		"a parent that is it":   entry("\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x06", "\x00\x00\x00\x03", "\x00\x00\x00\x00", "\x00\x00\x00\x03", minus),
		"a parent before all -": entry("\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x06", "\x00\x00\x00\x03", "\x00\x00\x00\x00", minus, "\xff\xff\xff\xfe"),
	} {
		if e, err := ParseIndexEntry(bad, 3); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// A node is of text and parents, whichever of them comes first.
func TestSum(t *testing.T) {
	t.Parallel()
	// hg debugdata of a repository's first file with the content "1\n" has this node.
	if got := Sum(Null, Null, []byte("1\n")); got.String() != "b8e02f6433738021a065f94175c7cd23db5f05be" {
		t.Errorf("%s", got)
	}
	one, two := Node{1}, Node{2}
	if Sum(one, two, nil) != Sum(two, one, nil) || Sum(one, two, nil) == Sum(one, one, nil) {
		t.Error("parents count wrongly")
	}
}

func FuzzChangeset(f *testing.F) {
	f.Add([]byte(someNode + "\nalice <a@b>\n12 -3600 branch:s\\n\x00close:1\na\nb\n\nOne"))
	f.Add([]byte(someNode + "\nu\n1e300 x\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseChangeset(text)
		if err != nil {
			return
		}
		_, _, _ = c.Branch(), c.Closes(), show(&c)
		if n := c.Time.Unix(); n < -maxSeconds || n > maxSeconds {
			t.Errorf("%d seconds", n)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("a\x00" + someNode + "\nb\x00" + someNode + "x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var again []byte
		for e, err := range Entries(text) {
			if err != nil {
				return
			}
			again = append(append(again, e.Path...), 0)
			again = append(again, e.Node.String()...)
			if e.Flag != 0 {
				again = append(again, e.Flag)
			}
			again = append(again, '\n')
		}
		if !strings.EqualFold(string(again), string(text)) { // hexadecimal digits may be of both cases
			t.Errorf("%q became %q", text, again)
		}
	})
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("\x01\ncopy: a\ncopyrev: b\n\x01\ncontent"))
	f.Fuzz(func(t *testing.T, text []byte) {
		header, content := SplitMetadata(text)
		if string(header)+string(content) != string(text) {
			t.Errorf("%q is %q and %q", text, header, content)
		}
		Metadata(header, CopyPath)
		for tag := range Tags(text) {
			if bytes.ContainsAny(tag.Name, "\r\n") {
				t.Errorf("the tag %q", tag.Name)
			}
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(make([]byte, IndexEntrySize), 0)
	f.Fuzz(func(t *testing.T, p []byte, number int) {
		if len(p) < IndexEntrySize || number < 0 {
			return
		}
		if _, err := ParseLayout(p); err != nil {
			return
		}
		e, err := ParseIndexEntry(p, number)
		if err == nil && (e.Offset < 0 || e.Packed < 0 || e.Size < 0 || e.Base > number || e.P1 >= number || e.P2 >= number) {
			t.Errorf("%+v of revision %d", e, number)
		}
	})
}
