package svn

import (
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gantry"
	"gantry/internal/gantrytest/sshfixture"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin"
)

func overSSH(t *testing.T, server *sshfixture.Server) Options {
	t.Helper()
	opt := options(t, server.Address, "/repo")
	opt.URL.Scheme = "svn+ssh"
	opt.Credentials = origin.Credentials{Username: server.User, Password: server.Password}
	return opt
}

// What comes through ssh is what comes without it, by password and by key, whatever login scripts say.
func TestTunnel(t *testing.T) {
	r := svnfixture.NewRepo(t)
	r.Load(t, many(60).Bytes())
	whole := replay(t, dial(t, options(t, svnfixture.Serve(t, r.Root), "/repo")))
	server := svnfixture.ServeSSH(t, r.Root, "", "Welcome! (as every day) ( success )\n"+strings.Repeat("=", 5000)+"\n")
	for name, secret := range map[string]string{"password": server.Password, "key": server.PrivateKey} {
		t.Run(name, func(t *testing.T) {
			defer leaving(t)()
			opt := overSSH(t, server)
			opt.Credentials.Password = secret
			s := openSource(t, opt)
			want := origin.Info{UUID: svnfixture.StandardUUID, Root: "svn+ssh://" + server.Address + "/repo", Head: r.Head(t), HostKey: server.HostKey}
			if got := s.Info(); got != want {
				t.Errorf("info %+v, want %+v", got, want)
			}
			if diff := cmp.Diff(whole.told, replay(t, s).told); diff != "" {
				t.Error(diff)
			}
			s.Close()
		})
	}
}

func TestTunnelFaults(t *testing.T) {
	t.Parallel()
	r := svnfixture.NewStandardRepo(t)
	server, other := svnfixture.ServeSSH(t, r.Root, "", ""), svnfixture.ServeSSH(t, r.Root, "", "")
	hiding := svnfixture.ServeSSH(t, r.Root, "[/]\nbob = r\n", "")
	noisy := svnfixture.ServeSSH(t, r.Root, "", strings.Repeat("x ( y ", maxNoise))
	without := sshfixture.Serve(t, "alice", func(string, []string) *exec.Cmd { return nil })
	for _, tt := range []struct {
		name   string
		server *sshfixture.Server
		change func(*Options)
		want   error
		kind   gantry.Kind
		text   string
	}{
		{"wrong password", server, func(o *Options) { o.Credentials.Password = "x" }, origin.ErrAuthFailed, gantry.Unauthenticated, "alice"},
		{"no password", server, func(o *Options) { o.Credentials.Password = "" }, origin.ErrAuthRequired, gantry.Unauthenticated, ""},
		{"no user", server, func(o *Options) { o.Credentials = origin.Credentials{} }, origin.ErrAuthRequired, gantry.Unauthenticated, "user name"},
		{"another key", server, func(o *Options) { o.HostKeys = []string{other.HostKey} }, nil, gantry.Forbidden, "shows the key"},
		{"no repository", server, func(o *Options) { o.URL = &url.URL{Scheme: "svn+ssh", Host: server.Address, Path: "/none"} }, origin.ErrNotFound, gantry.NotFound, ""},
		{"not for this user", hiding, func(*Options) {}, origin.ErrAuthFailed, gantry.Unauthenticated, ""},
		{"no svnserve", without, func(*Options) {}, origin.ErrNotFound, gantry.NotFound, `unknown command "svnserve -t"`},
		{"no greeting", noisy, func(*Options) {}, nil, gantry.Invalid, "without greeting"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := overSSH(t, tt.server)
			tt.change(&opt)
			_, err := Open(t.Context(), opt)
			if tt.want != nil && !errors.Is(err, tt.want) || gantry.KindOf(err) != tt.kind || err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v of kind %v, want %v of kind %v and %q", err, gantry.KindOf(err), tt.want, tt.kind, tt.text)
			}
			if err != nil && opt.Credentials.Password != "" && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
	silentHost := silent(t, "SSH-2.0-x\r\n", true)
	opt := overSSH(t, server)
	opt.URL.Host = silentHost
	if _, err := Open(t.Context(), opt); !errors.Is(err, origin.ErrTemporary) {
		t.Errorf("got %v", err)
	}
}
