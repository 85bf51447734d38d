package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gantry/internal/gantrytest/svnfixture"
)

// The scripts say what a user does and sees. Besides testscript's own commands they have:
//
//	await FILE                   wait until a server that was started in the background has said in FILE where it is, and
//	                             set $URL, and on a first start $TOKEN
//	api METHOD PATH STATUS [BODY]  make a request with $TOKEN (none when empty), compare the status, print the answer
//	until METHOD PATH TEXT       make a request again and again until the answer has a text
//	exits CODE COMMAND [ARG...]  run a command that has to leave with a code
//	svndump FILE                 write a dump of a Subversion history with all that is usual
//	svnserve DIR                 serve the Subversion repositories below DIR; $SVN is set to their address
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars,
				"HOME="+env.WorkDir, "LC_ALL=C.UTF-8", "TZ=UTC", "URL=", "TOKEN=",
				"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true",
				"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
				"SERVE=exec gantry serve --listen 127.0.0.1:0 --data data")
			env.Values["t"] = env.T()
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":    command(1, cmdAwait),
			"api":      command(3, cmdAPI),
			"until":    command(3, cmdUntil),
			"exits":    command(2, cmdExits),
			"svndump":  command(1, cmdSvndump),
			"svnserve": command(1, cmdSvnserve),
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// command checks the number of arguments of a script's command; none of ours can be negated.
func command(atLeast int, run func(*testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < atLeast {
			ts.Fatalf("at least %d arguments are needed, and no negation", atLeast)
		}
		run(ts, args)
	}
}

// patience is how long a server may take to start; the race detector makes it slow.
const patience = time.Minute

func cmdAwait(ts *testscript.TestScript, args []string) {
	file := ts.MkAbs(args[0])
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "address: ") || !strings.HasSuffix(string(text), "\n") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
			case "address":
				ts.Setenv("URL", value)
				ts.Setenv("HOSTPORT", strings.TrimPrefix(value, "http://"))
			case "token":
				ts.Setenv("TOKEN", value)
			}
		}
		return
	}
	ts.Fatalf("no server has said in %s where it is", args[0])
}

func cmdAPI(ts *testscript.TestScript, args []string) {
	body := ""
	if len(args) > 3 {
		body = args[3]
	}
	status, text := request(ts, args[0], args[1], body)
	if strconv.Itoa(status) != args[2] {
		ts.Fatalf("%s %s answered %d, not %s: %s", args[0], args[1], status, args[2], text)
	}
	_, err := ts.Stdout().Write(append(text, '\n'))
	ts.Check(err)
}

func cmdUntil(ts *testscript.TestScript, args []string) {
	var text []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, text = request(ts, args[0], args[1], ""); strings.Contains(string(text), args[2]) {
			_, err := ts.Stdout().Write(append(text, '\n'))
			ts.Check(err)
			return
		}
	}
	ts.Fatalf("%s %s never answered %s, but at last %s", args[0], args[1], args[2], text)
}

// request makes a request of the API with $TOKEN.
func request(ts *testscript.TestScript, method, path, body string) (status int, text []byte) {
	req, err := http.NewRequest(method, ts.Getenv("URL")+path, strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Accept", "application/vnd.vendor.barred-rock-preview+json")
	if token := ts.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	ts.Check(err)
	return resp.StatusCode, text
}

func cmdExits(ts *testscript.TestScript, args []string) {
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s left with code %d, not %s", args[1], code, args[0])
	}
}

func cmdSvndump(ts *testscript.TestScript, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), svnfixture.Standard().Bytes(), 0o600))
}

func cmdSvnserve(ts *testscript.TestScript, args []string) {
	ts.Setenv("SVN", "svn://"+svnfixture.Serve(ts.Value("t").(testing.TB), ts.MkAbs(args[0])))
}
