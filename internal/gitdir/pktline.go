package gitdir

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
)

// Packets of gitprotocol-common(5): four hexadecimal digits of length, themselves included, then the data.
const (
	flushPacket = "0000"
	maxPacket   = 65520
)

// writePacket leaves errors to w's Flush. Data is shorter than maxPacket.
func writePacket(w *bufio.Writer, data string) { fmt.Fprintf(w, "%04x%s", len(data)+4, data) }

// ReadPacket returns the next packet's data, nil for a flush.
func ReadPacket(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("gitdir: packet cut off: %w", err)
	}
	var length [2]byte
	if _, err := hex.Decode(length[:], head[:]); err != nil {
		return nil, fmt.Errorf("gitdir: packet length %q: %w", head, err)
	}
	n := int(length[0])<<8 | int(length[1])
	switch {
	case n == 0:
		return nil, nil
	case n < 4 || n > maxPacket:
		return nil, fmt.Errorf("gitdir: packet length %d is out of range", n)
	}
	data := make([]byte, n-4)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("gitdir: packet cut off: %w", err)
	}
	return data, nil
}
