package lift

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gantry/internal/origin"
)

// A failed connection is tried again after growing pauses, and anew after it has held for long; other faults are not.
func TestPatiently(t *testing.T) {
	broken := fmt.Errorf("read: %w", origin.ErrTemporary)
	other := errors.New("something else")
	for _, test := range []struct {
		name   string
		holds  time.Duration // each attempt
		errs   []error       // of the attempts; the last one repeats
		want   error
		pauses []time.Duration
	}{
		{"at once", 0, []error{nil}, nil, nil},
		{"another fault", 0, []error{other}, other, nil},
		{"the second time", 0, []error{broken, nil}, nil, []time.Duration{time.Second}},
		{"never", 0, []error{broken}, origin.ErrTemporary, []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9}},
		{"now and then", time.Hour, []error{broken, broken, broken, broken, broken, broken, broken, nil}, nil, slices.Repeat([]time.Duration{time.Second}, 7)},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pauses []time.Duration
				calls := 0
				err := Patiently(t.Context(), func(r Retry) error {
					pauses = append(pauses, r.Pause)
					return nil
				}, func() error {
					time.Sleep(test.holds)
					calls++
					return test.errs[min(calls, len(test.errs))-1]
				})
				if !errors.Is(err, test.want) || !slices.Equal(pauses, test.pauses) {
					t.Errorf("%v after pauses of %v, want %v after %v", err, pauses, test.want, test.pauses)
				}
			})
		})
	}
}
