package auth

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"gantry"
)

// failureKey is what failures are counted for: an address or an account. Accounts that do not exist count as well, so that being locked out
// tells nothing.
type failureKey string

// addressKey counts IPv6 by /64, which is what one subscriber is given.
func addressKey(addr netip.Addr) failureKey {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if prefix, err := addr.Prefix(64); err == nil {
			return failureKey("address " + prefix.String())
		}
	}
	return failureKey("address " + addr.String())
}

// maxLoginBytes cuts what somebody sends as a login; none that exists is as long.
const maxLoginBytes = 64

func accountKey(login string) failureKey {
	return failureKey("account " + strings.ToLower(login[:min(len(login), maxLoginBytes)]))
}

// maxFailing bounds how many keys are remembered.
const maxFailing = 100_000

// failures remembers the last failures of each key, in memory: a restart forgets them.
type failures struct {
	limit  int
	window time.Duration

	mu  sync.Mutex
	log map[failureKey][]time.Time // oldest first, at most limit of them
}

func newFailures(l Limits) *failures {
	if l.Failures <= 0 {
		l.Failures = 10
	}
	if l.Window <= 0 {
		l.Window = 15 * time.Minute
	}
	return &failures{limit: l.Failures, window: l.Window, log: map[failureKey][]time.Time{}}
}

// check returns the error of a lock-out when one of the keys has failed too often within the window.
func (f *failures) check(now time.Time, keys ...failureKey) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		times := f.log[key]
		if len(times) < f.limit {
			continue
		}
		if wait := times[0].Add(f.window).Sub(now); wait > 0 {
			return &gantry.Error{
				Kind: gantry.Forbidden, Op: "auth.Resolve", RetryAfter: wait,
				Msg: "Maximum number of login attempts exceeded. Please try again later.",
			}
		}
	}
	return nil
}

// add counts one failure for each key.
func (f *failures) add(now time.Time, keys ...failureKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		times, known := f.log[key]
		if !known && len(f.log) >= maxFailing {
			f.forget(now)
		}
		if len(times) == f.limit {
			times = append(times[:0], times[1:]...)
		}
		f.log[key] = append(times, now)
	}
}

// forget drops what the window has passed; when that frees too little, as under an attack from everywhere, it drops any quarter.
func (f *failures) forget(now time.Time) {
	for key, times := range f.log {
		if now.Sub(times[len(times)-1]) >= f.window {
			delete(f.log, key)
		}
	}
	for key := range f.log {
		if len(f.log) <= maxFailing*3/4 {
			return
		}
		delete(f.log, key)
	}
}
