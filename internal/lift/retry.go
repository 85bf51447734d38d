package lift

import (
	"context"
	"errors"
	"time"

	"gantry/internal/origin"
)

const (
	// attempts is how often a step is tried in all while its connection fails.
	attempts = 6
	maxPause = time.Minute
	// wentWell is how long a connection has to hold to begin the count anew: a long import may lose it now and then.
	wentWell = 2 * time.Minute
)

// Retry is what Patiently is about to do.
type Retry struct {
	Attempt, Attempts int
	Pause             time.Duration // before the attempt
	Err               error         // of the one before
}

// Patiently runs a step that asks an origin, and again after growing pauses while its errors wrap origin.ErrTemporary.
// Before each pause it tells say, whose error ends it.
func Patiently(ctx context.Context, say func(Retry) error, step func() error) error {
	next := Retry{Attempt: 1, Attempts: attempts, Pause: time.Second}
	for {
		begin := time.Now()
		err := step()
		if time.Since(begin) > wentWell {
			next.Attempt, next.Pause = 1, time.Second
		}
		if err == nil || !errors.Is(err, origin.ErrTemporary) || next.Attempt == attempts || ctx.Err() != nil {
			return err
		}
		next.Attempt, next.Err = next.Attempt+1, err
		if err := say(next); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(next.Pause):
		}
		next.Pause = min(2*next.Pause, maxPause)
	}
}
