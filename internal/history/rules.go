package history

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gantry"
)

// Rules say which directories are branches and tags. They are made by ParseRules.
//
// A rule is a line. Words are separated by spaces; what follows a word that begins with # is a comment.
//
//	trunk    PATTERN [as NAME] [until REVISION]
//	branches PATTERN [as NAME] [until REVISION]
//	tags     PATTERN [as NAME] [until REVISION]
//	ignore   PATTERN [until REVISION]
//
// A pattern is a path below the root that is read, which itself is "/". A * in it stands for anything within one name;
// %XX for the byte with that value, as in URLs. A directory that fits the pattern is a branch with all that is in it.
// The first rule that fits a path, or names something below it, decides. What no rule fits lies outside, what ignore
// fits is left out. The name is that of the ref: each * in it is what the pattern's had, in their order. Without a name a
// trunk is the default branch, and others are called by their path, from the first name with a * on. A rule with a
// revision is not in force after it. The words branch and tag are as good as branches and tags.
type Rules struct {
	list []rule
}

// kind is what a directory becomes.
type kind uint8

const (
	trunk kind = iota // the default branch
	branch
	tag
	ignored
)

var kindNames = [...]string{trunk: "trunk", branch: "branches", tag: "tags", ignored: "ignore"}

type rule struct {
	kind  kind
	path  pattern
	as    pattern // nil for the usual name
	until int64   // last revision in which it is in force
}

// pattern is a path whose names may have holes in them.
type pattern []glob

// glob is a name: its literal parts, with a hole between each two.
type glob []string

const (
	maxRules     = 1 << 20 // bytes of text
	maxRuleHoles = 16      // in one name
	maxEras      = 64      // different revisions after which rules are not in force
)

// ParseRules reads rules, one a line. Blank text has none: then the layout is found out, and the result is nil. An error
// is gantry.Invalid and names the line.
func ParseRules(text string) (*Rules, error) {
	if len(text) > maxRules {
		return nil, gantry.Errorf(gantry.Invalid, "history.ParseRules", "the layout has %d bytes; %d are allowed", len(text), maxRules)
	}
	var rules Rules
	eras := map[int64]bool{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		for i, word := range words {
			if word[0] == '#' {
				words = words[:i]
				break
			}
		}
		if len(words) == 0 {
			continue
		}
		r, err := parseRule(words)
		if eras[r.until] = true; err == nil && len(eras) > maxEras {
			err = fmt.Errorf("there are more than %d different revisions after until", maxEras-1)
		}
		if err != nil {
			return nil, gantry.Errorf(gantry.Invalid, "history.ParseRules", "layout, line %d: %w", number, err)
		}
		rules.list = append(rules.list, r)
	}
	if len(rules.list) == 0 {
		return nil, nil
	}
	if err := rules.checkSize(); err != nil {
		return nil, gantry.Errorf(gantry.Invalid, "history.ParseRules", "layout: %w", err)
	}
	return &rules, nil
}

func parseRule(words []string) (rule, error) {
	r := rule{until: endless}
	switch words[0] {
	case "trunk":
		r.kind = trunk
	case "branches", "branch":
		r.kind = branch
	case "tags", "tag":
		r.kind = tag
	case "ignore":
		r.kind = ignored
	default:
		return r, fmt.Errorf("%q is not trunk, branches, tags or ignore", words[0])
	}
	if len(words) < 2 {
		return r, fmt.Errorf("%s needs a path; the root is /", words[0])
	}
	var err error
	if r.path, err = parsePattern(strings.Trim(words[1], "/")); err != nil {
		return r, err
	}
	for rest := words[2:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 {
			return r, fmt.Errorf("something must follow %q", rest[0])
		}
		if err := r.option(rest[0], rest[1]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *rule) option(word, value string) (err error) {
	switch {
	case word == "as" && r.as == nil && r.kind != ignored:
		if r.as, err = parsePattern(value); err == nil && (len(r.as) == 0 || r.as.holes() > r.path.holes()) {
			err = fmt.Errorf("the name %q has more * than the path", value)
		}
		return err
	case word == "until" && r.until == endless:
		r.until, err = strconv.ParseInt(value, 10, 64)
		if err != nil || r.until < 1 || r.until == endless {
			return fmt.Errorf("%q is not a revision", value)
		}
		return nil
	}
	return fmt.Errorf("%q is out of place: write a path, then as NAME, then until REVISION; a space in a path is %%20", word)
}

func parsePattern(text string) (pattern, error) {
	switch {
	case text == "":
		return nil, nil
	case strings.Contains(text, "\x00"):
		return nil, fmt.Errorf("%q has a NUL in it, which no path has", text)
	}
	var p pattern
	for name := range strings.SplitSeq(text, "/") {
		parts := strings.Split(name, "*")
		switch {
		case name == "" || name == "." || name == "..":
			return nil, fmt.Errorf("%q has the name %q in it", text, name)
		case len(parts) > maxRuleHoles+1:
			return nil, fmt.Errorf("%q has more than %d * in a name", text, maxRuleHoles)
		}
		for i := range parts {
			var err error
			if parts[i], err = unescapeURL(parts[i]); err != nil {
				return nil, err
			}
		}
		p = append(p, parts)
	}
	return p, nil
}

// literal is a pattern that fits one path only.
func literal(p string) pattern {
	var list pattern
	if p != "" {
		for name := range strings.SplitSeq(p, "/") {
			list = append(list, glob{name})
		}
	}
	return list
}

// anyIn is the pattern of everything in a directory.
func anyIn(dir string) pattern { return append(literal(dir), glob{"", ""}) }

func (p pattern) holes() (n int) {
	for _, g := range p {
		n += len(g) - 1
	}
	return n
}

func (p pattern) String() string {
	names := make([]string, len(p))
	for i, g := range p {
		parts := make([]string, len(g))
		for j, part := range g {
			parts[j] = escapeURL(part)
		}
		names[i] = strings.Join(parts, "*")
	}
	return strings.Join(names, "/")
}

func (r *rule) String() string {
	path := r.path.String()
	if path == "" {
		path = "/"
	}
	line := kindNames[r.kind] + " " + path
	if r.as != nil {
		line += " as " + r.as.String()
	}
	if r.until != endless {
		line += " until " + strconv.FormatInt(r.until, 10)
	}
	return line
}

// String writes the rules the way that ParseRules reads them.
func (r *Rules) String() string {
	var b strings.Builder
	for i := range r.list {
		b.WriteString(r.list[i].String())
		b.WriteByte('\n')
	}
	return b.String()
}

// name is what the ref of a branch root is called; "" for that of the default branch. Base is the directory that paths
// are told from.
func (r *rule) name(root, base string) string {
	if r.as != nil {
		return r.as.fill(r.path.holesOf(root))
	}
	if r.kind == trunk {
		return ""
	}
	first := 0
	for first < len(r.path) && len(r.path[first]) == 1 {
		first++
	}
	if first == len(r.path) {
		return relative(root, base)
	}
	for range first {
		_, root, _ = strings.Cut(root, "/")
	}
	return root
}

// relative is a path as it is seen from a directory, if it is in there.
func relative(p, dir string) string {
	if below, ok := cutDir(p, dir); ok && below != "" {
		return below
	}
	return p
}

// holesOf returns what the holes of a pattern have in a path that fits.
func (p pattern) holesOf(path string) []string {
	var found []string
	for _, g := range p {
		var name string
		name, path, _ = strings.Cut(path, "/")
		found = append(found, g.match(name)...)
	}
	return found
}

// fill puts texts into the holes.
func (p pattern) fill(holes []string) string {
	names := make([]string, len(p))
	for i, g := range p {
		names[i] = g[0]
		for _, part := range g[1:] {
			names[i] += holes[0] + part
			holes = holes[1:]
		}
	}
	return strings.Join(names, "/")
}

// fits reports whether a name fits.
func (g glob) fits(name string) bool {
	return len(g) == 2 && g[0] == "" && g[1] == "" || g.match(name) != nil
}

// match returns what the holes have in a name, each as little as possible; nil when it does not fit.
func (g glob) match(name string) []string {
	rest, ok := strings.CutPrefix(name, g[0])
	if !ok || len(g) == 1 {
		return nil
	}
	var found []string
	for _, part := range g[1 : len(g)-1] {
		hole, after, ok := strings.Cut(rest, part)
		if !ok {
			return nil
		}
		found, rest = append(found, hole), after
	}
	hole, ok := strings.CutSuffix(rest, g[len(g)-1])
	if !ok {
		return nil
	}
	return append(found, hole)
}

// escapeURL writes what would mean something else with percent signs.
func escapeURL(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r <= ' ' || r == 0x7f || r == utf8.RuneError && size == 1 || strings.ContainsRune("%*#/", r) || unicode.IsSpace(r) {
			for _, c := range []byte(text[i : i+size]) {
				b.WriteByte('%')
				b.WriteByte(upperHex[c>>4])
				b.WriteByte(upperHex[c&15])
			}
		} else {
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

func unescapeURL(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i+3 > len(text) {
			return "", fmt.Errorf("%q ends within an escape; a percent sign is written %%25", text)
		}
		value, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil || value == 0 || value == '/' {
			return "", fmt.Errorf("%q is no escape; a percent sign is written %%25", text[i:i+3])
		}
		b.WriteByte(byte(value))
		i += 2
	}
	return b.String(), nil
}
