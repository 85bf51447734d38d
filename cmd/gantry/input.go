package main

import (
	"context"
	"io"
)

// input is standard input, of which a Read ends when its context does, although nothing comes.
type input struct {
	ctx  context.Context
	file io.Reader
	pipe *io.PipeReader // nil before the first Read
}

// Read implements io.Reader. What waits for the file goes on waiting, until the process ends.
func (in *input) Read(p []byte) (int, error) {
	if in.pipe == nil {
		reader, writer := io.Pipe()
		in.pipe = reader
		context.AfterFunc(in.ctx, func() { writer.CloseWithError(in.ctx.Err()) })
		go func() {
			_, err := io.Copy(writer, in.file)
			writer.CloseWithError(err)
		}()
	}
	return in.pipe.Read(p)
}
