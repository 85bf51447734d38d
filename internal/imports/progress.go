package imports

import (
	"context"
	"errors"
	"time"

	"gantry/internal/convert"
	"gantry/internal/store"
)

// progress brings a lift's progress into the row, at most once a second, and at the end. Mapping shows none.
type progress struct {
	*worker
	ctx  context.Context
	last time.Time
}

func (p *progress) report(now convert.Progress) {
	if now.Phase == convert.Mapping || p.Now().Sub(p.last) < time.Second && now.Done != now.Total {
		return
	}
	p.last = p.Now()
	err := p.save(p.ctx, func(_ *store.Tx, row *store.Import) error {
		switch now.Phase {
		case convert.Reading:
			row.Percent = further(row.Percent, now)
			if now.Total >= 0 {
				row.CommitCount = &now.Total
			}
		case convert.Fetching:
			row.Percent = further(row.Percent, now)
		case convert.Packing:
			row.PushPercent = further(row.PushPercent, now)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errLost) && p.ctx.Err() == nil {
		p.Log.Warn("import: progress not written", "import", p.row.ID, "error", err)
	}
}

// further is the percentage to show after another one; nil while the total is not known. Who goes on from a checkpoint does
// again what was shown already: it stands still for that long, and does not fall.
func further(shown *int, p convert.Progress) *int {
	now := 100
	switch {
	case p.Total < 0:
		return shown
	case p.Total > 0:
		now = int(min(100, p.Done*100/p.Total))
	}
	if shown != nil {
		now = max(now, *shown)
	}
	return &now
}
