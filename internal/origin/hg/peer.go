package hg

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"strings"

	"gantry/internal/revlog"
)

const (
	maxAnswer = 64 << 20 // bytes of an answer that is taken as a whole
	maxSaid   = 2 << 10  // bytes of what a server says in words
)

// peer is a server of the wire protocol, version 1. It is used by one goroutine at a time.
type peer interface {
	capabilities() *capabilities

	// ask runs a command whose answer is taken as a whole.
	ask(ctx context.Context, c command) ([]byte, error)

	// stream runs a command whose answer, decompressed, read takes as it comes. What read leaves is nobody's.
	stream(ctx context.Context, c command, read func(io.Reader) error) error

	// maxNodes is how many nodes the arguments of a command may name.
	maxNodes() int

	// plain is stream of an answer that is never compressed.
	plain(ctx context.Context, c command, read func(*bufio.Reader) error) error

	// hostKey is the key that an ssh host showed.
	hostKey() string

	Close() error
}

// command is a command of the wire protocol.
type command struct {
	name string
	args []argument // that the protocol names
	more []argument // where it takes any
	star bool       // it takes any
}

type argument struct{ name, value string }

// shown is what a server shows.
type shown struct {
	heads     []revlog.Node
	bookmarks map[string]revlog.Node
}

// askShown asks for the heads and the bookmarks, at once where the server can: nothing comes between them then.
func askShown(ctx context.Context, p peer) (s shown, err error) {
	heads := "heads"
	if p.capabilities().has("largefiles") { // whose repositories know by the other name who knows of them
		heads = "lheads"
	}
	commands := []command{{name: heads}, {name: "listkeys", args: []argument{{"namespace", "bookmarks"}}}}
	if !p.capabilities().has("pushkey") { // which came with bookmarks
		commands = commands[:1]
	}
	answers, err := askAll(ctx, p, commands)
	if err != nil {
		return s, err
	}
	if s.heads, err = parseNodes(answers[0]); err != nil {
		return s, err
	}
	var t told
	if len(answers) > 1 {
		err = t.readBookmarks(bytes.NewReader(answers[1]))
	}
	s.bookmarks = t.bookmarks
	return s, err
}

// askAll runs several commands, by one request where the server can.
func askAll(ctx context.Context, p peer, commands []command) ([][]byte, error) {
	if len(commands) > 1 && p.capabilities().has("batch") {
		answer, err := p.ask(ctx, batch(commands))
		if err != nil {
			return nil, err
		}
		answers := bytes.Split(answer, []byte(";"))
		if len(answers) != len(commands) {
			return nil, malformedf("it gives %d answers to %d questions", len(answers), len(commands))
		}
		for i, a := range answers {
			answers[i] = unescapeBatch(a)
		}
		return answers, nil
	}
	answers := make([][]byte, len(commands))
	for i, c := range commands {
		var err error
		if answers[i], err = p.ask(ctx, c); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// batch makes one command of several.
func batch(commands []command) command {
	var line strings.Builder
	for i, c := range commands {
		if i > 0 {
			line.WriteByte(';')
		}
		line.WriteString(c.name + " ")
		for k, arg := range c.args {
			if k > 0 {
				line.WriteByte(',')
			}
			line.WriteString(batchEscapes.Replace(arg.name) + "=" + batchEscapes.Replace(arg.value))
		}
	}
	return command{name: "batch", star: true, args: []argument{{"cmds", line.String()}}}
}

var (
	batchEscapes   = strings.NewReplacer(":", ":c", ",", ":o", ";", ":s", "=", ":e")
	batchUnescapes = strings.NewReplacer(":c", ":", ":o", ",", ":s", ";", ":e", "=")
)

func unescapeBatch(b []byte) []byte {
	if !bytes.Contains(b, []byte(":")) {
		return b
	}
	return []byte(batchUnescapes.Replace(string(b)))
}

// parseNodes reads nodes in hexadecimal with a space between them. The null node, which an empty repository has for its
// head, is left out.
func parseNodes(text []byte) ([]revlog.Node, error) {
	var nodes []revlog.Node
	for word := range bytes.FieldsSeq(text) {
		n, err := revlog.ParseNode(word)
		if err != nil {
			return nil, malformedf("%.80q came where a node was to come", word)
		}
		if !n.IsNull() {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// joinNodes writes nodes as arguments have them.
func joinNodes(nodes []revlog.Node) string {
	text := make([]byte, 0, len(nodes)*(2*len(revlog.Null)+1))
	for i, n := range nodes {
		if i > 0 {
			text = append(text, ' ')
		}
		text = hex.AppendEncode(text, n[:])
	}
	return string(text)
}

// said is what a server says in words, fit to be shown.
func said(text []byte) string {
	text = bytes.TrimSpace(text)
	return strings.ToValidUTF8(string(text[:min(len(text), maxSaid)]), "?")
}
