package api

import (
	"fmt"
	"testing"

	"gantry/internal/imports"
)

// Whatever is accepted is within the file, and is written the same way again.
func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-99/1000", "bytes */7", "bytes 5-5/6", "bytes 1-0/2", "bytes -/", "bytes 0-0/0", "items 0-1/2", "bytes +1-2/3", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		part, ok := parseContentRange(header)
		switch {
		case !ok:
		case part.Offset == imports.Unknown:
			if part.Length != 0 || part.Total <= 0 {
				t.Errorf("%q is %+v", header, part)
			}
		case part.Offset < 0 || part.Length <= 0 || part.Offset > part.Total-part.Length:
			t.Errorf("%q is %+v", header, part)
		default:
			text := fmt.Sprintf("bytes %d-%d/%d", part.Offset, part.Offset+part.Length-1, part.Total)
			if again, ok := parseContentRange(text); !ok || again != part {
				t.Errorf("%q is %+v, but %q is %+v", header, part, text, again)
			}
		}
	})
}
