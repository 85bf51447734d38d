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
			row.Percent = percent(now)
			if now.Total >= 0 {
				row.CommitCount = &now.Total
			}
		case convert.Fetching:
			row.Percent = percent(now)
		case convert.Packing:
			row.PushPercent = percent(now)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errLost) && p.ctx.Err() == nil {
		p.Log.Warn("import: progress not written", "import", p.row.ID, "error", err)
	}
}

// percent is nil while the total is not known.
func percent(p convert.Progress) *int {
	switch {
	case p.Total < 0:
		return nil
	case p.Total == 0:
		return new(100)
	}
	return new(int(min(100, p.Done*100/p.Total)))
}
