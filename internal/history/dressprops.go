package history

import (
	"fmt"
	"slices"
	"strings"

	"gantry/internal/origin"
	"gantry/internal/pack"
)

// ignoredIn returns lines of .gitignore for what the properties of a directory say: svn:ignore is about what is in it
// (subversion/libsvn_wc, patterns of one name each), svn:global-ignores about all that is below it as well.
func (d *dresser) ignoredIn(props pack.ID) (string, error) {
	kept, _, err := loadProps(d.store, props)
	if err != nil || !d.wants.Ignores {
		return "", err
	}
	return ignoreLines(kept, "svn:ignore", "/") + ignoreLines(kept, "svn:global-ignores", ""), nil
}

// ignoredAbove returns the lines that a branch inherits from the directories above it.
func (d *dresser) ignoredAbove(root Node, branch string) (string, error) {
	var lines strings.Builder
	dir := root.Side
	for branch != "" && !dir.IsZero() {
		side, err := Load(d.store, dir)
		if err != nil {
			return "", err
		}
		own, err := FindOwn(side)
		if err != nil {
			return "", err
		}
		kept, _, err := loadProps(d.store, own)
		if err != nil {
			return "", err
		}
		lines.WriteString(ignoreLines(kept, "svn:global-ignores", ""))
		var name string
		name, branch, _ = strings.Cut(branch, "/")
		below, err := find(side, SideDir, GitName(name))
		if err != nil {
			return "", err
		}
		dir = below.ID
	}
	return lines.String(), nil
}

// ignoreLines turns the patterns of a property into lines that begin with prefix. A pattern is matched against single
// names, so that one with a slash never matches.
func ignoreLines(props []origin.Prop, name, prefix string) string {
	at := slices.IndexFunc(props, func(p origin.Prop) bool { return p.Name == name })
	if at < 0 {
		return ""
	}
	var lines strings.Builder
	for pattern := range strings.FieldsFuncSeq(string(props[at].Value), func(c rune) bool { return c == '\n' || c == '\r' }) {
		if strings.ContainsAny(pattern, "/\x00") || strings.Trim(pattern, " ") == "" {
			continue
		}
		for strings.Contains(pattern, "**") { // has a meaning of its own in Git
			pattern = strings.ReplaceAll(pattern, "**", "*")
		}
		if prefix == "" && strings.ContainsAny(pattern[:1], "#!") {
			pattern = `\` + pattern
		}
		if bare := strings.TrimRight(pattern, " "); bare != pattern { // Git drops spaces at the end
			pattern = bare + strings.Repeat(`\ `, len(pattern)-len(bare))
		}
		lines.WriteString(prefix + pattern + "\n")
	}
	return lines.String()
}

// attributesOf returns what .gitattributes says of a file with these kept properties, "" for nothing.
func (d *dresser) attributesOf(props pack.ID) (string, error) {
	if !d.wants.Attributes {
		return "", nil
	}
	if words, ok := d.attributes[props]; ok {
		return words, nil
	}
	kept, _, err := loadProps(d.store, props)
	if err != nil {
		return "", err
	}
	if len(d.attributes) == maxKnown {
		clear(d.attributes)
	}
	words := attributeWords(kept)
	d.attributes[props] = words
	return words, nil
}

// attributeWords translates properties of a file. Texts of style CR and CRLF are stored with their line ends, which Git
// must leave alone. Of all keywords Git knows Id.
func attributeWords(props []origin.Prop) string {
	var words []string
	binary := false
	for _, p := range props { // sorted by name: svn:eol-style, svn:keywords, svn:mime-type
		value := strings.TrimSpace(string(p.Value))
		switch p.Name {
		case "svn:eol-style":
			switch value {
			case "native":
				words = append(words, "text")
			case "LF":
				words = append(words, "text", "eol=lf")
			case "CR", "CRLF":
				words = append(words, "-text")
			}
		case "svn:keywords":
			if slices.ContainsFunc(strings.Fields(value), func(word string) bool { return strings.EqualFold(word, "Id") }) {
				words = append(words, "ident")
			}
		case "svn:mime-type":
			binary = isBinary(value)
		}
	}
	if binary {
		words = slices.DeleteFunc(words, func(word string) bool { return word != "ident" })
		words = append([]string{"binary"}, words...)
	}
	return strings.Join(words, " ")
}

// isBinary is Subversion's own judgement of a MIME type.
func isBinary(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	mime = strings.TrimSpace(mime)
	return mime != "" && !strings.HasPrefix(mime, "text/") && mime != "image/x-xbitmap" && mime != "image/x-xpixmap"
}

// attributesLine is a line of .gitattributes, "" when git would refuse it for its length.
func attributesLine(name, words string) string {
	const longest = 2047
	line := attributesPattern(name) + " " + words
	if len(line) > longest {
		return ""
	}
	return line + "\n"
}

// attributesPattern matches one name in the directory of a .gitattributes file. Wildcards are escaped; what would end the
// pattern puts it in quotes, as gitattributes(5) has it.
func attributesPattern(name string) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(name) {
		if strings.IndexByte(`*?[\`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	pattern := b.String()
	if !strings.ContainsFunc(pattern, func(c rune) bool { return c <= ' ' || c == '"' || c == '\\' || c == 0x7f }) {
		return pattern
	}
	b.Reset()
	b.WriteByte('"')
	for i := range len(pattern) {
		switch c := pattern[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}
