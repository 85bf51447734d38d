package api_test

import (
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"gantry/internal/githelper"
)

// TestMain lets git call this program back, as it calls gantry, and has the description's own text validated as text.
func TestMain(m *testing.M) {
	if handled, code := githelper.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.FileBodyDecoder)
	os.Exit(m.Run())
}
