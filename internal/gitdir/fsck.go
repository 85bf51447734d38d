package gitdir

import (
	"regexp"
	"strings"

	"gantry"
)

// lenient names the strict checks that only warn, because history that exists in the wild fails them: all are about how
// identities, dates and modes of old commits and trees were written. See git-fsck(1). Names and links that would harm a
// working tree (hasDotgit, gitmodules*, symlinkTarget*, ...) are never among them.
var lenient = []string{
	"badEmail", "badName", "badTimezone", "missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeDate",
	"missingSpaceBeforeEmail", "zeroPaddedFilemode",
}

// StrictObjects is the configuration that makes a command ("fetch" or "receive") check every object that it takes in.
func StrictObjects(command string) []Setting {
	settings := []Setting{{command + ".fsckObjects", "true"}}
	for _, check := range lenient {
		settings = append(settings, Setting{command + ".fsck." + check, "warn"})
	}
	return settings
}

// strictOption is the same for git index-pack.
func strictOption() string { return "--strict=" + strings.Join(lenient, "=warn,") + "=warn" }

var objectFault = regexp.MustCompile(`(?m)^(?:remote: )?error: object ([0-9a-f]{40}): ([A-Za-z]+): (.*)$`)

// ObjectFault turns what git said of an object that failed a check into an error that names both, nil when it said no
// such thing.
func ObjectFault(stderr string) error {
	m := objectFault.FindStringSubmatch(stderr)
	if m == nil {
		return nil
	}
	return gantry.Errorf(gantry.Invalid, "gitdir", "object %s is not well formed (%s: %s); see git-fsck(1) for what the check means", m[1], m[2], m[3])
}
