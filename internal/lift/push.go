package lift

import (
	"context"
	"io"

	"gantry/internal/convert"
	"gantry/internal/gitdir"
	"gantry/internal/history"
	"gantry/internal/pack"
)

// Target is a bare repository that results are brought into.
type Target struct {
	Git   *gitdir.Git
	Dir   string
	Put   map[string]string // where earlier results have put the refs; others stay
	Check func() error      // is asked before any ref moves; nil for nobody
}

// Pushed is what became of a target.
type Pushed struct {
	Put  map[string]string // where its refs are now, of those that are the result's
	Kept []string          // refs that somebody else has moved; they stay
}

// Push brings a result into a repository: every ref that does not exist yet or that is where an earlier result put it.
// Only what is not there is sent. All refs move, or none.
func Push(ctx context.Context, from Lift, result *convert.Result, to Target) (*Pushed, error) {
	refs, err := to.Git.Refs(ctx, to.Dir)
	if err != nil {
		return nil, err
	}
	if err := from.Attach(to.Dir); err != nil { // before any ref can lead to it
		return nil, err
	}
	plan := planPush(refs, to.Put, result.Refs)
	if len(plan.updates) > 0 {
		has, err := to.receiver(ctx, refs)
		if err != nil {
			return nil, err
		}
		err = to.Git.Push(ctx, to.Dir, plan.updates, func(ctx context.Context, out io.Writer) error {
			fence := &fence{to: out, check: to.Check}
			if err := from.WritePack(ctx, fence, result, has); err != nil {
				return err
			}
			return fence.release()
		})
		if err != nil {
			return nil, err
		}
	}
	return &Pushed{Put: plan.put, Kept: plan.kept}, to.Git.SetHead(ctx, to.Dir, result.Head)
}

// receiver tells what the repository has, so that only what is new is sent.
func (t *Target) receiver(ctx context.Context, refs []gitdir.Ref) (Receiver, error) {
	var has Receiver
	if len(refs) == 0 {
		return has, nil
	}
	for _, ref := range refs {
		has.Tips = append(has.Tips, ref.ID)
	}
	var err error
	has.Objects, err = t.Git.Reachable(ctx, t.Dir)
	return has, err
}

// pushPlan is what a push does to a repository's refs.
type pushPlan struct {
	updates []gitdir.RefUpdate
	put     map[string]string
	kept    []string
}

// planPush compares the refs that a repository has, those that earlier results put there, and those that it should have.
func planPush(have []gitdir.Ref, put map[string]string, want []history.Ref) pushPlan {
	plan := pushPlan{put: map[string]string{}}
	at := make(map[string]pack.ID, len(have))
	for _, ref := range have {
		at[ref.Name] = ref.ID
	}
	wanted := make(map[string]bool, len(want))
	for _, ref := range want {
		wanted[ref.Name] = true
		now := at[ref.Name]
		switch {
		case now == ref.ID:
		case now.IsZero(), now.String() == put[ref.Name]:
			plan.updates = append(plan.updates, gitdir.RefUpdate{Name: ref.Name, Old: now, New: ref.ID})
		default:
			plan.kept = append(plan.kept, ref.Name)
			continue
		}
		plan.put[ref.Name] = ref.ID.String()
	}
	for _, ref := range have {
		if !wanted[ref.Name] && put[ref.Name] == ref.ID.String() {
			plan.updates = append(plan.updates, gitdir.RefUpdate{Name: ref.Name, Old: ref.ID})
		}
	}
	return plan
}

// fence holds back the end of a pack, without which the receiver moves no ref, until a check has passed: a worker that
// lost its import while it wrote must not push.
type fence struct {
	to    io.Writer
	held  []byte
	check func() error
}

// held back is the checksum that ends a pack.
const fenceSize = 20

func (f *fence) Write(p []byte) (int, error) {
	if len(p) >= fenceSize {
		if _, err := f.to.Write(f.held); err != nil {
			return 0, err
		}
		if _, err := f.to.Write(p[:len(p)-fenceSize]); err != nil {
			return 0, err
		}
		f.held = append(f.held[:0], p[len(p)-fenceSize:]...)
		return len(p), nil
	}
	f.held = append(f.held, p...)
	if over := len(f.held) - fenceSize; over > 0 {
		if _, err := f.to.Write(f.held[:over]); err != nil {
			return 0, err
		}
		f.held = append(f.held[:0], f.held[over:]...)
	}
	return len(p), nil
}

func (f *fence) release() error {
	if f.check != nil {
		if err := f.check(); err != nil {
			return err
		}
	}
	_, err := f.to.Write(f.held)
	return err
}
