package history

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// GitName returns the name that an entry of a directory at the origin has in Git.
//
// It is the same name, unless git fsck would refuse it as a trap for some file system: ".", "..", all look-alikes of
// ".git", the look-alikes of ".gitmodules" (not that name itself), and names with a NUL. Such a name is written with
// percent escapes (two upper-case hexadecimal digits): its first byte, each backslash, each NUL and each percent sign.
// Names that read like the result of this rule, or are a SecondName, are escaped as well, so that OriginName takes every
// name back.
func GitName(name string) string {
	if isPlain(name) || !isRefused(name) && !isEscaped(name) {
		return name
	}
	return escape(name)
}

// OriginName is the inverse of GitName.
func OriginName(name string) string {
	if !isEscaped(name) {
		return name
	}
	return unescape(name)
}

// isPlain finds out quickly that nothing is wrong with most names.
func isPlain(name string) bool {
	if name == "" {
		return false
	}
	switch name[0] {
	case '.', 'g', 'G', '~', '%':
		return false
	}
	for i := range len(name) {
		if c := name[i]; c == '\\' || c == 0 || c >= 0xe2 {
			return false
		}
	}
	return true
}

func isEscaped(name string) bool {
	if len(name) < 3 || name[0] != '%' {
		return false
	}
	plain := unescape(name)
	return len(plain) < len(name) && escape(plain) == name && (isRefused(plain) || isConfig(plain) || isEscaped(plain))
}

const upperHex = "0123456789ABCDEF"

func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case i == 0, c == '\\', c == '%', c == 0:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			high, low := strings.IndexByte(upperHex, name[i+1]), strings.IndexByte(upperHex, name[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

func isRefused(name string) bool {
	if name == "." || name == ".." || strings.IndexByte(name, 0) >= 0 {
		return true
	}
	if folded := hfsFold(name); folded == ".git" || folded == ".gitmodules" && name != ".gitmodules" {
		return true
	}
	// Windows takes a backslash for a slash: what follows one is a name of its own.
	for rest := name; ; {
		if isNTFSGit(rest) || isNTFSGitmodules(rest) && rest != ".gitmodules" {
			return true
		}
		i := strings.IndexByte(rest, '\\')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
		if rest == ".gitmodules" {
			return true
		}
	}
}

// hfsIgnored are the code points that HFS+ leaves out of names.
var hfsIgnored = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x200c, Hi: 0x200f, Stride: 1}, {Lo: 0x202a, Hi: 0x202e, Stride: 1}, {Lo: 0x206a, Hi: 0x206f, Stride: 1}, {Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
}}

// hfsFold returns a name the way HFS+ compares it, as far as it matters here.
func hfsFold(name string) string {
	if !utf8.ValidString(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(hfsIgnored, r):
			return -1
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// isNTFSGit reports whether NTFS takes a name for ".git": without regard of case, by its short form, with spaces and
// dots behind it, or as one of its streams.
func isNTFSGit(name string) bool {
	for _, form := range []string{".git", "git~1"} {
		if hasPrefixFold(name, form) && endsNTFSName(name[len(form):]) {
			return true
		}
	}
	return false
}

func isNTFSGitmodules(name string) bool {
	return isNTFSName(name, ".gitmodules", "gitmod~", "gi7eba")
}

// isNTFSName is isNTFSGit for a longer name. Its short forms end in 1 to 4; when those are taken, they are the start of
// a hash and a number, eight characters together.
func isNTFSName(name, long, short, hashed string) bool {
	switch {
	case hasPrefixFold(name, long):
		return endsNTFSName(name[len(long):])
	case hasPrefixFold(name, short) && len(name) > len(short) && name[len(short)] >= '1' && name[len(short)] <= '4':
		return endsNTFSName(name[len(short)+1:])
	case len(name) < 8:
		return false
	}
	tilde := strings.IndexByte(name[:8], '~')
	if tilde < 0 || tilde == 7 || !strings.EqualFold(name[:tilde], hashed[:min(tilde, len(hashed))]) || name[tilde+1] == '0' {
		return false
	}
	for _, c := range []byte(name[tilde+1 : 8]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return endsNTFSName(name[8:])
}

// endsNTFSName reports whether NTFS ignores the rest of a name: spaces, dots, and the name of a stream.
func endsNTFSName(rest string) bool {
	rest = strings.TrimLeft(rest, " .")
	return rest == "" || rest[0] == ':' || rest[0] == '\\'
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
