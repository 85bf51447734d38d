package history

import (
	"strings"

	"gantry"
)

// Rules say which directories are branches and tags. They are made by ParseRules.
type Rules struct{}

// ParseRules reads rules, one a line. Blank text has none: then the layout is found out, and the result is nil. An error
// is gantry.Invalid and names the line.
func ParseRules(text string) (*Rules, error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line != "" {
			return nil, gantry.Errorf(gantry.Invalid, "history.ParseRules", "layout, line %d: %q is not a rule", number, line)
		}
	}
	return nil, nil
}
