package hg

import (
	"context"

	"gantry/internal/revlog"
)

// intake is where the readers of bundles put what they find: revisions go to a sink, and what is told beside them is kept.
// It may take several bundles one after the other.
type intake struct {
	ctx     context.Context
	sink    revlog.Sink
	tempDir string // holds a stream while it is put in order

	graph graph // of the changesets that came
	told  told
	sent  bool // something went to the sink

	complete bool // nothing is known but what comes
}

func newIntake(ctx context.Context, sink revlog.Sink, tempDir string) *intake {
	return &intake{ctx: ctx, sink: sink, tempDir: tempDir, graph: newGraph()}
}

// sinkError is an error of the sink, told from those of reading. Who called the reader gives the sink's error unchanged.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

func (in *intake) changeset(r *revlog.Revision) error {
	in.sent = true
	if missing := in.graph.add(r); !missing.IsNull() && in.complete {
		return malformedf("changeset %s builds on %s, which it does not have; make one that has everything with: hg bundle --all FILE", r.Node, missing)
	}
	return in.pass(in.sink.Changeset(r))
}

func (in *intake) manifest(dir string, r *revlog.Revision) error {
	in.sent = true
	return in.pass(in.sink.Manifest(dir, r))
}

func (in *intake) file(path string, r *revlog.Revision) error {
	in.sent = true
	return in.pass(in.sink.File(path, r))
}

func (in *intake) pass(err error) error {
	if err != nil {
		return sinkError{err}
	}
	return in.ctx.Err()
}

// unsupportedf is an error about a form that this reader does not know: unsupported, unless it is too late for another way.
func (in *intake) unsupportedf(format string, args ...any) error {
	if in.sent {
		return malformedf(format, args...)
	}
	return unsupportedf(format, args...)
}
