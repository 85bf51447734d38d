package lift

import (
	"context"
	"io"

	"gantry/internal/convert"
	"gantry/internal/history"
	"gantry/internal/lfs"
	"gantry/internal/pack"
)

// converted is what all lifts share whose objects are made here.
type converted struct {
	*convert.Conversion
	from Origin
	opt  Options
}

func openConverted(ctx context.Context, from Origin, opt Options) (converted, error) {
	c, err := convert.Open(ctx, convert.Options{
		Dir:       opt.Dir,
		Writer:    opt.Writer,
		Earlier:   opt.Earlier,
		Journal:   opt.Journal,
		Progress:  opt.Progress,
		Log:       opt.Log,
		LargeFile: opt.LargeFile,
	})
	return converted{Conversion: c, from: from, opt: opt}, err
}

// mapOptions says the same as opt. Mapped finds out what an author was mapped to.
func mapOptions(opt MapOptions, mapped func(history.Author) (history.Identity, bool)) convert.MapOptions {
	return convert.MapOptions{Mapped: mapped, Root: opt.Root, DefaultBranch: opt.DefaultBranch, Shape: opt.Shape, Submodule: opt.Submodule}
}

// WritePack implements Lift.
func (c *converted) WritePack(ctx context.Context, w io.Writer, result *convert.Result, to Receiver) error {
	_, err := c.Conversion.WritePack(ctx, w, result, to.Objects.Has)
	return err
}

// Install writes the index itself: every object was made, and hashed, here.
func (c *converted) Install(ctx context.Context, dir string, result *convert.Result) error {
	in := installation(result)
	if len(in.Refs) > 0 {
		var copied pack.CopyResult
		in.Pack = func(ctx context.Context, w io.Writer) (err error) {
			copied, err = c.Conversion.WritePack(ctx, w, result, nil)
			return err
		}
		in.Index = func(w io.Writer) error { return copied.WriteIndex(w) }
	}
	in.Attach = c.Attach
	return c.opt.Git.Install(ctx, dir, in)
}

// Attach implements Lift.
func (c *converted) Attach(dir string) error { return c.Objects().CopyTo(lfs.In(dir)) }
