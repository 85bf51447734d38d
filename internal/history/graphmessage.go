package history

import (
	"strings"

	"gantry/internal/revlog"
)

// message is what the commit of a changeset says.
func (g *grapher) message(r *Record) string {
	message := gitMessage(r.Message)
	if !g.opt.Trailers {
		return message
	}
	var b strings.Builder
	b.WriteString(message)
	if message != "" {
		b.WriteByte('\n')
	}
	b.WriteString("Mercurial: " + r.Changeset.Node.String() + "\n")
	if branch := r.Changeset.branch(); branch != revlog.DefaultBranch {
		b.WriteString("Mercurial-branch: " + oneLine([]byte(branch)) + "\n")
	}
	for _, e := range r.Changeset.Extras {
		if e.Name != "branch" {
			b.WriteString("Mercurial-extra: " + oneLine([]byte(e.Name)) + "=" + oneLine(e.Value) + "\n")
		}
	}
	return b.String()
}

// oneLine is a text as a trailer can have it.
func oneLine(text []byte) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, toUTF8(text))
}
