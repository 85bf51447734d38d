package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"gantry/bench/contest"
)

// startSVNServe starts svnserve.
func startSVNServe(ctx context.Context, root string) (*contest.Server, error) {
	address, err := contest.FreeAddress()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(address)
	cmd := exec.CommandContext(ctx, "svnserve", "--daemon", "--foreground", "--threads",
		"--listen-host", host, "--listen-port", port, "--root", root)
	return contest.Start(ctx, cmd, url.URL{Scheme: "svn", Host: address})
}

// startApache starts Apache with mod_dav_svn. Compression is left out: all is on one machine.
func startApache(ctx context.Context, root, work string) (*contest.Server, error) {
	address, err := contest.FreeAddress()
	if err != nil {
		return nil, err
	}
	settings := fmt.Sprintf(`ServerName localhost
ServerRoot %[1]q
Listen %[2]s
PidFile %[1]s/pid
ErrorLog %[1]s/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dav_module /usr/lib/apache2/modules/mod_dav.so
LoadModule dav_svn_module /usr/lib/apache2/modules/mod_dav_svn.so
MaxKeepAliveRequests 0
KeepAliveTimeout 60
<Location /svn/>
	DAV svn
	SVNParentPath %[3]q
	SVNAllowBulkUpdates On
	Require all granted
</Location>
`, work, address, root)
	file := filepath.Join(work, "apache.conf")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "apache2", "-f", file, "-DFOREGROUND")
	return contest.Start(ctx, cmd, url.URL{Scheme: "http", Host: address, Path: "/svn"})
}
