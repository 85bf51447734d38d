package origin

import (
	"fmt"
	"os"
)

// Spool makes a file that has no name any more, so that nothing is left behind however the program ends. Dir is the
// system's for temporary files when it is "".
func Spool(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "spool-*")
	if err != nil {
		return nil, fmt.Errorf("what is too large for memory cannot be stored: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
