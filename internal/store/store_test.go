package store_test

import (
	"testing"

	"gantry/internal/store"
	"gantry/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, dsn string) {
		storetest.Open(t, dsn)
		_ = store.Access{}
	})
}
