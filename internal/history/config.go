package history

import (
	"bytes"
	"regexp"

	"gantry/internal/pack"
)

// SecondName returns the name that an entry has in a Git tree when git fsck refuses it under its first one, GitName; ok
// is false for names whose entries it never refuses. Git takes some files for its configuration wherever they lie:
// .gitmodules and, in all spellings, .gitattributes. Directories of these names, and contents that could do harm, are
// written with percent escapes, as the names are that are always refused.
func SecondName(name string) (second string, ok bool) {
	if !isConfig(name) {
		return "", false
	}
	return escape(name), true
}

func isConfig(name string) bool {
	return name == ".gitmodules" || !isPlain(name) && (hfsFold(name) == ".gitattributes" || isNTFSName(name, ".gitattributes", "gitatt~", "gi7d29"))
}

// NeedsSecondName reports whether git fsck refuses an entry under a name for which there is a second one.
func NeedsSecondName(store *pack.Store, name string, e Entry) (bool, error) {
	if e.Mode != pack.ModeFile && e.Mode != pack.ModeExec {
		return e.IsDir(), nil
	}
	const most = 1 << 20 // bytes; real ones are far smaller
	if _, size, err := store.Stat(e.ID); err != nil || size > most {
		return true, err
	}
	_, data, err := store.Get(e.ID)
	if name == ".gitmodules" {
		return !areHarmlessModules(data), err
	}
	return !areAttributes(data), err
}

// areAttributes reports whether git reads a file of attributes: its lines are bounded.
func areAttributes(data []byte) bool {
	const longest = 2047 // bytes
	data, _, _ = bytes.Cut(data, []byte{0})
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if len(line) > longest {
			return false
		}
	}
	return true
}

var (
	modulesLine    = regexp.MustCompile(`^(?i)\s*(?:\[[^\]]*\])?\s*([a-z][a-z0-9-]*)\s*=\s*(.*?)\s*$`)
	modulesURL     = regexp.MustCompile(`^(?i:(?:https?|ftps?|git|ssh|git\+ssh|file)://)?[A-Za-z0-9_~.@/][A-Za-z0-9_~.@/:+,=&?-]*$`)
	modulesNoHost  = regexp.MustCompile(`^(?i)[a-z+]+:(?:$|:|//(?:$|[/:@]))|^(?:\.\.?/)+[:/]|^[a-z]+::`)
	modulesHeading = regexp.MustCompile(`^\s*\[[^\]]*\.\.`)
)

// areHarmlessModules reports whether a file of submodules is certainly one that git fsck takes: addresses, paths and
// names that look like options, commands or ways out of the tree are not. It refuses more than git does, of files that
// nobody writes by hand.
func areHarmlessModules(data []byte) bool {
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if modulesHeading.Match(line) || bytes.HasSuffix(line, []byte(`\`)) {
			return false
		}
		found := modulesLine.FindSubmatch(line)
		if found == nil {
			continue
		}
		value := bytes.Trim(found[2], `"`)
		switch string(bytes.ToLower(found[1])) {
		case "url":
			if !modulesURL.Match(value) || modulesNoHost.Match(value) {
				return false
			}
		case "path":
			if bytes.ContainsAny(value, `"\`) || bytes.HasPrefix(value, []byte("-")) {
				return false
			}
		case "update":
			if bytes.ContainsAny(value, `"\!`) {
				return false
			}
		}
	}
	return true
}
