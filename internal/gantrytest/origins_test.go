package gantrytest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v84/github"

	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/davfixture"
	"gantry/internal/gantrytest/svnfixture"
)

// However an origin is reached, and whatever it asks for, an import of it has the same ids. Who sends a wrong password is
// told so, and goes on with the right one.
func TestImportOverEveryTransport(t *testing.T) {
	t.Parallel()
	server := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_PREVIEW=lenient", "GANTRY_RATE_USER=1000000"}})
	client := newClient(t, server)
	repo := svnfixture.NewStandardRepo(t)
	want := importWhole(server, "anonymous", "svn://"+svnfixture.Serve(t, repo.Root)+"/repo")
	user := svnfixture.User{Name: "jrandom", Password: "correct horse"}
	ssh := svnfixture.ServeSSH(t, repo.Root, "", "")

	for _, tt := range []struct {
		name, address    string
		asks             string // the state without credentials
		user, secret     string
		wrong, afterward string // another secret, and the state that it leads to
	}{
		{
			"basic", davfixture.Serve(t, repo.Root, davfixture.Config{Users: []svnfixture.User{user}}).URL,
			"detection_needs_auth", user.Name, user.Password, "wrong", "auth_failed",
		},
		{
			"digest", davfixture.Serve(t, repo.Root, davfixture.Config{Users: []svnfixture.User{user}, Digest: true}).URL,
			"detection_needs_auth", user.Name, user.Password, "wrong", "auth_failed",
		},
		{
			"plain", "svn://" + svnfixture.ServeSASL(t, repo.Root, "PLAIN", user),
			"detection_needs_auth", user.Name, user.Password, "wrong", "auth_failed",
		},
		{
			"cram-md5", "svn://" + svnfixture.Serve(t, repo.Root, user),
			"detection_needs_auth", user.Name, user.Password, "wrong", "auth_failed",
		},
		{"ssh-password", "svn+ssh://" + ssh.Address, "detection_needs_auth", ssh.User, ssh.Password, "wrong", "auth_failed"},
		{"ssh-key", "svn+ssh://" + ssh.Address, "detection_needs_auth", ssh.User, ssh.PrivateKey, "wrong", "auth_failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			watch := watchImport(t, client, tt.name)
			watch.start(github.Import{VCSURL: github.Ptr(tt.address + "/repo")})
			watch.until(tt.asks)
			watch.update(github.Import{VCSUsername: &tt.user, VCSPassword: &tt.wrong})
			watch.until(tt.afterward)
			watch.update(github.Import{VCSUsername: &tt.user, VCSPassword: &tt.secret})
			if imp := watch.until("complete"); imp.GetVCS() != "subversion" || strings.Contains(imp.GetVCSURL(), "@") {
				t.Errorf("the import is of %q at %s", imp.GetVCS(), imp.GetVCSURL())
			}
			if got := server.Refs(watch.repo); got != want {
				t.Errorf("the refs are\n%s\nthose of an import over plain svn\n%s", got, want)
			}

			// The same with all that is needed from the start, and with a wrong password when the system is named.
			again := watchImport(t, client, tt.name+"-at-once")
			again.start(github.Import{VCSURL: github.Ptr(tt.address + "/repo"), VCS: github.Ptr("subversion"), VCSUsername: &tt.user, VCSPassword: &tt.wrong})
			again.until("auth_failed")
			again.update(github.Import{VCSUsername: &tt.user, VCSPassword: &tt.secret})
			again.until("complete")
			if got := server.Refs(again.repo); got != want {
				t.Errorf("the refs are\n%s\nthose of an import over plain svn\n%s", got, want)
			}
			lines := strings.Split(strings.TrimSpace(tt.secret), "\n")
			checkNoSecret(t, server, lines[len(lines)/2])
		})
	}
}

// The key that an ssh host shows first is the one that it has to show from then on.
func TestImportKnowsTheHost(t *testing.T) {
	t.Parallel()
	server := gantrytest.Start(t, gantrytest.Options{Env: []string{"GANTRY_PREVIEW=lenient", "GANTRY_RATE_USER=1000000"}})
	repo := svnfixture.NewStandardRepo(t)
	host, other := svnfixture.ServeSSH(t, repo.Root, "", ""), svnfixture.ServeSSH(t, repo.Root, "", "")
	gate := newGate(t, host.Address)
	watch := watchImport(t, newClient(t, server), "host")
	credentials := github.Import{VCSUsername: &host.User, VCSPassword: &host.Password}
	watch.start(github.Import{VCSURL: github.Ptr("svn+ssh://" + gate.addr + "/repo"), VCS: github.Ptr("subversion"), VCSUsername: &host.User, VCSPassword: &host.Password})
	watch.until("complete")

	gate.lead(other.Address)
	watch.update(credentials)
	if imp := watch.ends(); imp.GetStatus() != "error" || !strings.Contains(imp.GetMessage(), "shows the key") {
		t.Errorf("with another host in its place the import is %s: %s", imp.GetStatus(), imp.GetMessage())
	}
	gate.lead(host.Address)
	repo.Commit(t, "bob", "Something new", "mkdir", "trunk/fresh", "put", writeFile(t, "new\n"), "trunk/fresh/file")
	watch.update(credentials)
	watch.until("complete")
	if text := git(t, cloneOf(t, server, watch.repo), "show", "main:fresh/file"); text != "new\n" {
		t.Errorf("what is new at the origin is not there: %q", text)
	}
}

// What an import may not reach, or cannot trust, is said in words that help.
func TestImportRefusesAndSaysWhy(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewStandardRepo(t)
	secure, plain := davfixture.Serve(t, repo.Root, davfixture.Config{TLS: true}), davfixture.Serve(t, repo.Root, davfixture.Config{})
	settings := []string{"GANTRY_PREVIEW=lenient", "GANTRY_RATE_USER=1000000"}
	server := gantrytest.Start(t, gantrytest.Options{Env: settings})
	client := newClient(t, server)
	redirect := func(to string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+strings.TrimPrefix(r.URL.Path, "/old"), http.StatusMovedPermanently)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/old"
	}

	for _, tt := range []struct{ name, address, text string }{
		{"certificate", secure.URL + "/repo", "SSL_CERT_FILE"},
		{"redirect-elsewhere", redirect(strings.Replace(plain.URL, "127.0.0.1", "localhost", 1)) + "/repo", "localhost"},
		{"redirect-forbidden", redirect("http://10.0.0.1/svn") + "/repo", "10.0.0.1"},
	} {
		watch := watchImport(t, client, tt.name)
		watch.start(github.Import{VCSURL: &tt.address, VCS: github.Ptr("subversion")})
		if imp := watch.ends(); imp.GetStatus() != "error" || !strings.Contains(imp.GetMessage(), tt.text) {
			t.Errorf("%s: the import is %s: %s", tt.name, imp.GetStatus(), imp.GetMessage())
		}
	}

	moved := davfixture.Serve(t, repo.Root, davfixture.Config{Settings: "LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so\nRedirect permanent /old /svn"})
	within := importWhole(server, "redirect-within", strings.TrimSuffix(moved.URL, "svn")+"old/repo")

	// Who does what the message says can go on.
	trusting := gantrytest.Start(t, gantrytest.Options{Env: append(settings, "SSL_CERT_FILE="+secure.Trust)})
	if got, want := importWhole(trusting, "trusted", secure.URL+"/repo"), importWhole(server, "plain", plain.URL+"/repo"); got != want {
		t.Errorf("the refs over https are\n%s\nthose over http\n%s", got, want)
	} else if within != want {
		t.Errorf("the refs after a redirect are\n%s\nnot\n%s", within, want)
	}

	// By itself a server reaches no address of its own network.
	careful := gantrytest.Start(t, gantrytest.Options{Env: append(settings, "GANTRY_EGRESS_ALLOW=")})
	careful.CreateRepository("near")
	for _, address := range []string{plain.URL + "/repo", "svn://127.0.0.1:1/repo", "svn+ssh://10.1.2.3/repo", "http://[::1]/repo", "svn://169.254.169.254/repo"} {
		var fault struct {
			Errors []struct{ Field, Message string } `json:"errors"`
		}
		careful.Call("PUT", "/repos/admin/near/import", map[string]string{"vcs_url": address}, http.StatusUnprocessableEntity, &fault)
		if len(fault.Errors) != 1 || fault.Errors[0].Field != "vcs_url" || !strings.Contains(fault.Errors[0].Message, "GANTRY_EGRESS_ALLOW") {
			t.Errorf("%s: %v", address, fault)
		}
	}
}

// The command line asks the user's agent, and believes the user's known_hosts.
func TestConvertByAgent(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"ssh-agent", "ssh-add"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal("ssh-agent and ssh-add are needed: install Debian's openssh-client")
		}
	}
	repo := svnfixture.NewStandardRepo(t)
	host, other := svnfixture.ServeSSH(t, repo.Root, "", ""), svnfixture.ServeSSH(t, repo.Root, "", "")
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, ".ssh"), 0o700))
	know := func(hostKey string) {
		address, port, _ := strings.Cut(host.Address, ":")
		must(t, os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte("["+address+"]:"+port+" "+hostKey+"\n"), 0o600))
	}
	key, socket := filepath.Join(home, "key"), filepath.Join(home, "agent")
	must(t, os.WriteFile(key, []byte(host.PrivateKey), 0o600))
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	must(t, agent.Start())
	t.Cleanup(func() { agent.Process.Kill(); agent.Wait() })
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "SSH_AUTH_SOCK="+socket)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	dir := filepath.Join(t.TempDir(), "by-agent.git")
	address := "svn+ssh://" + host.User + "@" + host.Address + "/repo"
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		out, err := run("ssh-add", "-q", key)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("ssh-add: %v\n%s", err, out)
		}
	}

	know(other.HostKey)
	if out, err := run(gantrytest.Build(t), "convert", address, dir); err == nil || !strings.Contains(out, "shows the key") {
		t.Errorf("a host that known_hosts knows by another key: %v\n%s", err, out)
	}
	know(host.HostKey)
	if out, err := run(gantrytest.Build(t), "convert", address, dir); err != nil {
		t.Fatalf("by the agent: %v\n%s", err, out)
	}
	// Without a name the user's own is taken, as ssh does it, which this host does not know.
	if out, err := run(gantrytest.Build(t), "convert", "svn+ssh://"+host.Address+"/repo", dir+"1"); err == nil || !strings.Contains(out, "refused the credentials") {
		t.Errorf("without a name: %v\n%s", err, out)
	}
	plain := filepath.Join(t.TempDir(), "plain.git")
	convert(t, "svn://"+svnfixture.Serve(t, repo.Root)+"/repo", plain)
	if got, want := git(t, dir, "for-each-ref"), git(t, plain, "for-each-ref"); got != want {
		t.Errorf("by the agent the refs are\n%s\nnot\n%s", got, want)
	}
	if out, err := run("ssh-add", "-D"); err != nil {
		t.Fatalf("ssh-add: %v\n%s", err, out)
	}
	if out, err := run(gantrytest.Build(t), "convert", address, dir+"2"); err == nil || !strings.Contains(out, "--password-stdin") {
		t.Errorf("with an agent that has no key: %v\n%s", err, out)
	}
}
