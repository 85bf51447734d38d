package history

import "strings"

// ManifestName is GitName for one component of a path in a manifest of Mercurial's. Two names are written with escapes
// there beside those of GitName, which other systems may have as they are: "", which Git cannot hold, and ".hg" in all
// spellings, which Mercurial itself never has, and which would configure it in a working copy.
func ManifestName(name string) string {
	switch {
	case isPlain(name) && !hasPrefixFold(name, hgShort):
		return name
	case name == "":
		return emptyName
	case isMercurial(name) || isEscapedMercurial(name):
		return escape(name)
	}
	return GitName(name)
}

// emptyName reads like the escaped form of a NUL, which no path in a manifest has.
const emptyName = "%00"

// hgShort is the short form that NTFS gives ".hg".
const hgShort = "hg~1"

func isMercurial(name string) bool {
	if hfsFold(name) == ".hg" {
		return true
	}
	for _, form := range []string{".hg", hgShort} {
		if hasPrefixFold(name, form) && endsNTFSName(name[len(form):]) {
			return true
		}
	}
	return false
}

func isEscapedMercurial(name string) bool {
	if !strings.HasPrefix(name, "%") {
		return false
	}
	plain := unescape(name)
	return len(plain) < len(name) && escape(plain) == name && (isMercurial(plain) || isEscapedMercurial(plain))
}
