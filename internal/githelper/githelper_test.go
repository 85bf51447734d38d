package githelper

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"gantry/internal/gitdir"
)

// Credentials are told for the one origin only, and never so that they could add a line of their own.
func TestCredential(t *testing.T) {
	t.Parallel()
	note := Note{Scheme: "https", Host: "example.org:8443", Username: "ada", Password: "s=cret"}
	for _, tt := range []struct {
		name, asked, want string
		note              Note
		fails             bool
	}{
		{"the origin", "protocol=https\nhost=example.org:8443\nwwwauth[]=Basic\n\n", "username=ada\npassword=s=cret\nquit=1\n", note, false},
		{"the origin, in other letters", "protocol=https\nhost=Example.org:8443\n", "username=ada\npassword=s=cret\nquit=1\n", note, false},
		{"another host", "protocol=https\nhost=evil.example\n\n", "", note, true},
		{"another port", "protocol=https\nhost=example.org\n\n", "", note, true},
		{"another scheme", "protocol=http\nhost=example.org:8443\n\n", "", note, true},
		{"nothing said", "\n", "", note, true},
		{"nothing known", "protocol=https\nhost=example.org\n\n", "", Note{Scheme: "https", Host: "example.org"}, false},
		{"a line end", "protocol=https\nhost=h\n\n", "", Note{Scheme: "https", Host: "h", Username: "a\npassword=b", Password: "c"}, true},
	} {
		var out bytes.Buffer
		err := credential(tt.note, strings.NewReader(tt.asked), &out)
		if out.String() != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v", tt.name, out.String(), err)
		}
	}
}

// Neither arguments nor environment of git tell a credential.
func TestCommandTellsNothing(t *testing.T) {
	t.Parallel()
	g, err := gitdir.New(gitdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https", "git", "ssh"} {
		note := Note{Proxy: "http://gantry:x@127.0.0.1:1", Scheme: scheme, Host: "h", Username: "ada", Password: "c4nary"}
		cmd, done, err := Command(t.Context(), g, t.TempDir(), note, nil, "ls-remote")
		if err != nil {
			t.Fatal(err)
		}
		done()
		if all := strings.Join(append(cmd.Args, cmd.Env...), "\n"); strings.Contains(all, "c4nary") || strings.Contains(all, "ada") {
			t.Errorf("%s: %s", scheme, all)
		}
	}
	note := Note{Scheme: "https", Password: strings.Repeat("x", maxNote)}
	if _, _, err := Command(t.Context(), g, t.TempDir(), note, nil, "ls-remote"); err == nil {
		t.Error("credentials that do not fit into a pipe pass")
	}
}

// Without git's word the program is itself.
func TestMainLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	if handled, _ := Main(os.Args[1:]); handled {
		t.Error("handled")
	}
}
