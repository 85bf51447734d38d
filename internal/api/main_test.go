package api_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
)

func TestMain(m *testing.M) {
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.FileBodyDecoder)
	m.Run()
}
