package hgfixture

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Commands is an hg that stays (mercurial/commandserver.py), since it takes hg longer to start than to do something.
type Commands struct {
	mu  sync.Mutex // one command at a time
	in  io.WriteCloser
	out *bufio.Reader
}

// StartCommands starts an hg in a directory that may have a repository. It ends with the test.
func StartCommands(t testing.TB, dir string, env []string) *Commands {
	t.Helper()
	cmd := exec.Command("hg", "serve", "--cmdserver", "pipe")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("hg is needed: install Debian's mercurial: %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // nothing waits for what it says now
	})
	c := &Commands{in: in, out: bufio.NewReader(out)}
	if channel, _, err := c.hear(); err != nil || channel != 'o' {
		t.Fatalf("hg serve does not begin: %q, %v", channel, err)
	}
	return c
}

// hear reads what hg says next, and where. An upper case channel asks for input, of which there is none.
func (c *Commands) hear() (channel byte, said []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.out, head[:]); err != nil {
		return 0, nil, err
	}
	if head[0] < 'a' {
		_, err := c.in.Write(make([]byte, 4))
		return head[0], nil, err
	}
	said = make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err = io.ReadFull(c.out, said)
	return head[0], said, err
}

// Run runs one command and returns what it says.
func (c *Commands) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.run(strings.Join(args, "\x00"))
	if err != nil {
		t.Fatalf("hg %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (c *Commands) run(args string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	request := binary.BigEndian.AppendUint32([]byte("runcommand\n"), uint32(len(args)))
	if _, err := c.in.Write(append(request, args...)); err != nil {
		return "", err
	}
	var out, wrong strings.Builder
	for {
		channel, said, err := c.hear()
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, wrong.String())
		}
		switch channel {
		case 'o':
			out.Write(said)
		case 'e':
			wrong.Write(said)
		case 'r':
			if code := int32(binary.BigEndian.Uint32(said)); code != 0 {
				return "", fmt.Errorf("exit status %d\n%s", code, wrong.String())
			}
			return out.String(), nil
		}
	}
}
