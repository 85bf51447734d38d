package hg

import "bufio"

func (p *part) stream2() error { return unsupportedf("a stream") }

func readStream1(_ *bufio.Reader, _ *intake) error { return unsupportedf("a stream") }
